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
