import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseCgroupFile, type CgroupMembership } from '../proc/cgroup-file';
import type { CgroupDirectories } from './cgroup';

/** Directory of the jobs' groups that our own prolog makes, at the top of each hierarchy (hooks/cgroup.sh). */
export const JOBS_GROUP = 'qmemacct-jobs';

/** Which job is looked for. */
export interface SoughtJob {
  readonly job: number;
  /** 0: not an array task. */
  readonly task: number;
  /** Name of the run directory, and of the group that our prolog makes. */
  readonly key: string;
  /** The systemd unit that `config` names. */
  readonly scope: string | null;
}

export interface JobCgroup {
  /** own: made by our prolog; scope: the systemd unit in which Grid Engine started the job. */
  readonly origin: 'own' | 'scope';
  readonly directories: CgroupDirectories;
}

/**
 * Part of the path that is this job's alone; null: none is. A path that holds other things as well (execd's service, a
 * user's slice) has none.
 *
 *  - `sge-JOB.TASK.scope` or `.service` (USE_CGROUPS=systemd in daimh's fork; TASK is 1 for a job that is no array)
 *  - the scope that `config` names (Open Cluster Scheduler with ENABLE_SYSTEMD)
 *  - `/qmemacct-jobs/KEY`
 */
export function ownPart(
  path: string,
  sought: SoughtJob,
): { readonly path: string; readonly origin: JobCgroup['origin'] } | null {
  const words = path.split('/').slice(1);
  if (words[0] === JOBS_GROUP)
    return words[1] === sought.key ? { path: `/${JOBS_GROUP}/${sought.key}`, origin: 'own' } : null;
  // Below a user's slice, the user can give a scope any name.
  if (words[0] === 'user.slice' || words.includes('..')) return null;
  const unit = `sge-${sought.job}.${sought.task || 1}`;
  const at = words.findIndex((word) => word === sought.scope || word === `${unit}.scope` || word === `${unit}.service`);
  return at < 0 ? null : { path: `/${words.slice(0, at + 1).join('/')}`, origin: 'scope' };
}

export const V1_CONTROLLERS = ['memory', 'cpuacct', 'cpu', 'blkio', 'pids'] as const;

/** Where the v2 hierarchy is mounted, with or without v1 beside it. */
export const unifiedTop = (root: string, exists: (path: string) => boolean = existsSync): string =>
  exists(join(root, 'cgroup.controllers')) ? root : join(root, 'unified');

/** `of`: the job's directory of a controller; null: it has none. */
const v1Directories = (of: (name: (typeof V1_CONTROLLERS)[number]) => string | null): CgroupDirectories => ({
  version: 1,
  memory: of('memory'),
  cpuacct: of('cpuacct'),
  cpu: of('cpu'),
  blkio: of('blkio'),
  pids: of('pids'),
});

/** Where a v1 hierarchy is mounted: under all its controllers' names ("cpu,cpuacct") or under one of them. */
function mountOf(root: string, { hierarchy }: CgroupMembership, exists: (path: string) => boolean): string | null {
  return [hierarchy, ...hierarchy.split(',')].map((name) => join(root, name)).find((path) => exists(path)) ?? null;
}

/**
 * The job's own control group, by `/proc/PID/cgroup` of its first process; null where it has none whose memory is
 * counted apart.
 */
export function jobCgroup(
  membership: string,
  sought: SoughtJob,
  root = '/sys/fs/cgroup',
  exists: (path: string) => boolean = existsSync,
): JobCgroup | null {
  const v1: Partial<Record<(typeof V1_CONTROLLERS)[number], string>> = {};
  let origin: JobCgroup['origin'] | null = null;
  for (const member of parseCgroupFile(membership)) {
    const part = ownPart(member.path, sought);
    if (part === null) continue;
    if (member.hierarchy === '') {
      const directory = join(unifiedTop(root, exists), part.path);
      // If v1 is mounted beside it, the v2 tree has no controllers.
      if (exists(join(directory, 'memory.current')))
        return { origin: part.origin, directories: { version: 2, directory } };
      continue;
    }
    const mount = mountOf(root, member, exists);
    for (const controller of V1_CONTROLLERS)
      if (mount !== null && member.hierarchy.split(',').includes(controller)) {
        v1[controller] = join(mount, part.path);
        if (controller === 'memory') ({ origin } = part);
      }
  }
  return origin === null ? null : { origin, directories: v1Directories((name) => v1[name] ?? null) };
}

/**
 * The group that our prolog made for a run, whether or not a process is in it any more; null: there is none whose memory
 * is counted.
 */
export function ownGroup(key: string): JobCgroup | null {
  const root = '/sys/fs/cgroup';
  const directory = join(unifiedTop(root), JOBS_GROUP, key);
  if (existsSync(join(directory, 'memory.current'))) return { origin: 'own', directories: { version: 2, directory } };
  const of = (name: string): string | null => {
    const path = join(root, name, JOBS_GROUP, key);
    return existsSync(path) ? path : null;
  };
  return of('memory') === null ? null : { origin: 'own', directories: v1Directories(of) };
}

/** The processes in a group, without those in its sub-groups; none if the group is gone. */
export function processesIn(group: string): readonly number[] {
  try {
    return readFileSync(join(group, 'cgroup.procs'), 'latin1')
      .split('\n')
      .map(Number)
      .filter((pid) => pid > 0);
  } catch {
    return [];
  }
}
