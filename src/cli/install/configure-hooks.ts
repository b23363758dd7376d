import { join } from 'node:path';
import { askDialect } from '../../gridengine/ask-dialect';
import { sanitisesRootHooks } from '../../gridengine/dialect';
import { findCell } from '../../gridengine/find-cell';
import { findQconf, type Qconf, type QconfSettings } from '../../gridengine/qconf';
import { readSite, type Site } from '../../gridengine/site';
import { loadSettings, type Settings } from '../../record/settings';
import { plural } from '../../report/format/units';
import { CommandError, EXIT, usageError } from '../command';
import type { InstallOptions } from '../commands/install';
import { templateWords } from '../doctor/ask-host';
import { saysOtherCell } from '../doctor/check-gridengine';
import { screenOf, warn, writeLines } from '../output';
import type { Terminal } from '../terminal';
import { applyChanges } from './apply-changes';
import { backUp } from './backups';
import { checkHosts, type HostVerdict } from './check-hosts';
import { confirmed } from './steps';
import { byTarget, planHooks, targetName, type Change, type HookPlan, showChanges } from './hook-plan';
import { hookDirectory } from './places';
import { STATIC_ENV_FIX, unsafeEnv } from './static-env';

const MOST_NAMED = 10;

/** The qconf of this machine's cell. Throws CommandError if there is none, UntrustedError (findClient). */
export function requireQconf(env: Terminal['env'], settings: QconfSettings): Qconf {
  const qconf = findQconf(env, findCell(env, settings), settings);
  if (qconf === null)
    throw new CommandError(
      'qconf: not found; run this on an admin host, with SGE_ROOT set or qconf in PATH',
      EXIT.unavailable,
    );
  return qconf;
}

function requireGoodHosts(verdicts: readonly HostVerdict[], options: InstallOptions): void {
  const bad = verdicts.filter(({ reason }) => reason !== null);
  if (bad.length === 0) return;
  const good = verdicts.flatMap(({ host, reason }) => (reason === null ? host : []));
  const named = bad.slice(0, MOST_NAMED).map(({ host, reason }) => `  ${host}: ${reason ?? ''}`);
  const rest = bad.length > MOST_NAMED ? [`  and ${bad.length - MOST_NAMED} more`] : [];
  const asked = options.nodeCheck !== undefined;
  const fixes = [
    ...(asked ? [] : ["ask them with --node-check 'ssh {host}'", 'vouch for them with --hosts-checked']),
    ...(good.length > 0 ? [`begin with the good ones: --hosts ${good.join(',')}`] : []),
    ...(asked ? ['run "qmemacct install --node" on those named, or let --node-check reach them'] : []),
  ];
  throw new CommandError(
    [
      `a hook that is missing or bad puts a host into the error state, and ${bad.length} of ${verdicts.length} hosts have not passed the self-test:`,
      ...named,
      ...rest,
      fixes.join(', or '),
    ].join('\n'),
    EXIT.unavailable,
  );
}

function planOf(options: InstallOptions, site: Site): HookPlan {
  const plan = planHooks(
    site,
    { hosts: options.hosts ?? null, queues: options.queue ?? null },
    {
      directory: hookDirectory(options.prefix),
      privileged: !options.plain,
      ...(options.env === undefined ? {} : { env: options.env }),
    },
  );
  if (plan.problems.length > 0) throw new CommandError(plan.problems.join('\n'), EXIT.unavailable);
  return plan;
}

/** Throws CommandError if job owners could make root run their code through the hook lines (by LD_* variables). */
async function requireSafeLines({ plain, env }: InstallOptions, qconf: Qconf): Promise<void> {
  if (plain) return;
  if (env !== undefined) {
    const reason = unsafeEnv(env);
    if (reason !== null) throw new CommandError(`--env ${env}: ${reason}; ${STATIC_ENV_FIX}`, EXIT.unavailable);
    return;
  }
  const detected = (await askDialect(qconf)) ?? { dialect: 'unknown', version: null };
  if (sanitisesRootHooks(detected)) return;
  const name = detected.dialect === 'unknown' ? 'this Grid Engine' : `${detected.dialect} ${detected.version ?? ''}`;
  throw new CommandError(
    `hooks as root: ${name.trim()} is not known to keep LD_AUDIT and the like, which a job's owner chooses, from them, and /usr/bin/env is linked dynamically; ${STATIC_ENV_FIX}; or --plain`,
    EXIT.unavailable,
  );
}

/** Where the old configuration texts are kept. */
export const backupDirectory = ({ backup }: Pick<InstallOptions, 'backup'>, { state_dir: state }: Settings): string =>
  backup ?? join(state, 'backup');

/** Backs up the old texts, then changes Grid Engine's configuration target by target. */
export async function makeChanges(
  qconf: Qconf,
  site: Site,
  changes: readonly Change[],
  directory: string,
  terminal: Terminal,
): Promise<void> {
  const print = (line: string): void => writeLines(terminal, [line]);
  print(`the old texts are in ${backUp(directory, site, changes, terminal.now())}`);
  for (const [target, ones] of byTarget(changes)) {
    await applyChanges(qconf, target, ones);
    print(`changed the ${targetName(target)}`);
  }
}

/** `install` on an admin host: shows the changes, checks the hosts, asks, makes them. Resolves to the exit status. */
export async function configureHooks(options: InstallOptions, terminal: Terminal): Promise<number> {
  if (!options.prefix.startsWith('/')) throw usageError(`--prefix "${options.prefix}": give an absolute path`);
  const template = options.nodeCheck === undefined ? null : templateWords(options.nodeCheck);
  const settings = loadSettings(options.config);
  const qconf = requireQconf(terminal.env, settings);
  // First: if Grid Engine can't be asked, readSite gives the reason, while askDialect would only answer "unknown".
  const site = await readSite(qconf);
  await requireSafeLines(options, qconf);
  const plan = planOf(options, site);
  const print = (line: string): void => writeLines(terminal, [line]);
  if (plan.changes.length === 0) {
    print('the hooks are configured already: nothing to change');
    return EXIT.found;
  }
  const otherCell = saysOtherCell(terminal.env, { settings, settingsPath: options.config });
  if (otherCell !== null) warn(terminal, otherCell);
  writeLines(terminal, showChanges(plan.changes, screenOf(terminal, options)));
  if (options.dryRun) return EXIT.found;
  if (!options.hostsChecked) {
    const { prefix, config: settingsPath } = options;
    const env = options.env ?? null;
    const check = { prefix, settingsPath, stateDir: settings.state_dir, template, env };
    requireGoodHosts(await checkHosts(plan.hosts, check), options);
  }
  if (!(await confirmed(`Change this for the jobs of ${plural(plan.hosts.length, 'host')}?`, options)))
    return EXIT.nothing;
  await makeChanges(qconf, site, plan.changes, backupDirectory(options, settings), terminal);
  print('each host takes it up within seconds (load_report_time); jobs that start there from then on are measured');
  if (options.plain)
    warn(
      terminal,
      `with --plain the figures are self-reported, and small h_vmem limits can't be lifted; hosts take them with accept_self_reported = true in ${options.config} and "install --node" after that`,
    );
  return EXIT.found;
}
