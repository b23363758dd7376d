import { listenerPaths } from '../../sampler/listener/directory';
import { Option, type Command } from 'commander';
import { packageRoot } from '../../base/package-root';
import { findCell } from '../../gridengine/find-cell';
import { loadSettings } from '../../record/settings';
import { sourceSettingsProblems } from '../../sampler/source-settings';
import { ALL_SOURCE_FACTS } from '../../sources/registry';
import { commandAction, type CommandContext, type GlobalOptions, CommandError, EXIT, usageError } from '../command';
import { askListener } from '../doctor/ask-listener';
import { listenerFinding } from '../doctor/check-kernel-events';
import { confirmed } from '../install/steps';
import { installOnNode, planNode, type NodeInstallation } from '../install/install-node';
import { chooseNodeSettings, settingsOfCell } from '../install/node-settings';
import { DEFAULT_PREFIX, systemPlaces } from '../install/places';
import { describeTest } from '../install/self-test';
import { outputFormat, textOrJson, warn, writeLines } from '../output';
import type { Terminal } from '../terminal';

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
  readonly serve?: boolean;
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
export function register(command: Command, context: CommandContext): void {
  command
    .option('--dry-run', 'show what would be done')
    .option('--yes', 'do not ask')
    .option('--prefix <dir>', 'where the program is, the same on every host and local to it', DEFAULT_PREFIX)
    .option('--node', 'install on this host, and test it')
    .option('--accounting <path>', 'with --node: the accounting DB')
    .option('--state-dir <dir>', 'with --node: directory for node.db and run directories')
    .option('--run-dir <dir>', 'with --node: directory on tmpfs for live figures')
    .option('--no-timer', 'with --node: no timer or cron entry for "qmemacct flush"')
    .option('--nightly', 'with --node, on one host: run hooks/nightly.sh there every night')
    .option('--serve', 'with --node, on one host: run "qmemacct serve" there')
    .option('--hosts <hosts>', 'only these hosts: names and @groups, separated by commas', words)
    .option('--queue <queues>', 'only these cluster queues, separated by commas', words)
    .option('--plain', "hooks as the job's owner, not as root: self-reported figures, no hook of another user chained")
    .option('--node-check <template>', "how to run a command on a host: 'ssh {host}'")
    .option('--hosts-checked', 'every host has passed the self-test: do not ask them')
    .addOption(new Option('--env <path>', 'a static "env": wanted where this Grid Engine passes LD_* on to root hooks'))
    .option('--backup <dir>', 'where to keep the old texts (default: STATE/backup)')
    .addHelpText('after', HELP)
    .action(commandAction<InstallOptions>(context, install));
}

const ONLY_NODE = ['accounting', 'stateDir', 'runDir', 'nightly', 'serve'] as const;
const ONLY_CLUSTER = ['hosts', 'queue', 'plain', 'env', 'nodeCheck', 'hostsChecked', 'backup'] as const;

function optionName(key: string): string {
  return `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

function refuseForeignOptions(options: InstallOptions): void {
  const foreign = (options.node ? ONLY_CLUSTER : ONLY_NODE).find((key) => options[key] !== undefined);
  if (foreign === undefined) return;
  throw usageError(
    options.node
      ? `${optionName(foreign)} is for the configuration of Grid Engine: give it to "install" without --node`
      : `${optionName(foreign)} is for "install --node" on each host`,
  );
}

function requireRoot(): void {
  if (process.getuid?.() !== 0)
    throw new CommandError(
      'install --node: only root can put hooks where root will run them; use sudo',
      EXIT.unavailable,
    );
}

/** Prints whether the listener runs, so that it will hear the first fork of each job. */
async function showListener(asking: Parameters<typeof listenerFinding>[1], terminal: Terminal): Promise<void> {
  const answer = await askListener(listenerPaths(asking.settings).socket);
  const { severity, says, fix } = listenerFinding(answer, asking);
  const line = `listener: ${says}${fix === null ? '' : `; ${fix}`}`;
  if (severity === 'warning') warn(terminal, line);
  else writeLines(terminal, [line]);
}

/** Installs without text for people: JSON says what was changed. */
async function installForPrograms(
  installation: NodeInstallation,
  steps: readonly string[],
  { dryRun }: InstallOptions,
  terminal: Terminal,
): Promise<number> {
  const changed = steps.length > 0;
  const say = (more: object): void =>
    terminal.write(`${JSON.stringify({ schema: 1, changed, steps, ...more }, null, 1)}\n`);
  if (dryRun) {
    say({ activated: false, self_test: null });
    return EXIT.found;
  }
  const { test, activated } = await installOnNode(
    installation,
    () => undefined,
    (line) => warn(terminal, line),
  );
  say({ activated, self_test: { ok: test.ok, problems: test.problems } });
  return test.ok ? EXIT.found : EXIT.unavailable;
}

async function installNode(options: InstallOptions, terminal: Terminal): Promise<number> {
  requireRoot();
  const format = textOrJson(options, 'install');
  if (format === 'json' && !options.yes && !options.dryRun)
    throw usageError('install --node --json asks nothing: give --yes or --dry-run, too');
  process.umask(0o022);
  const given = {
    ...(options.accounting === undefined ? {} : { accounting: options.accounting }),
    ...(options.stateDir === undefined ? {} : { state_dir: options.stateDir }),
    ...(options.runDir === undefined ? {} : { run_dir: options.runDir }),
  };
  const before = loadSettings(options.config);
  const ofCell = await settingsOfCell(findCell(terminal.env, before), terminal.env, before);
  const chosen = chooseNodeSettings(options.config, given, ofCell);
  const installation = planNode({
    source: packageRoot(),
    prefix: options.prefix,
    settingsPath: options.config,
    chosen,
    places: systemPlaces(),
    timer: options.timer,
    nightly: options.nightly ?? false,
    serve: options.serve ?? false,
    execPath: process.execPath,
  });
  chosen.differences.forEach((difference) => warn(terminal, difference));
  for (const problem of sourceSettingsProblems(ALL_SOURCE_FACTS, chosen.settings))
    warn(terminal, `${options.config}: ${problem}; as if it were not there`);
  const says = [...installation.preparations, ...installation.activations].map((step) => step.says);
  if (format === 'json') return installForPrograms(installation, says, options, terminal);
  if (options.dryRun) {
    writeLines(terminal, says.length === 0 ? ['nothing to do but the self-test'] : says);
    return EXIT.found;
  }
  if (says.length > 0 && !options.yes) {
    writeLines(terminal, says);
    if (!(await confirmed('Do that?', options))) return EXIT.nothing;
  }
  const print = (line: string): void => writeLines(terminal, [line]);
  const { test, activated } = await installOnNode(installation, print, (line) => warn(terminal, line));
  print(`self-test: ${test.ok ? `ok (${describeTest(test)})` : 'failed'}`);
  if (activated && chosen.settings.listener)
    await showListener(
      { settings: chosen.settings, settingsPath: options.config, isRoot: true, version: installation.version.name },
      terminal,
    );
  test.problems.forEach((problem) => warn(terminal, `self-test: ${problem}`));
  if (test.ok) return EXIT.found;
  warn(
    terminal,
    activated
      ? 'do not configure the hooks for this host before "qmemacct doctor --self-test" passes'
      : `${installation.previous ?? ''} stays the current version: fix what the self-test found, then install again`,
  );
  return EXIT.unavailable;
}

/** `install`; resolves to the exit status. Rejects with CommandError or SettingsError. */
export async function install(options: InstallOptions, terminal: Terminal): Promise<number> {
  refuseForeignOptions(options);
  if (options.node) return installNode(options, terminal);
  if (outputFormat(options) !== 'text')
    throw usageError('install without --node prints text only: leave out --json and --csv');
  const { configureHooks } = await import('../install/configure-hooks.js');
  return configureHooks(options, terminal);
}
