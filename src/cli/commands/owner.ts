import type { Command } from 'commander';
import type { CommandContext } from '../command-context';
import { addRecordListOptions, type RecordListOptions } from '../record-list-options';

/** `qmemacct owner NAME --since 7d` */
export function registerOwner(program: Command, context: CommandContext): void {
  const command = program
    .command('owner')
    .description("a user's jobs of a time, one line each, with what they used of what they asked for")
    .argument('<name>', 'user name')
    .option('--cluster <name>', 'of this cluster only');
  addRecordListOptions(command).action((name: string, _options: unknown, given: Command) =>
    context.finish(
      Promise.all([import('./records-action.js'), import('../record-subject.js')]).then(
        ([{ showRecords }, { ownerSubject }]) =>
          showRecords(ownerSubject(name), given.optsWithGlobals<RecordListOptions>(), context.terminal),
      ),
    ),
  );
}
