import { join } from 'node:path';
import { readText } from '../files';
import type { Place } from '../source';

/** Where cgroups that perf events know are mounted: the v1 hierarchy with perf_event, or v2, which always has it. */
interface Mount {
  readonly version: 1 | 2;
  /** The part of the hierarchy that is mounted. */
  readonly root: string;
  readonly directory: string;
}

const unescape = (text: string): string =>
  text.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(parseInt(octal, 8)));

/** Finds the mount in `/proc/self/mountinfo`; null: there is none. v1 takes perf_event away from v2 where it is mounted. */
export function findPerfMount(mountinfo: string): Mount | null {
  const mounts = mountinfo.split('\n').flatMap((line): readonly Mount[] => {
    const [before = '', after = ''] = line.split(' - ');
    const [, , , root, directory] = before.split(' ');
    const [type, , options = ''] = after.split(' ');
    if (root === undefined || directory === undefined) return [];
    const found = { root: unescape(root), directory: unescape(directory) };
    if (type === 'cgroup2') return [{ version: 2, ...found }];
    return type === 'cgroup' && options.split(',').includes('perf_event') ? [{ version: 1, ...found }] : [];
  });
  return mounts.find(({ version }) => version === 1) ?? mounts[0] ?? null;
}

/** The path of a process in the hierarchy of that version, from `/proc/PID/cgroup`; null: not told. */
export function perfCgroupPath(text: string, version: 1 | 2): string | null {
  for (const line of text.split('\n')) {
    const [, hierarchy, controllers, path] = /^(\d+):([^:]*):(\/.*)$/.exec(line) ?? [];
    if (path === undefined) continue;
    if (version === 2 ? hierarchy === '0' && controllers === '' : controllers?.split(',').includes('perf_event'))
      return path;
  }
  return null;
}

/**
 * Directory of the cgroup by which perf events know a process; null: none but the root, which holds everything. Whether
 * it is the job's alone, the caller must know.
 */
export function perfCgroupDirectory({ proc, root }: Pick<Place, 'proc' | 'root'>, pid: number): string | null {
  const mount = findPerfMount(readText(`${proc}/self/mountinfo`) ?? '');
  if (mount === null) return null;
  const path = perfCgroupPath(readText(`${proc}/${pid}/cgroup`) ?? '', mount.version);
  if (path === null || path === '/' || path.startsWith('/..')) return null;
  if (mount.root === '/') return join(root, mount.directory, path);
  return path.startsWith(`${mount.root}/`) ? join(root, mount.directory, path.slice(mount.root.length)) : null;
}
