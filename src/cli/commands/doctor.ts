import type { Command } from 'commander';
import type { CommandContext, GlobalOptions } from '../command-context';

export interface DoctorOptions extends GlobalOptions {
  readonly selfTest?: boolean;
  readonly prefix?: string;
  readonly env?: string;
  readonly executionHost?: boolean;
}

/** `qmemacct doctor` */
export function registerDoctor(program: Command, context: CommandContext): void {
  program
    .command('doctor')
    .description('what this host and cluster can and cannot measure, what is wrong, and how to mend it')
    .option('--self-test', 'also play a small job through the installed hooks (as root)')
    .option('--prefix <dir>', 'where the program is installed')
    .option('--env <path>', 'with --self-test: the static "env" that "qmemacct install --env" is to be given')
    .option('--execution-host', 'look at what jobs need, also where none run so far')
    .action((_options: unknown, command: Command) =>
      context.finish(
        import('./doctor-action.js').then(({ doctor }) =>
          doctor(command.optsWithGlobals<DoctorOptions>(), context.terminal),
        ),
      ),
    );
}
