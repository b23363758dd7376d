import { existsSync, mkdirSync, readdirSync, rmdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '../../base/error-code';
import { listNames, readText } from '../../sources/files';
import { JOBS_GROUP, processesIn, unifiedTop } from '../../sources/job/job-cgroup';
import { OWN_GROUP } from './leave-job';
import { keyValues, startTicksOf } from './pid-file';
import { RUN_NAME } from './run-directory';

/**
 * Removal of the control groups that the prolog makes for jobs (hooks/cgroup.sh). The process that finishes a run
 * removes its group: the run's sampler, or the next sampler or flush on this host. Processes still in the group (the
 * shepherd, and those that outlive their job) move back to the shepherd's former group, as if there had never been
 * another.
 */
interface CgroupNote {
  /** Path of the shepherd's former group by hierarchy: "memory", "pids" ..., "unified" for version 2. */
  readonly origins: ReadonlyMap<string, string>;
  /** Why there is no group; null: there is one. */
  readonly problem: string | null;
}

const HIERARCHIES = ['unified', 'memory', 'cpuacct', 'blkio', 'pids'] as const;
/** Attempts for one group, 0.3 s in all: longer than an ending process takes, short beside the epilog's time limit. */
const MOST_TRIES = 60;
const PAUSE_MS = 5;
const MOST_DEPTH = 4;

/** What the prolog wrote into `RUN-DIRECTORY/cgroup`; null: it was not asked to make a group. */
export function readCgroupNote(directory: string): CgroupNote | null {
  const text = readText(join(directory, 'cgroup'));
  if (text === null) return null;
  const values = keyValues(text);
  const problem = values.get('problem') ?? '';
  const origins = [...values].flatMap(([key, path]): [string, string][] =>
    key.startsWith('from_') && path.startsWith('/') ? [[key.slice('from_'.length), path]] : [],
  );
  return { origins: new Map(origins), problem: problem === '' ? null : problem };
}

/** Name and top directory of each hierarchy that may hold groups of ours. */
function hierarchyTops(root: string): readonly (readonly [string, string])[] {
  return HIERARCHIES.map((name) => [name, name === 'unified' ? unifiedTop(root) : join(root, name)]);
}

function subgroups(directory: string): readonly string[] {
  try {
    return readdirSync(directory, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => join(directory, entry.name));
  } catch {
    return [];
  }
}

/** Where processes of a removed group go: the shepherd's former group, else our own group, which has no limits. */
interface Refuge {
  readonly top: string;
  readonly origin: string | undefined;
}

function moveProcess(pid: number, { top, origin }: Refuge): void {
  const own = join(top, OWN_GROUP);
  const former = origin === undefined || origin.split('/').includes('..') ? [] : [join(top, origin)];
  for (const target of [...former, own]) {
    try {
      if (target === own) mkdirSync(own, { recursive: true });
      writeFileSync(join(target, 'cgroup.procs'), String(pid));
      return;
    } catch (error) {
      // The process has ended meanwhile.
      if (codeOf(error) === 'ESRCH') return;
    }
  }
}

function emptyAndRemove(group: string, refuge: Refuge, depth = 0): boolean {
  if (depth > MOST_DEPTH) return false;
  for (const inner of subgroups(group)) emptyAndRemove(inner, refuge, depth + 1);
  for (const pid of processesIn(group)) moveProcess(pid, refuge);
  try {
    rmdirSync(group);
    return true;
  } catch (error) {
    return codeOf(error) === 'ENOENT';
  }
}

function takeBreath(): void {
  const never = new Int32Array(new SharedArrayBuffer(4));
  Atomics.wait(never, 0, 0, PAUSE_MS);
}

/** Removes one group, with retries: processes that are just ending keep it busy for a moment. */
function removeGroup(group: string, refuge: Refuge): boolean {
  for (let tries = 1; !emptyAndRemove(group, refuge); tries++) {
    if (tries === MOST_TRIES) return false;
    takeBreath();
  }
  return true;
}

/**
 * Removes the group of one run in every hierarchy; processes in it are moved, never killed. "left": a group could not
 * be removed now, the next sampler or flush tries again. Never throws.
 */
export function removeJobCgroup(
  key: string,
  note: CgroupNote | null,
  root = '/sys/fs/cgroup',
): 'none' | 'removed' | 'left' {
  if (!RUN_NAME.test(key)) return 'none';
  let outcome: 'none' | 'removed' | 'left' = 'none';
  for (const [name, top] of hierarchyTops(root)) {
    const group = join(top, JOBS_GROUP, key);
    if (!existsSync(group)) continue;
    const gone = removeGroup(group, { top, origin: note?.origins.get(name) });
    if (!gone) outcome = 'left';
    else if (outcome === 'none') outcome = 'removed';
  }
  return outcome;
}

export interface CgroupPlaces {
  /** Directories that hold `run/KEY`: state_dir and run_dir. */
  readonly directories: readonly string[];
  readonly procRoot?: string;
  readonly cgroupRoot?: string;
  /** Groups younger than this are left to the sampler of their run. */
  readonly graceMs?: number;
}

/** Keys of groups whose shepherd has gone and whose run no sampler will finish any more. */
export function strayCgroups({
  directories,
  procRoot = '/proc',
  cgroupRoot = '/sys/fs/cgroup',
}: CgroupPlaces): readonly string[] {
  const keys = new Set(hierarchyTops(cgroupRoot).flatMap(([, top]) => listNames(join(top, JOBS_GROUP))));
  return [...keys].sort().filter((key) => {
    const [, pid, start] = RUN_NAME.exec(key) ?? [];
    if (pid === undefined) return false;
    if (startTicksOf(Number(pid), procRoot) === Number(start)) return false;
    return !directories.some((directory) => existsSync(join(directory, 'run', key)));
  });
}

/**
 * A group's run may be in another installation's state directory: an installation that tests itself must not remove the
 * group of a job that is just ending.
 */
const GRACE_MS = 60_000;

/** The kernel keeps no creation time of a group. The mtime is when its inode was loaded: the age is never too high. */
function ageMs(key: string, cgroupRoot: string): number {
  const times = hierarchyTops(cgroupRoot).flatMap(([, top]) => {
    try {
      return [statSync(join(top, JOBS_GROUP, key)).mtimeMs];
    } catch {
      return [];
    }
  });
  return Date.now() - Math.max(0, ...times);
}

/** Most groups that one pass removes, so that it does not take long; the next pass goes on. */
const MOST_REMOVED = 20;

/** Removes groups that no sampler looks after; returns the keys of those that could not be removed. Never throws. */
export function removeStrayCgroups(places: CgroupPlaces): readonly string[] {
  const { cgroupRoot = '/sys/fs/cgroup', graceMs = GRACE_MS } = places;
  return strayCgroups(places)
    .filter((key) => ageMs(key, cgroupRoot) >= graceMs)
    .slice(0, MOST_REMOVED)
    .filter((key) => removeJobCgroup(key, null, cgroupRoot) === 'left');
}
