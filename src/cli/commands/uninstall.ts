import type { Command } from 'commander';
import type { CommandContext, GlobalOptions } from '../command-context';
import { DEFAULT_PREFIX } from '../install/places';

export interface UninstallOptions extends GlobalOptions {
  readonly node?: boolean;
  readonly prefix: string;
  readonly yes?: boolean;
  readonly dryRun?: boolean;
  readonly purge?: boolean;
  readonly backup?: string;
}

const HELP = `
First, on an admin host:
  qmemacct uninstall           gives prolog and epilog the values that they had, everywhere in Grid Engine.
Then, as root on every execution host:
  qmemacct uninstall --node    removes the program. Hooks that only start the site's own ones stay at their path as long
                               as Grid Engine, or a job that runs, may name them; run it again later to remove them.
                               Jobs that run are measured to their end. Records and configuration stay, unless --purge.`;

/** `qmemacct uninstall` */
export function registerUninstall(program: Command, context: CommandContext): void {
  program
    .command('uninstall')
    .description('take the hooks out of Grid Engine, or the program off this host (--node)')
    .option('--dry-run', 'show what would be done')
    .option('--yes', 'do not ask')
    .option('--prefix <dir>', 'where the program is', DEFAULT_PREFIX)
    .option('--node', 'remove the program from this host')
    .option('--purge', 'with --node: also the state directory and the configuration, records included')
    .option('--backup <dir>', 'where the old texts are kept (default: STATE/backup)')
    .addHelpText('after', HELP)
    .action((_options: unknown, command: Command) =>
      context.finish(
        import('./uninstall-action.js').then(({ uninstall }) =>
          uninstall(command.optsWithGlobals<UninstallOptions>(), context.terminal),
        ),
      ),
    );
}
