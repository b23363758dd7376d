import type { Command } from 'commander';
import type { CommandContext } from '../command-context';
import { addRecordListOptions, type RecordListOptions } from '../record-list-options';

/** `qmemacct host NAME --since 7d` */
export function registerHost(program: Command, context: CommandContext): void {
  const command = program
    .command('host')
    .description('the jobs that ran on a host, one line each, with what they used of what they asked for')
    .argument('<name>', 'host name; with * and ? a pattern, several with commas')
    .option('--cluster <name>', 'of this cluster only');
  addRecordListOptions(command).action((name: string, _options: unknown, given: Command) =>
    context.finish(
      Promise.all([import('./records-action.js'), import('../record-subject.js')]).then(
        ([{ showRecords }, { hostSubject }]) =>
          showRecords(hostSubject(name), given.optsWithGlobals<RecordListOptions>(), context.terminal),
      ),
    ),
  );
}
