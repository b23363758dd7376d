import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { reasonOf } from '../../base/user-error';
import { isPostgresUrl } from '../../record/postgres-url';
import type { Settings } from '../../record/settings';
import { usageError } from '../command';
import { readText } from '../../sources/files';
import { delivererName } from '../stores/maintenance';
import { leaveSteps, removeSteps, writeSteps } from './kept-files';
import { commandPath, hookDirectory, type SystemPlaces } from './places';
import type { Step } from './steps';
import { fileSteps, removeFiles } from './system-files';

type UnitKind = 'service' | 'timer' | 'socket';

/** What a host starts by itself: by systemd units, else by a cron table; their templates are in hooks/. */
interface Service {
  /** The name of its units and its cron table; no dot, as cron ignores such files. */
  readonly name: string;
  readonly units: readonly UnitKind[];
  /** Whether an admin may change its files: upgrades then leave changed ones alone. */
  readonly mayBeChanged: boolean;
  /** The consequence while it does not run. */
  readonly without: string;
  /** What an admin must make sure of where neither systemd nor cron runs. */
  readonly byHand: string;
  /** What its removal does, besides removing its files. */
  readonly saysEnd: string;
}

export const FLUSH: Service = {
  name: 'qmemacct-flush',
  units: ['service', 'timer'],
  mayBeChanged: false,
  without: 'records of nodes without jobs wait until "qmemacct flush" runs',
  byHand: '"qmemacct flush" runs every ten minutes',
  saysEnd: 'end "qmemacct flush" every ten minutes',
};

export const NIGHTLY: Service = {
  name: 'qmemacct-nightly',
  units: ['service', 'timer'],
  mayBeChanged: true,
  without: 'no reports come until hooks/nightly.sh runs every night',
  byHand: 'hooks/nightly.sh runs every night',
  saysEnd: 'end the nightly job',
};

export const LISTENER: Service = {
  name: 'qmemacct-listener',
  units: ['service'],
  mayBeChanged: false,
  without: 'until it runs, the peak of the first job after a pause is not proved',
  byHand: 'hooks/listener.sh --detach runs after each boot',
  saysEnd: 'end the listener of this node after the jobs that run',
};

/** The sampler of the whole node, where the scope is "node". */
export const SAMPLER: Service = {
  name: 'qmemacct-sampler',
  units: ['service'],
  mayBeChanged: false,
  without: 'until it runs, each job gets a sampler of its own, and tasks of jobs on other hosts get none',
  byHand: 'hooks/sampler.sh --detach runs after each boot',
  saysEnd: 'end the sampler of this node, and start one for each of its jobs',
};

export const SERVER: Service = {
  name: 'qmemacct-serve',
  units: ['socket', 'service'],
  mayBeChanged: true,
  without: 'users see only what they may read themselves until "qmemacct serve" runs',
  byHand: 'hooks/serve.sh runs after each boot',
  saysEnd: 'end the server',
};

export const SERVICES: readonly Service[] = [FLUSH, NIGHTLY, LISTENER, SAMPLER, SERVER];

/** A host, and what is installed on it. */
export interface Host {
  readonly places: SystemPlaces;
  readonly prefix: string;
  readonly settings: Settings;
  readonly settingsPath: string;
  /** Directory of the templates. */
  readonly hooks: string;
}

/** The units that start the service: its timer, else all of them at each boot. */
const beginOf = ({ units }: Service): readonly UnitKind[] => (units.includes('timer') ? ['timer'] : units);

const unitsOf = ({ name }: Service, kinds: readonly UnitKind[]): readonly string[] =>
  kinds.map((kind) => `${name}.${kind}`);

/** Paths of the units, else of the cron table; empty if neither systemd nor cron runs. */
function pathsOf(service: Service, { units, cron }: SystemPlaces, kinds = service.units): readonly string[] {
  if (units !== null) return unitsOf(service, kinds).map((name) => join(units, name));
  return cron === null ? [] : [join(cron, service.name)];
}

/** Whether a unit or cron table on this host starts the service. */
export function isSetUp(service: Service, places: SystemPlaces): boolean {
  return pathsOf(service, places, beginOf(service)).some((path) => existsSync(path));
}

/** The configurations that the service's units or cron table name. */
export function configurationsOf(service: Service, places: SystemPlaces): readonly string[] {
  const texts = pathsOf(service, places).map((path) => readText(path) ?? '');
  return texts.flatMap((text) => [...text.matchAll(/ --config (\S+)/g)].map(([, path = '']) => path));
}

/** Whether its timer is active; an interrupted installation may not have started it. */
export function isTimed(service: Service, { units, cron }: SystemPlaces): boolean {
  if (units === null) return cron !== null;
  return systemctl(['is-active', '--quiet', ...unitsOf(service, beginOf(service))], '') === null;
}

/** In cron tables and units only these characters have no special meaning. */
const PLAIN_PATH = /^[\w./@+-]+$/;

/** Throws a usage error if a path can't be written into cron tables and units. */
export function requirePlain(name: string, path: string): void {
  if (!PLAIN_PATH.test(path))
    throw usageError(`${name} "${path}": stands in units and cron tables, which take letters, digits and ./@+-_ only`);
}

/** Whether systemd or cron runs here. */
export const isAttended = ({ units, cron }: SystemPlaces): boolean => units !== null || cron !== null;

/** Text of a template in `hooks`, with this host's values for the words between "@". */
export function fromTemplate({ prefix, settings, settingsPath, hooks }: Host, name: string): string {
  const { serve_socket: socket, accounting } = settings;
  return readFileSync(join(hooks, name), 'utf8')
    .replaceAll('@HOOKS@', hookDirectory(prefix))
    .replaceAll('@COMMAND@', commandPath(prefix))
    .replaceAll('@SETTINGS@', settingsPath)
    .replaceAll('@USER@', delivererName(settings))
    .replaceAll('@SOCKET@', socket)
    .replaceAll('@SOCKET_DIRECTORY@', dirname(socket))
    .replaceAll('@WRITABLE@', isPostgresUrl(accounting) ? '' : `-${dirname(accounting)}`);
}

/** Runs systemctl; null: success; else why it failed, with `otherwise` (the consequence, or what to do). */
export function systemctl(words: readonly string[], otherwise: string): string | null {
  try {
    execFileSync('systemctl', [...words], { stdio: 'pipe', timeout: 60_000 });
    return null;
  } catch (error) {
    return `systemctl ${words.join(' ')}: ${reasonOf(error)}; ${otherwise}`;
  }
}

/** Starts a service by its hook script, which detaches it; null: success, else why it failed. */
export function startHook({ prefix }: Host, service: Service, script: string, how: string): string | null {
  const { status } = spawnSync('/bin/sh', ['-p', join(hookDirectory(prefix), script), how], {
    stdio: 'ignore',
    timeout: 10_000,
  });
  return status === 0 ? null : `${service.name} did not start (status ${status ?? 'none'}); ${service.without}`;
}

function unitStart(service: Service): Step {
  const begin = unitsOf(service, beginOf(service));
  const ask = (...words: readonly string[]): string | null => systemctl(words, service.without);
  return {
    says: `systemctl enable and restart ${begin.join(' ')}`,
    apply: () => ask('daemon-reload') ?? ask('enable', ...begin) ?? ask('restart', ...begin),
  };
}

interface Start {
  /** Whether it runs already: it is then started again only if its files change. */
  readonly runs: boolean;
  /** Starts it where systemd does not run, as cron would do so only later. */
  readonly now?: Step;
  /** Checks it after its start; resolves to what is wrong, or null. */
  readonly look?: () => Promise<string | null>;
}

/** Writes the files of a service, and starts it now and after each boot. */
export function setUpSteps(service: Service, host: Host, { runs, now, look }: Start): Step[] {
  const { units } = host.places;
  const paths = pathsOf(service, host.places);
  const templates = units === null ? [`${service.name}.cron`] : unitsOf(service, service.units);
  const write = service.mayBeChanged ? writeSteps : fileSteps;
  const written = paths.flatMap((path, index) => write(path, fromTemplate(host, templates[index] ?? '')));
  const left = service.mayBeChanged ? leaveSteps(paths) : [];
  if (written.length === 0 && runs) return left;
  const start = units === null ? now : unitStart(service);
  const started: Step[] =
    start === undefined ? [] : [{ ...start, apply: async () => (await start.apply()) ?? (await look?.()) ?? null }];
  const unattended = `neither systemd nor cron runs here; make sure that ${service.byHand}`;
  return [
    ...left,
    ...written,
    ...started,
    ...(paths.length > 0 ? [] : [{ says: 'look for systemd or cron', apply: () => unattended }]),
  ];
}

/** Stops the units that exist. */
function stopUnits(service: Service, units: string): string | null {
  const stop = (kinds: readonly UnitKind[], words: readonly string[], otherwise: string): string | null => {
    const there = unitsOf(service, kinds).filter((name) => existsSync(join(units, name)));
    return there.length === 0 ? null : systemctl([...words, ...there], otherwise);
  };
  const begin = beginOf(service);
  const started = service.units.filter((kind) => !begin.includes(kind));
  return (
    stop(begin, ['disable', '--now'], 'end it by hand') ??
    stop(started, ['stop'], 'what a timer has started ends by itself')
  );
}

/**
 * Ends a service and removes its files, except changed ones, which no longer do anything. `end`: ends it otherwise than
 * by systemd; `runs`: do so even if it has no files.
 */
export function removalSteps(service: Service, places: SystemPlaces, end?: Step['apply'], runs = false): Step[] {
  const { units } = places;
  const files = pathsOf(service, places).filter((path) => existsSync(path));
  if (files.length === 0 && !runs) return [];
  const removed = service.mayBeChanged ? removeSteps(files) : removeFiles(files);
  const ended: Step = {
    says: service.saysEnd,
    apply: async () => {
      const problem = units === null ? null : stopUnits(service, units);
      return (await end?.()) ?? problem;
    },
  };
  if (units !== null) return [ended, ...removed];
  // Files first, or cron would start it again.
  return end === undefined ? removed : [...removed, ended];
}
