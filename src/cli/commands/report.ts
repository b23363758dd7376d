import type { Command } from 'commander';
import type { CommandContext, GlobalOptions } from '../command-context';

export interface ReportOptions extends GlobalOptions {
  readonly since: string;
  readonly until?: string;
  readonly by?: string;
  readonly owner?: string;
  readonly cluster?: string;
  readonly format?: string;
  readonly mail?: boolean;
  readonly output?: string;
  readonly accounting?: string;
}

/** `qmemacct report --since 1d --format html > report.html` */
export function registerReport(program: Command, context: CommandContext): void {
  program
    .command('report')
    .description('where the memory went: waste and who makes it, killed jobs, what to ask for, silent nodes')
    .option('--since <time>', 'from then on: 1d, 30d, yesterday, 2026-11-01, "2026-11-01 08:00"', '1d')
    .option('--until <time>', 'up to, and without, then (default: now)')
    .option('--by <what>', 'sums by owner, project, queue, host or name (default: owner; of one owner: name)')
    .option('--owner <name>', "this user's jobs alone")
    .option('--cluster <name>', "this cluster's jobs alone")
    .option('--format <format>', 'text, html, csv (the sums) or json (default: text)')
    .option('--output <file>', 'write it there')
    .option('--mail', 'send it, as text and HTML: to mail_admins; with --owner to that user')
    .option('--accounting <path>', "read this accounting DB, not the site's and your own")
    .action((_options: unknown, command: Command) =>
      context.finish(
        import('./report-action.js').then(({ showReport }) =>
          showReport(command.optsWithGlobals<ReportOptions>(), context.terminal),
        ),
      ),
    );
}
