import type { Command } from 'commander';
import type { CommandContext } from '../command-context';
import { addRecordListOptions, type RecordListOptions } from '../record-list-options';
import type { NamedSubject } from '../record-subject';

interface SubjectCommand {
  readonly description: string;
  readonly name: string;
}

const used = 'one line each, with what they used of what they asked for';

const SUBJECTS: Readonly<Record<NamedSubject, SubjectCommand>> = {
  owner: { description: `a user's jobs of a time, ${used}`, name: 'user name' },
  project: { description: `the jobs of a project, ${used}`, name: 'project name' },
  queue: {
    description: `the jobs that ran in a queue, ${used}`,
    name: 'queue (all.q), or one of its instances (all.q@node01)',
  },
  host: {
    description: `the jobs that ran on a host, ${used}`,
    name: 'host name; with * and ? a pattern, several with commas',
  },
};

/** `qmemacct owner|project|queue|host NAME --since 7d` */
export function registerSubject(subject: NamedSubject): (program: Command, context: CommandContext) => void {
  return (program, context) => {
    const { description, name: nameHelp } = SUBJECTS[subject];
    const command = program
      .command(subject)
      .description(description)
      .argument('<name>', nameHelp)
      .option('--cluster <name>', 'of this cluster only');
    addRecordListOptions(command).action((name: string, _options: unknown, given: Command) =>
      context.finish(
        Promise.all([import('./records-action.js'), import('../record-subject.js')]).then(
          ([{ showRecords }, { namedSubject }]) =>
            showRecords(namedSubject(subject, name), given.optsWithGlobals<RecordListOptions>(), context.terminal),
        ),
      ),
    );
  };
}
