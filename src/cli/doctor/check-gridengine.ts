import { constants, existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { isPermitted } from '../../base/file-state';
import { reasonOf } from '../../base/user-error';
import { configurationValue, isNone } from '../../gridengine/configuration';
import { askDialect } from '../../gridengine/ask-dialect';
import type { DetectedDialect } from '../../gridengine/dialect';
import { parseHookCommand } from '../../gridengine/hook-command';
import { findCell, otherCell, type CellLocation } from '../../gridengine/find-cell';
import { recogniseHookCommand, type HookStage, type OurHook } from '../../gridengine/our-hook';
import { H_VMEM, MEMORY_COMPLEXES } from '../../gridengine/memory-complex';
import {
  complexesOfKind,
  readMemoryComplexes,
  requestOrderOf,
  reservedConsumables,
  withoutValue,
  type ConfiguredComplex,
  type OfferedComplex,
} from '../../gridengine/memory-consumables';
import { findQconf, type Qconf } from '../../gridengine/qconf';
import { parseQueueValue } from '../../gridengine/queue-value';
import { readSite, type Site } from '../../gridengine/site';
import { hookInForce, STAGES } from '../install/hook-plan';
import { hookDirectory } from '../install/places';
import { networkFilesystemOf } from '../install/local-path';
import type { Terminal } from '../terminal';
import { askSlots, checkGidRange } from './check-gid-range';
import { checkRootHooks } from './check-root-hooks';
import { findingsIn, firstOf, type Finding } from './finding';
import { ownName } from './host-role';
import type { NodeState } from './node-state';

const { ok, note, warning, problem } = findingsIn('Grid Engine');

/** One value of prolog or epilog, and where it is configured. */
interface HookPlace {
  readonly where: string;
  readonly stage: HookStage;
  readonly value: string;
  readonly ours: OurHook | null;
}

/** Every place with a value of its own; NONE in a queue means that the host's or global configuration applies. */
export function hookPlaces(site: Site, directory: string): readonly HookPlace[] {
  const place = (where: string, stage: HookStage, value: string): HookPlace => ({
    where,
    stage,
    value,
    ours: recogniseHookCommand(value, [directory]),
  });
  return STAGES.flatMap((stage) => [
    place('global', stage, configurationValue(site.global, stage) ?? 'NONE'),
    ...[...site.locals].flatMap(([host, configuration]) => {
      const value = configurationValue(configuration, stage);
      return value === null ? [] : [place(`host ${host}`, stage, value)];
    }),
    ...[...site.queues].flatMap(([queue, { configuration }]) => {
      const parsed = parseQueueValue(configurationValue(configuration, stage) ?? 'NONE');
      if (!parsed.ok) return [];
      const parts = [
        ...(parsed.value.value === null ? [] : [[`queue ${queue}`, parsed.value.value] as const]),
        ...parsed.value.overrides.map(({ host, value }) => [`queue ${queue} on ${host}`, value] as const),
      ];
      return parts.filter(([, value]) => !isNone(value)).map(([where, value]) => place(where, stage, value));
    }),
  ]);
}

const list = (words: readonly string[]): string => [...new Set(words)].join(', ');

const MOST_NAMED = 5;

interface HalfOurs {
  readonly queue: string;
  readonly hosts: readonly string[];
  /** The one of the two hooks that is ours. */
  readonly stage: HookStage;
}

/** Where jobs get our prolog but not our epilog, or the reverse, whichever configuration causes it. */
function halfOurs(site: Site, directory: string): readonly HalfOurs[] {
  return [...site.queues].flatMap(([queue, cluster]) => {
    const valueOn = hookInForce(site, cluster);
    const isOurs = (host: string, stage: HookStage): boolean =>
      recogniseHookCommand(valueOn(host, stage), [directory]) !== null;
    return STAGES.flatMap((stage) => {
      const hosts = cluster.hosts.filter((host) => STAGES.every((one) => isOurs(host, one) === (one === stage)));
      return hosts.length === 0 ? [] : { queue, hosts, stage };
    });
  });
}

function* checkHooks(places: readonly HookPlace[], site: Site, directory: string): Generator<Finding> {
  const install = 'run "qmemacct install" on an admin host';
  const ours = places.filter((place) => place.ours !== null);
  if (ours.length === 0) {
    yield warning('hooks', 'our prolog and epilog are configured nowhere: no job is measured', install);
    return;
  }
  yield ok('hooks', `ours: ${list(ours.map(({ where }) => where))}`);
  for (const { queue, hosts, stage } of halfOurs(site, directory)) {
    const where = `in queue ${queue} on ${firstOf(hosts, MOST_NAMED)}`;
    yield problem('hooks', `of jobs ${where} only the ${stage} is ours`, install);
  }
  const foreign = places.filter(
    ({ where, ours: own, value }) => own === null && !(where === 'global' && isNone(value)),
  );
  const uncovered = foreign.filter(({ where }) => !ours.some((place) => place.where === where));
  if (uncovered.length > 0)
    yield warning(
      'hooks',
      `not ours, so jobs there are not measured: ${list(uncovered.map(({ where }) => where))}`,
      '"qmemacct install" takes them in and keeps what they run',
    );
}

function* checkChains(places: readonly HookPlace[]): Generator<Finding> {
  const nameless = (original: string, privileged: boolean): string =>
    privileged && parseHookCommand(original)?.user === null
      ? ". It names no user: jobs of root and of Grid Engine's admin user go into the error state before it"
      : '';
  const missing = {
    prolog: 'the queue goes to E, not the whole host',
    epilog: 'the system log says so',
  };
  for (const { where, stage, ours } of places)
    if (ours !== null && ours.original !== null)
      yield note(
        'chained hook',
        `${where}, ${stage}: ${ours.original}; it runs after ours. Its environment is rebuilt from the job's spool file (without execd's own, INHERIT_ENV), and if its file is missing, ${missing[stage]}${nameless(ours.original, ours.privileged)}`,
      );
}

function* checkPrivilege(places: readonly HookPlace[], detected: DetectedDialect): Generator<Finding> {
  const plain = places.filter(({ ours }) => ours?.privileged === false);
  if (plain.length > 0)
    yield note(
      'plain hooks',
      `${list(plain.map(({ where }) => where))}: as the job's owner; figures are self-reported, limits can't be lifted`,
    );
  const envs = places.flatMap(({ ours }) => ours?.env ?? []);
  yield* checkRootHooks(envs, detected);
}

/** Checks that our hooks are at their path on this host, if it is an execution host. */
function* checkHere(me: string | null, places: readonly HookPlace[], state: NodeState): Generator<Finding> {
  if (me === null) {
    yield note('this host', `${hostname()} is not an execution host`);
    return;
  }
  const directories = new Set(places.flatMap(({ ours }) => ours?.directory ?? []));
  const gone = [...directories].flatMap((directory) =>
    STAGES.map((stage) => join(directory, `${stage}.sh`)).filter((path) => !existsSync(path)),
  );
  if (gone.length > 0) {
    const says = `${gone.join(', ')}: missing, and Grid Engine would put ${me} into the error state`;
    yield problem('this host', says, 'run "qmemacct install --node" at once');
    return;
  }
  const envs = new Set(places.flatMap(({ ours }) => ours?.env ?? []));
  const unusable = [...envs].filter((path) => !isPermitted(path, constants.X_OK));
  if (unusable.length > 0) {
    yield problem(
      'this host',
      `${unusable.join(', ')}, with which our lines start: missing, or no program; Grid Engine would put ${me} into the error state`,
      'put it there as on the other hosts, or run "qmemacct install" with another --env',
    );
    return;
  }
  const elsewhere = [...directories].filter((directory) => directory !== hookDirectory(state.prefix));
  yield ok('this host', `${me} is an execution host`);
  if (elsewhere.length > 0)
    yield warning(
      'this host',
      `Grid Engine names ${elsewhere.join(', ')}, and the installation is under ${state.prefix}`,
      'run "qmemacct install" again, with the right --prefix',
    );
}

/** Checks the parameters of Grid Engine that matter to samplers and to the import. `slots`: those of this host, `me`. */
export function* checkParameters(site: Site, me: string | null, slots: number | null): Generator<Finding> {
  const own = site.locals.get(me ?? '');
  const here = (name: string): string | null =>
    (own === undefined ? null : configurationValue(own, name)) ?? configurationValue(site.global, name);
  const params = here('execd_params') ?? '';
  const set = (name: string): string | null =>
    new RegExp(`(?:^|[\\s,])${name}=([^\\s,]+)`, 'i').exec(params)?.[1] ?? null;
  const isOn = (name: string): boolean => /^(true|1)$/i.test(set(name) ?? '');
  yield checkGidRange(here('gid_range'), slots);
  if (isOn('KEEP_ACTIVE')) yield note('KEEP_ACTIVE', 'set: spool directories of finished jobs stay, and fill the disk');
  for (const name of ['ACCT_RESERVED_USAGE', 'SHARETREE_RESERVED_USAGE'].filter(isOn))
    yield note(name, 'set: Grid Engine reports what was reserved, so it tells no memory of jobs that nobody samples');
  if (set('USE_CGROUPS') !== null) yield note('USE_CGROUPS', 'set: samplers leave the cpuset of their job');
  if (/^(false|0)$/i.test(set('ENABLE_ADDGRP_KILL') ?? ''))
    yield note(
      'ENABLE_ADDGRP_KILL',
      'off: processes that leave their job live on after it, and are followed for 30 s only',
    );
  if (/(?:^|\s)accounting=(false|0)\b/i.test(here('reporting_params') ?? ''))
    yield warning(
      'reporting_params',
      'accounting=false: Grid Engine writes no accounting, and why jobs ended, or what they requested beside h_vmem, stays unknown',
      'set accounting=true there (qconf -mconf)',
    );
  const spool = here('execd_spool_dir');
  const network = spool === null || !existsSync(spool) ? null : networkFilesystemOf(spool);
  if (spool !== null && network !== null)
    yield warning(
      'execd_spool_dir',
      `${spool} lies on ${network}: hooks read the job's files there`,
      'spool to a local disk',
    );
}

function checkHVmem(complex: ConfiguredComplex | undefined): Finding {
  if (complex === undefined) return note('h_vmem', 'no such complex: jobs have no memory limit of this name');
  const { consumable, preset } = complex;
  const meaning = {
    YES: 'consumable, per slot',
    JOB: 'consumable, per job',
    HOST: 'consumable, per host',
    NO: 'not consumable',
  }[consumable];
  const says = `${meaning}, default ${preset}`;
  return consumable !== 'NO' && preset === '0'
    ? note(
        'h_vmem',
        `${says}: where it is managed on hosts or queues, a job that does not ask for it is limited to 10 MiB`,
      )
    : ok('h_vmem', says);
}

const COUNTED_ONCE = [
  { kind: 'JOB', setting: 'job_complexes', once: 'the job' },
  { kind: 'HOST', setting: 'host_complexes', once: 'each host of the job' },
] as const;

/** Compares the settings about requests with the complexes of the cell. */
export function checkComplexes(
  complexes: readonly OfferedComplex[],
  { settings, settingsPath }: Pick<NodeState, 'settings' | 'settingsPath'>,
): Finding[] {
  const { request_complex: order } = settings;
  const judging = new Set([...order, ...Object.values(settings.request_complex_by_queue).flat()]);
  const foreign = [...judging].filter(
    (judged) => !MEMORY_COMPLEXES.includes(judged) && !complexes.some(({ name }) => name === judged),
  );
  const missing = reservedConsumables(complexes).filter((name) => !order.includes(name));
  const line = (key: string, names: readonly string[]): string => `${key} = ${JSON.stringify(names)}`;
  return [
    checkHVmem(complexes.find(({ name }) => name === H_VMEM)),
    ...withoutValue(complexes).map((name) =>
      note(
        name,
        'a consumable that neither a host nor a queue nor the cluster has a value for: no memory is reserved by it; give hosts one (complex_values, qconf -me HOST), or make it none (qconf -mc)',
      ),
    ),
    ...missing.map((name) =>
      note(
        name,
        `a consumable by which no job is judged; if jobs request memory by it, write ${line('request_complex', requestOrderOf(complexes))} into ${settingsPath}`,
      ),
    ),
    ...foreign.map((name) =>
      warning(
        name,
        'jobs are judged by it (request_complex), but the cell has no requestable complex of this name and of type MEMORY: its amounts are taken for bytes',
        `make it one (qconf -mc), or take it out of ${settingsPath}`,
      ),
    ),
    ...COUNTED_ONCE.flatMap(({ kind, setting, once }) => {
      const unknown = complexesOfKind(kind, complexes).filter((name) => !settings[setting].includes(name));
      const all = [...settings[setting], ...unknown];
      return unknown.map((name) =>
        warning(
          name,
          `is requested once for ${once} (${kind}), and not counted so`,
          `write ${line(setting, all)} into ${settingsPath}`,
        ),
      );
    }),
  ];
}

/** Checks the setting grid_engine against the real version: `job` and reports rely on it, and do not ask qmaster. */
function* checkVersion(
  { dialect, version }: DetectedDialect,
  { settings: { grid_engine: configured }, settingsPath }: NodeState,
): Generator<Finding> {
  if (dialect === 'unknown') {
    yield warning(
      'version',
      'not one that is known: meanings of limits and figures are taken as in 8.1.9',
      'report to the authors what "qconf -help" prints first',
    );
    return;
  }
  yield ok('version', `${version ?? ''} (${dialect})`);
  const fix = `write grid_engine = "${dialect}" into ${settingsPath}`;
  if (configured === 'unknown') yield note('grid_engine', `not set: why a job was killed is less certain; ${fix}`);
  else if (configured !== dialect)
    yield warning('grid_engine', `is "${configured}": why a job was killed may be wrong`, fix);
}

async function checkSite(qconf: Qconf, cell: CellLocation | null, state: NodeState): Promise<Finding[]> {
  const site = await readSite(qconf);
  const me = ownName(site.execHosts, cell);
  const detected = (await askDialect(qconf)) ?? { dialect: 'unknown', version: null };
  const directory = hookDirectory(state.prefix);
  const places = hookPlaces(site, directory);
  return [
    ...checkVersion(detected, state),
    ...checkHooks(places, site, directory),
    ...checkPrivilege(places, detected),
    ...checkChains(places),
    ...checkHere(me, places, state),
    ...checkParameters(site, me, await askSlots(qconf, site, me)),
    ...checkComplexes(await readMemoryComplexes(qconf), state),
  ];
}

/** What is wrong where the environment names a cell other than the configuration's; null: it does not. */
export function saysOtherCell(
  env: Terminal['env'],
  { settings, settingsPath }: Pick<NodeState, 'settings' | 'settingsPath'>,
): string | null {
  const other = otherCell(env, settings);
  return other === null
    ? null
    : `SGE_ROOT and SGE_CELL name ${other}, but ${settingsPath} is for ${settings.cell}: where both cells have these hooks, jobs of both count in cluster "${settings.cluster}", by their numbers`;
}

function* checkCell(env: Terminal['env'], state: NodeState): Iterable<Finding> {
  const says = saysOtherCell(env, state);
  if (says !== null) yield warning('cell', says, 'give each host one cell, and set cell and cluster to it');
}

/** Checks where Grid Engine's configuration names our hooks, and the parameters of it that matter to them. */
export async function checkGridEngine(state: NodeState, env: Terminal['env']): Promise<Finding[]> {
  try {
    const cell = findCell(env, state.settings);
    const qconf = findQconf(env, cell, state.settings);
    if (qconf === null)
      return [note('cell', cell === null ? 'none on this host' : 'qconf is not here: only the node was checked')];
    return [...checkCell(env, state), ...(await checkSite(qconf, cell, state))];
  } catch (error) {
    return [warning('cell', reasonOf(error), 'its configuration was not checked')];
  }
}
