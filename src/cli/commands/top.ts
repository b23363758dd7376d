import type { Command } from 'commander';
import type { CommandContext, GlobalOptions } from '../command-context';
import { addRecordFilterOptions, type RecordFilterOptions } from '../record-filter-options';
import { addIntervalOptions } from '../record-list-options';

export interface TopOptions extends GlobalOptions, RecordFilterOptions {
  readonly by: string;
  readonly since: string;
  readonly until?: string;
  readonly limit?: string;
  readonly accounting?: string;
}

/** `qmemacct top owners --by unused --since 30d` */
export function registerTop(program: Command, context: CommandContext): void {
  const command = program
    .command('top')
    .description('who has most of something: owners, projects, queues, hosts or job names')
    .argument('[what]', 'owners, projects, queues, hosts, names', 'owners')
    .option(
      '--by <key>',
      'unused, requested, used, cpu, jobs, failed, killed, energy ... ("help" lists all)',
      'unused',
    );
  addRecordFilterOptions(addIntervalOptions(command))
    .option('--limit <n>', 'at most so many lines (default: 20; all with --json and --csv)')
    .option('--accounting <path>', "read this accounting DB, not the site's and your own")
    .action((what: string, _options: unknown, given: Command) =>
      context.finish(
        import('./top-action.js').then(({ showTop }) =>
          showTop(what, given.optsWithGlobals<TopOptions>(), context.terminal),
        ),
      ),
    );
}
