import { openedFile, readText } from '../files';
import { words } from '../numbers';
import { metricsOf, reading, source } from '../source';

const { gauge } = metricsOf('mounts');

const ALL = gauge('all', 'count', 'Mounted file systems, those of the kernel (proc, tmpfs, cgroup ...) included.');
const PARTITIONS = gauge('partitions', 'count', 'Mounted file systems that lie on a block device, and ZFS.');
const NETWORK = gauge('network', 'count', 'Mounted file systems whose data are on other hosts.');

const NETWORK_TYPES: ReadonlySet<string> = new Set([
  ...['9p', 'afs', 'beegfs', 'ceph', 'cifs', 'glusterfs', 'gpfs', 'lustre', 'nfs', 'nfs4', 'orangefs', 'panfs'],
  ...['pvfs2', 'smb3', 'smbfs', 'virtiofs', 'wekafs', 'fuse.ceph', 'fuse.glusterfs', 'fuse.sshfs', 'fuse.quobyte'],
  ...['beegfs_nodev', 'fuse.cvmfs', 'cvmfs2', 'fuse.cvmfs2'],
]);

/** File system types that need a block device, from `/proc/filesystems`; ZFS has pools of its own instead. */
export function parseFilesystems(text: string): ReadonlySet<string> {
  const types = text.split('\n').flatMap((line) => (line.startsWith('\t') ? [line.trim()] : []));
  return new Set([...types, 'zfs']);
}

/** File system types of the mounts in `/proc/self/mounts` (proc_pid_mounts(5)). */
export function parseMounts(text: string): readonly string[] {
  return text.split('\n').flatMap((line) => {
    const [, , type, options] = words(line);
    return type === undefined || options === undefined ? [] : [type];
  });
}

/** Counts of mounts; the list itself (device, mount point, options) is `findmnt`'s, not a sample. */
export const mounts = source({
  name: 'mounts',
  reads: ['/proc/self/mounts', '/proc/filesystems'],
  metrics: [ALL, PARTITIONS, NETWORK],
  interval: 60,
  open: ({ proc }) =>
    openedFile(`${proc}/self/mounts`, (text) => {
      const types = parseMounts(text);
      if (types.length === 0) return null;
      const onDevice = parseFilesystems(readText(`${proc}/filesystems`) ?? '');
      const count = (set: ReadonlySet<string>): number => types.filter((type) => set.has(type)).length;
      return [reading(ALL, types.length), reading(PARTITIONS, count(onDevice)), reading(NETWORK, count(NETWORK_TYPES))];
    }),
});
