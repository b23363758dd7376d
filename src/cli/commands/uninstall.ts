import type { Command } from 'commander';
import { packageRoot } from '../../base/package-root';
import { readSite } from '../../gridengine/site';
import { loadSettings } from '../../record/settings';
import { commandAction, type CommandContext, type GlobalOptions, CommandError, EXIT, usageError } from '../command';
import { readHistory } from '../install/backups';
import { backupDirectory, makeChanges, requireQconf } from '../install/configure-hooks';
import { confirmed } from '../install/steps';
import { applySteps } from '../install/install-node';
import { DEFAULT_PREFIX, hookDirectory, systemPlaces } from '../install/places';
import { planRemoval } from '../install/removal-plan';
import { planNodeRemoval } from '../install/remove-node';
import { showChanges } from '../install/hook-plan';
import { passThroughNeed } from '../install/pass-through-need';
import { outputFormat, screenOf, warn, writeLines } from '../output';
import type { Terminal } from '../terminal';

interface UninstallOptions extends GlobalOptions {
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
                               as Grid Engine, or a job that runs, may name them; it says how they are removed later.
                               Jobs that run are measured to their end. Records and configuration stay, unless --purge.`;

/** `qmemacct uninstall` */
export function register(command: Command, context: CommandContext): void {
  command
    .option('--dry-run', 'show what would be done')
    .option('--yes', 'do not ask')
    .option('--prefix <dir>', 'where the program is', DEFAULT_PREFIX)
    .option('--node', 'remove the program from this host')
    .option('--purge', 'with --node: also the state directory and the configuration, records included')
    .option('--backup <dir>', 'where the old texts are kept (default: STATE/backup)')
    .addHelpText('after', HELP)
    .action(commandAction<UninstallOptions>(context, uninstall));
}

async function removeFromNode(options: UninstallOptions, terminal: Terminal): Promise<number> {
  if (process.getuid?.() !== 0) throw new CommandError('uninstall --node: needs root; use sudo', EXIT.unavailable);
  process.umask(0o022);
  const settings = loadSettings(options.config);
  const steps = planNodeRemoval({
    source: packageRoot(),
    prefix: options.prefix,
    settings,
    settingsPath: options.config,
    places: systemPlaces(),
    purge: options.purge ?? false,
    passThrough: await passThroughNeed(hookDirectory(options.prefix), terminal.env, settings),
    now: terminal.now(),
  });
  const print = (line: string): void => writeLines(terminal, [line]);
  if (steps.length === 0) {
    print(`nothing of qmemacct is under ${options.prefix}`);
    return EXIT.found;
  }
  if (options.dryRun || !options.yes)
    writeLines(
      terminal,
      steps.map(({ says }) => says),
    );
  if (options.dryRun) return EXIT.found;
  if (!(await confirmed('Do that?', options))) return EXIT.nothing;
  await applySteps(steps, print, (line) => warn(terminal, line));
  return EXIT.found;
}

async function removeFromCluster(options: UninstallOptions, terminal: Terminal): Promise<number> {
  if (options.purge) throw usageError('--purge is for "uninstall --node" on each host');
  const settings = loadSettings(options.config);
  const qconf = requireQconf(terminal.env, settings);
  const directory = backupDirectory(options, settings);
  const site = await readSite(qconf);
  const plan = planRemoval(site, readHistory(directory), [hookDirectory(options.prefix)]);
  if (plan.problems.length > 0) throw new CommandError(plan.problems.join('\n'), EXIT.unavailable);
  const print = (line: string): void => writeLines(terminal, [line]);
  if (plan.changes.length === 0) {
    print('our hooks are not configured: nothing to change');
    return EXIT.found;
  }
  writeLines(terminal, showChanges(plan.changes, screenOf(terminal, options)));
  plan.remarks.forEach((remark) => warn(terminal, remark));
  if (options.dryRun) return EXIT.found;
  if (!(await confirmed('Change this?', options))) return EXIT.nothing;
  await makeChanges(qconf, site, plan.changes, directory, terminal);
  print('then remove the program from each host: qmemacct uninstall --node');
  return EXIT.found;
}

/** `uninstall`; resolves to the exit status. Rejects with CommandError, QconfError or SettingsError. */
export async function uninstall(options: UninstallOptions, terminal: Terminal): Promise<number> {
  if (outputFormat(options) !== 'text') throw usageError('uninstall prints text only: leave out --json and --csv');
  return options.node ? removeFromNode(options, terminal) : removeFromCluster(options, terminal);
}
