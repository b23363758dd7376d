import type { Command } from 'commander';
import type { CommandContext, GlobalOptions } from '../command-context';

export interface JobOptions extends GlobalOptions {
  readonly all?: boolean;
  readonly at?: string;
  readonly tasks?: boolean;
  readonly allHosts?: boolean;
  readonly accounting?: string;
  readonly series?: string;
  readonly chart?: string;
}

/** `qmemacct job ID[.TASK] ...` */
export function registerJob(program: Command, context: CommandContext): void {
  program
    .command('job')
    .description('what a job used against what it asked for, and what to ask for next time')
    .argument('<job...>', 'job number, or number.task for a task of an array job; run-7: one of "qmemacct run"')
    .option('--all', 'every job that has had this number, not only the newest')
    .option('--at <time>', 'the job that had this number at that time (7d, 2026-11-01, yesterday ...)')
    .option('--tasks', 'every task of an array job, or of a parallel one, as a line')
    .option('--all-hosts', 'every host of a parallel job as a line')
    .option(
      '--series <metrics>',
      'values over time, of "a,b" or of whole sources, as CSV or --json; on the host where it ran',
    )
    .option('--chart <metric>', 'draw this metric over time; on the host where it ran')
    .option('--accounting <path>', "read this accounting DB, not the site's and your own")
    .action((jobs: readonly string[], _options: unknown, command: Command) =>
      context.finish(
        import('./job-action.js').then(({ showJobs }) =>
          showJobs(jobs, command.optsWithGlobals<JobOptions>(), context.terminal),
        ),
      ),
    );
}
