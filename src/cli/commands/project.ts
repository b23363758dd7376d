import type { Command } from 'commander';
import type { CommandContext } from '../command-context';
import { addRecordListOptions, type RecordListOptions } from '../record-list-options';

/** `qmemacct project NAME --since 7d` */
export function registerProject(program: Command, context: CommandContext): void {
  const command = program
    .command('project')
    .description('the jobs of a project, one line each, with what they used of what they asked for')
    .argument('<name>', 'project name')
    .option('--cluster <name>', 'of this cluster only');
  addRecordListOptions(command).action((name: string, _options: unknown, given: Command) =>
    context.finish(
      Promise.all([import('./records-action.js'), import('../record-subject.js')]).then(
        ([{ showRecords }, { projectSubject }]) =>
          showRecords(projectSubject(name), given.optsWithGlobals<RecordListOptions>(), context.terminal),
      ),
    ),
  );
}
