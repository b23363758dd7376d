import type { Command } from 'commander';
import type { CommandContext } from '../command-context';
import { addRecordFilterOptions, type RecordFilterOptions } from '../record-filter-options';
import { addRecordListOptions, type RecordListOptions } from '../record-list-options';

/** `qmemacct jobs --project genome --failed --since 7d` */
export function registerJobs(program: Command, context: CommandContext): void {
  const command = program
    .command('jobs')
    .description(
      'the jobs of a time that satisfy every filter given: whose, where, how they ended, how much they used',
    );
  addRecordListOptions(addRecordFilterOptions(command)).action((_options: unknown, given: Command) =>
    context.finish(
      import('./records-action.js').then(({ showChosen }) =>
        showChosen(given.optsWithGlobals<RecordListOptions & RecordFilterOptions>(), context.terminal),
      ),
    ),
  );
}
