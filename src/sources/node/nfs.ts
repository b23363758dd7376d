import { sumOfKnown } from '../../base/known';
import { readText, whyUnreadable } from '../files';
import { knownReadings, metricsOf, source, unavailable, type Metric, type Reading, type Unavailable } from '../source';
import { parseMountstats, parseNfsDevices, type NfsMount, type NfsOperation } from './mountstats';

const { counter } = metricsOf('nfs');

interface Value {
  readonly metric: Metric;
  readonly of: (mount: NfsMount) => number | null;
}

const value = (
  what: string,
  unit: 'bytes' | 'seconds' | 'count',
  of: (mount: NfsMount) => number | null,
  help: string,
): Value => ({
  metric: counter(what, unit, help, { instance: 'mount', resolution: unit === 'seconds' ? 1000 : 1 }),
  of,
});

/** Sum over all operations, or over those of one name. */
const sum =
  (of: (operation: NfsOperation) => number, only?: string) =>
  ({ operations }: NfsMount): number =>
    operations.reduce((total, each) => (only === undefined || only === each.name ? total + of(each) : total), 0);

/** Sum of milliseconds over all operations, in seconds. */
const seconds =
  (of: (operation: NfsOperation) => number) =>
  (mount: NfsMount): number =>
    sum(of)(mount) / 1000;

const errors = ({ operations }: NfsMount): number | null => sumOfKnown(operations.map((each) => each.errors));

const VALUES: readonly Value[] = [
  value('read', 'bytes', ({ bytes }) => bytes.read, 'Read by programs through the page cache.'),
  value('write', 'bytes', ({ bytes }) => bytes.write, 'Written by programs through the page cache.'),
  value('direct_read', 'bytes', ({ bytes }) => bytes.directRead, 'Read by programs past the page cache (O_DIRECT).'),
  value('direct_write', 'bytes', ({ bytes }) => bytes.directWrite, 'Written by programs past the page cache.'),
  value('server_read', 'bytes', ({ bytes }) => bytes.serverRead, 'Read from the server.'),
  value('server_write', 'bytes', ({ bytes }) => bytes.serverWrite, 'Written to the server.'),
  value(
    'operations',
    'count',
    sum((each) => each.calls),
    'Calls to the server, all operations.',
  ),
  value(
    'read_operations',
    'count',
    sum((each) => each.calls, 'READ'),
    'READ calls.',
  ),
  value(
    'write_operations',
    'count',
    sum((each) => each.calls, 'WRITE'),
    'WRITE calls.',
  ),
  value(
    'getattr_operations',
    'count',
    sum((each) => each.calls, 'GETATTR'),
    'GETATTR calls: what stat and open cost.',
  ),
  value(
    'retransmissions',
    'count',
    sum((each) => Math.max(0, each.transmissions - each.calls)),
    'Requests sent more than once.',
  ),
  value(
    'timeouts',
    'count',
    sum((each) => each.timeouts),
    'Requests given up for a while (major time-outs).',
  ),
  value('errors', 'count', errors, 'Calls that ended in an error (Linux 5.3 and later).'),
  value(
    'queue',
    'seconds',
    seconds((each) => each.queueMs),
    'Calls waiting to be sent, summed over calls.',
  ),
  value(
    'round_trip',
    'seconds',
    seconds((each) => each.roundTripMs),
    'From request to answer, summed over calls.',
  ),
  value(
    'call',
    'seconds',
    seconds((each) => each.totalMs),
    'From call to return, summed over calls.',
  ),
];

/** The mount point with blanks and backslashes unescaped; newlines stay \012. */
const unescaped = (mountPoint: string): string => mountPoint.replace(/\\040/g, ' ').replace(/\\134/g, '\\');

/** One file system mounted in several places shows the same figures in each: the first place stands for it. */
function distinctMounts(mounts: readonly NfsMount[], devices: ReadonlyMap<string, string>): readonly NfsMount[] {
  const seen = new Set<string>();
  return mounts.filter(({ mountPoint }) => {
    const device = devices.get(mountPoint) ?? mountPoint;
    if (seen.has(device)) return false;
    seen.add(device);
    return true;
  });
}

function readMount(mount: NfsMount): readonly Reading[] {
  return knownReadings(
    VALUES.map(({ metric, of }) => [metric, of(mount)]),
    unescaped(mount.mountPoint),
  );
}

/** An automounter may mount NFS on the first access; systemd's own for binfmt_misc doesn't. */
const mayMountLater = (mountstats: string): boolean =>
  /^device (?!systemd-1 )\S+ .* with fstype autofs$/m.test(mountstats);

export const nfs = source({
  name: 'nfs',
  reads: ['/proc/self/mountstats', '/proc/self/mountinfo'],
  metrics: VALUES.map(({ metric }) => metric),
  // Neither file asks a server: the kernel adds up what it has counted (nfs_show_stats), even for one that hangs.
  blocking: false,
  open: ({ proc }) => {
    const path = `${proc}/self/mountstats`;
    const text = readText(path);
    if (text === null) return whyUnreadable(path);
    if (parseMountstats(text).length === 0 && !mayMountLater(text)) return unavailable('no NFS file system is mounted');
    const read = (): readonly Reading[] | Unavailable => {
      const now = readText(path);
      if (now === null) return whyUnreadable(path);
      const devices = parseNfsDevices(readText(`${proc}/self/mountinfo`) ?? '');
      return distinctMounts(parseMountstats(now), devices).flatMap(readMount);
    };
    return { read, close: () => undefined };
  },
});
