import { Option, type Command } from 'commander';
import type { CommandContext, GlobalOptions } from '../command-context';
import { DEFAULT_PREFIX } from '../install/places';

export interface InstallOptions extends GlobalOptions {
  readonly node?: boolean;
  readonly prefix: string;
  readonly yes?: boolean;
  readonly dryRun?: boolean;
  readonly accounting?: string;
  readonly stateDir?: string;
  readonly runDir?: string;
  /** false: --no-timer. */
  readonly timer: boolean;
  readonly nightly?: boolean;
  readonly hosts?: readonly string[];
  readonly queue?: readonly string[];
  readonly plain?: boolean;
  readonly env?: string;
  readonly nodeCheck?: string;
  readonly hostsChecked?: boolean;
  readonly backup?: string;
}

const HELP = `
On every execution host, as root:
  qmemacct install --node          puts the program under PREFIX/VERSION-BUILD, switches PREFIX/current to it, writes
                                   the configuration if there is none, and plays a small job through the hooks.
Then once, on an admin host:
  qmemacct install                 sets prolog and epilog in the global configuration, and wraps those of hosts and
                                   queues that have their own. A hook of the site is kept: ours starts it.
  qmemacct install --hosts @rack1  sets them for these hosts only (host-local configuration), a host group at a time.
  qmemacct install --queue gpu.q   sets them for these cluster queues only.
A hook that is missing on a host puts the whole host into the error state. So a change is made only if the self-test of
every host that it reaches was good: the local host's is known here, others are asked through --node-check (which runs
"TEMPLATE PREFIX/current/bin/qmemacct doctor --self-test --json"), or you vouch for them with --hosts-checked.
Every change is shown first; the old texts are kept in STATE/backup, and "qmemacct uninstall" restores them.`;

function words(text: string, before: readonly string[] | undefined): string[] {
  return [...(before ?? []), ...text.split(',').filter((word) => word !== '')];
}

/** `qmemacct install` */
export function registerInstall(program: Command, context: CommandContext): void {
  program
    .command('install')
    .description('put the program on this host (--node), or configure its hooks in Grid Engine')
    .option('--dry-run', 'show what would be done')
    .option('--yes', 'do not ask')
    .option('--prefix <dir>', 'where the program is, the same on every host and local to it', DEFAULT_PREFIX)
    .option('--node', 'install on this host, and test it')
    .option('--accounting <path>', 'with --node: the accounting DB')
    .option('--state-dir <dir>', 'with --node: directory for node.db and run directories')
    .option('--run-dir <dir>', 'with --node: directory on tmpfs for live figures')
    .option('--no-timer', 'with --node: no timer or cron entry for "qmemacct flush"')
    .option('--nightly', 'with --node, on one host: run hooks/nightly.sh there every night')
    .option('--hosts <hosts>', 'only these hosts: names and @groups, separated by commas', words)
    .option('--queue <queues>', 'only these cluster queues, separated by commas', words)
    .option('--plain', "hooks as the job's owner, not as root: self-reported figures, no hook of another user chained")
    .option('--node-check <template>', "how to run a command on a host: 'ssh {host}'")
    .option('--hosts-checked', 'the self-test of every host was good: do not ask them')
    .addOption(new Option('--env <path>', 'a static "env": wanted where this Grid Engine passes LD_* on to root hooks'))
    .option('--backup <dir>', 'where to keep the old texts (default: STATE/backup)')
    .addHelpText('after', HELP)
    .action((_options: unknown, command: Command) =>
      context.finish(
        import('./install-action.js').then(({ install }) =>
          install(command.optsWithGlobals<InstallOptions>(), context.terminal),
        ),
      ),
    );
}
