import type { Command } from 'commander';
import type { CommandContext, GlobalOptions } from '../command-context';

export interface ImportOptions extends GlobalOptions {
  readonly follow?: boolean;
  readonly cluster?: string;
  readonly dryRun?: boolean;
  readonly unreadable?: boolean;
}

/** `qmemacct import [FILE...]` */
export function registerImport(program: Command, context: CommandContext): void {
  program
    .command('import')
    .description("read Grid Engine's accounting files into the accounting DB; what is in it already is not read again")
    .argument('[file...]', "accounting files, also compressed ones (default: the cell's, with those that were rotated)")
    .option('--follow', 'go on with what is written from now on, until Ctrl-C')
    .option('--cluster <name>', 'the cluster that the files are of (default: this one)')
    .option('--dry-run', 'only tell what the files hold')
    .option('--unreadable', 'list the lines that could not be read and were kept aside')
    .action((files: readonly string[], _options: unknown, command: Command) =>
      context.finish(
        import('./import-action.js').then(({ importAccounting }) =>
          importAccounting(files, command.optsWithGlobals<ImportOptions>(), context.terminal),
        ),
      ),
    );
}
