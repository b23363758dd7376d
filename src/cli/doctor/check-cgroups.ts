import { constants, existsSync } from 'node:fs';
import { join } from 'node:path';
import { isPermitted } from '../../base/file-state';
import { strayCgroups } from '../../sampler/job/job-cgroups';
import { readText } from '../../sources/files';
import { JOBS_GROUP, V1_CONTROLLERS } from '../../sources/job/job-cgroup';
import { unavailable } from '../../sources/source';
import type { SourceState } from './check-sources';
import { findingsIn, type Finding } from './finding';
import type { NodeState } from './node-state';

const { ok, note, warning } = findingsIn('cgroups');

type Asking = Pick<NodeState, 'settings' | 'settingsPath' | 'isRoot'>;

/** The control group hierarchies mounted where samplers and hooks look for them. */
interface Hierarchies {
  /** null: not mounted. */
  readonly v2: { readonly top: string; readonly controllers: readonly string[] } | null;
  /** Controllers of version 1. */
  readonly v1: readonly string[];
}

export function readHierarchies(root = '/sys/fs/cgroup'): Hierarchies {
  const tops = [root, join(root, 'unified')];
  const v2 = tops.flatMap((top) => {
    const text = readText(join(top, 'cgroup.controllers'));
    return text === null ? [] : [{ top, controllers: text.split(/\s+/).filter((word) => word !== '') }];
  });
  return {
    v2: v2[0] ?? null,
    v1: V1_CONTROLLERS.filter((name) => existsSync(join(root, name, 'cgroup.procs'))),
  };
}

/** Top directory of the hierarchy that counts memory; null: no hierarchy does. */
function memoryTop({ v2, v1 }: Hierarchies, root: string): { readonly version: 1 | 2; readonly top: string } | null {
  if (v2?.controllers.includes('memory') === true) return { version: 2, top: v2.top };
  return v1.includes('memory') ? { version: 1, top: join(root, 'memory') } : null;
}

const NO_MEMORY = unavailable(
  'no cgroup hierarchy counts memory',
  'mount cgroup2 at /sys/fs/cgroup, and boot without cgroup_disable=memory',
);

function hierarchies({ v2, v1 }: Hierarchies): Finding {
  const words = (names: readonly string[]): string => (names.length === 0 ? 'no controllers' : names.join(', '));
  const says = [
    ...(v2 === null ? [] : [`version 2 in ${v2.top}: ${words(v2.controllers)}`]),
    ...(v1.length === 0 ? [] : [`version 1: ${words(v1)}`]),
  ];
  return says.length === 0 ? note('hierarchies', 'none in /sys/fs/cgroup') : ok('hierarchies', says.join('; '));
}

/** Why the prolog can't make control groups for jobs; null: it can. */
function obstacle(
  memory: ReturnType<typeof memoryTop>,
  writable: (path: string) => boolean,
): { readonly why: string; readonly fix: string } | null {
  if (memory === null) return { why: NO_MEMORY.unavailable, fix: NO_MEMORY.fix ?? '' };
  if (!writable(memory.top))
    return { why: `${memory.top} can't be written`, fix: 'mount it read-write (in a container: delegate it)' };
  const groups = join(memory.top, JOBS_GROUP);
  if (existsSync(groups) && !writable(groups))
    return { why: `${groups} can't be written`, fix: `give ${groups} to root` };
  return null;
}

function ownGroups(asking: Asking, memory: ReturnType<typeof memoryTop>, writable: (path: string) => boolean): Finding {
  const { settings, settingsPath, isRoot } = asking;
  const setting = `cgroup = "${settings.cgroup}"`;
  const off = settings.cgroup === 'off';
  if (!isRoot) return note('own groups', `${setting}; whether groups can be made is not tried`, 'run this as root');
  const found = obstacle(memory, writable);
  if (found === null && off)
    return note('own groups', `${setting}: none are made`, `cgroup = "own" in ${settingsPath} would work here`);
  if (found === null)
    return ok(
      'own groups',
      `${setting}: the prolog can make them ${settings.cgroup === 'auto' ? 'for jobs without a scope of Grid Engine' : 'for every job'}`,
    );
  const says = `${setting}, and none can be made: ${found.why}`;
  return off ? note('own groups', says) : warning('own groups', says, found.fix);
}

function* strays({ settings, isRoot }: Asking, root: string, procRoot: string): Generator<Finding> {
  // Only root can see which runs exist.
  if (!isRoot) return;
  const keys = strayCgroups({ directories: [settings.state_dir, settings.run_dir], procRoot, cgroupRoot: root });
  if (keys.length === 0) return;
  const groups = keys.length === 1 ? 'group of a job' : 'groups of jobs';
  yield warning(
    'own groups',
    `${keys.length} ${groups} that nobody uses: ${keys.slice(0, 3).join(', ')}${keys.length > 3 ? ' ...' : ''}`,
    '"qmemacct flush" removes them',
  );
}

interface CgroupPlace {
  readonly root: string;
  readonly procRoot: string;
  readonly writable: (path: string) => boolean;
}

/** Checks which hierarchies are mounted, and whether jobs can have groups of their own. */
export function checkCgroups(
  asking: Asking,
  { root, procRoot, writable }: CgroupPlace = {
    root: '/sys/fs/cgroup',
    procRoot: '/proc',
    writable: (path) => isPermitted(path, constants.W_OK),
  },
): { readonly findings: readonly Finding[]; readonly cgroup: SourceState } {
  const mounted = readHierarchies(root);
  const memory = memoryTop(mounted, root);
  return {
    findings: [hierarchies(mounted), ownGroups(asking, memory, writable), ...strays(asking, root, procRoot)],
    cgroup:
      memory === null
        ? NO_MEMORY
        : { found: `version ${memory.version} counts memory; read for jobs that have a group of their own` },
  };
}
