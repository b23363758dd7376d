import { listNames, readText, whyUnreadable } from '../files';
import { metricsOf, opened, source, unavailable, type Metric, type Reading } from '../source';
import { namesInOrder } from './names';

const { counter } = metricsOf('lustre');
const FILESYSTEM = { instance: 'filesystem' };

interface Line {
  readonly bytes: Metric | null;
  readonly samples: Metric;
}

const line = (samples: string, help: string, bytes: string | null = null): Line => ({
  bytes:
    bytes === null
      ? null
      : counter(bytes, 'bytes', `Bytes of ${help.charAt(0).toLowerCase()}${help.slice(1)}`, FILESYSTEM),
  samples: counter(samples, 'count', help, FILESYSTEM),
});

/** Lines of llite's `stats` that are kept, and what becomes of their samples and sums. */
const LINES: Readonly<Record<string, Line>> = {
  read_bytes: line('reads', 'Reads by programs, page cache included.', 'read'),
  write_bytes: line('writes', 'Writes by programs, page cache included.', 'write'),
  open: line('open', 'Files opened.'),
  close: line('close', 'Files closed.'),
  seek: line('seek', 'Seeks.'),
  fsync: line('fsync', 'Calls of fsync.'),
  readdir: line('readdir', 'Directories read.'),
  getattr: line('getattr', 'Calls of stat.'),
  setattr: line('setattr', 'Attributes set.'),
  truncate: line('truncate', 'Files truncated.'),
  flock: line('flock', 'File locks.'),
  mmap: line('mmap', 'Files mapped.'),
  page_fault: line('page_fault', 'Page faults in mapped files.'),
  create: line('create', 'Files created.'),
  link: line('link', 'Hard links made.'),
  unlink: line('unlink', 'Files removed.'),
  symlink: line('symlink', 'Symbolic links made.'),
  mkdir: line('mkdir', 'Directories made.'),
  rmdir: line('rmdir', 'Directories removed.'),
  mknod: line('mknod', 'Special files made.'),
  rename: line('rename', 'Renames.'),
  statfs: line('statfs', 'Calls of statfs.'),
  getxattr: line('getxattr', 'Extended attributes read.'),
  setxattr: line('setxattr', 'Extended attributes set.'),
  inode_permission: line('inode_permission', 'Permission checks.'),
};

const METRICS: readonly Metric[] = Object.values(LINES).flatMap(({ bytes, samples }) =>
  bytes === null ? [samples] : [bytes, samples],
);

/** "read_bytes 10 samples [bytes] 4096 1048576 5242880": count, unit, least, most, sum (and, from 2.13, sum of squares). */
const STATS_LINE = /^(\w+)\s+(\d{1,20}) samples \[(\w+)\](?: \d+ \d+ (\d{1,20}))?/;

/**
 * llite's `stats` of one mount, by metric. A line that is absent has not happened yet: 0. null: no such file, or one that
 * is cut before its first line ends.
 */
export function parseLustreStats(text: string): ReadonlyMap<string, number> | null {
  if (!/^snapshot_time\s+\d+\.\d+ \(?secs/m.test(text)) return null;
  const values = new Map(METRICS.map(({ name }) => [name, 0]));
  const lines = text.split('\n');
  // A last line without a newline was cut off: its number may lack digits.
  for (const each of lines.slice(0, -1)) {
    const [, name = '', samples, unit, sum] = STATS_LINE.exec(each) ?? [];
    const kept = Object.hasOwn(LINES, name) ? LINES[name] : undefined;
    if (kept === undefined || samples === undefined) continue;
    values.set(kept.samples.name, Number(samples));
    if (kept.bytes !== null && unit === 'bytes' && sum !== undefined) values.set(kept.bytes.name, Number(sum));
  }
  return values;
}

/** "scratch-ffff9bc043537800": the file system and the kernel's address of this mount of it. */
const filesystemOf = (mount: string): string => mount.replace(/-[0-9a-f]{8,16}$/, '');

export const lustre = source({
  name: 'lustre',
  reads: ['/proc/fs/lustre/llite/*/stats', '/sys/kernel/debug/lustre/llite/*/stats (Lustre 2.12 and later)'],
  metrics: METRICS,
  blocking: true,
  open: ({ proc, sys }) => {
    const directories = [`${proc}/fs/lustre/llite`, `${sys}/kernel/debug/lustre/llite`];
    const nameOf = namesInOrder();
    let unread: string | null = null;
    const read = (): readonly Reading[] => {
      const readings: Reading[] = [];
      const seen = new Set<string>();
      unread = null;
      for (const directory of directories)
        for (const mount of listNames(directory)) {
          const path = `${directory}/${mount}/stats`;
          if (seen.has(mount)) continue;
          const values = parseLustreStats(readText(path) ?? '');
          if (values === null) {
            unread ??= path;
            continue;
          }
          seen.add(mount);
          const instance = nameOf(mount, filesystemOf(mount));
          for (const [metric, value] of values) readings.push({ metric, instance, value });
        }
      return readings;
    };
    return opened(read, () =>
      unread === null ? unavailable('no Lustre file system is mounted') : whyUnreadable(unread),
    );
  },
});
