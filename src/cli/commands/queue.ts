import type { Command } from 'commander';
import type { CommandContext } from '../command-context';
import { addRecordListOptions, type RecordListOptions } from '../record-list-options';

/** `qmemacct queue NAME --since 7d` */
export function registerQueue(program: Command, context: CommandContext): void {
  const command = program
    .command('queue')
    .description('the jobs that ran in a queue, one line each, with what they used of what they asked for')
    .argument('<name>', 'queue (all.q), or one of its instances (all.q@node01)')
    .option('--cluster <name>', 'of this cluster only');
  addRecordListOptions(command).action((name: string, _options: unknown, given: Command) =>
    context.finish(
      Promise.all([import('./records-action.js'), import('../record-subject.js')]).then(
        ([{ showRecords }, { queueSubject }]) =>
          showRecords(queueSubject(name), given.optsWithGlobals<RecordListOptions>(), context.terminal),
      ),
    ),
  );
}
