import { listNames, readText, whyUnreadable } from '../files';
import { naturals, words } from '../numbers';
import { listOption, metricsOf, opened, reading, source, unavailable, type Metric, type Reading } from '../source';

const { gauge, counter } = metricsOf('disk');

const DEVICE = { instance: 'device' };
const TIME = { instance: 'device', resolution: 1000 };

/** The fields after the name, in their order (Documentation/admin-guide/iostats.rst), and what one unit of each is. */
const FIELDS: readonly (readonly [Metric, number])[] = (() => {
  // Sectors are of 512 bytes here whatever the device's own size; times are in ms and wrap at 2^32.
  const sector = 512;
  const ms = 1 / 1000;
  return [
    [counter('reads', 'count', 'Reads completed.', DEVICE), 1],
    [counter('reads_merged', 'count', 'Reads merged into another one before they were queued.', DEVICE), 1],
    [counter('read', 'bytes', 'Read from the device.', DEVICE), sector],
    [counter('read', 'seconds', 'Time of all reads together, from queue to completion.', TIME), ms],
    [counter('writes', 'count', 'Writes completed.', DEVICE), 1],
    [counter('writes_merged', 'count', 'Writes merged into another one before they were queued.', DEVICE), 1],
    [counter('written', 'bytes', 'Written to the device.', DEVICE), sector],
    [counter('write', 'seconds', 'Time of all writes together, from queue to completion.', TIME), ms],
    [gauge('in_flight', 'count', 'Requests given to the device and not yet completed.', DEVICE), 1],
    [counter('busy', 'seconds', 'Time in which at least one request was in flight.', TIME), ms],
    [counter('queue', 'seconds', 'Requests in flight summed over time: busy time weighted by their number.', TIME), ms],
    [counter('discards', 'count', 'Discards completed (Linux 4.18 or later, as the next three).', DEVICE), 1],
    [counter('discards_merged', 'count', 'Discards merged into another one.', DEVICE), 1],
    [counter('discarded', 'bytes', 'Discarded.', DEVICE), sector],
    [counter('discard', 'seconds', 'Time of all discards together.', TIME), ms],
    [counter('flushes', 'count', 'Flushes completed (Linux 5.5 or later, as the next).', DEVICE), 1],
    [counter('flush', 'seconds', 'Time of all flushes together.', TIME), ms],
  ];
})();

/** Fields of Linux 2.6.25 to 4.17; later ones add four and then two. */
const FEWEST_FIELDS = 11;

interface DiskCounters {
  readonly device: string;
  /** In the order of the kernel's fields, in its units. */
  readonly fields: readonly number[];
}

/** Parses `/proc/diskstats`: 14, 18 or 20 fields in a line. Lines that make no sense are left out. */
export function parseDiskstats(text: string): readonly DiskCounters[] {
  return text.split('\n').flatMap((line) => {
    const [major, minor, device, ...rest] = words(line);
    if (device === undefined || naturals([String(major), String(minor)]) === null) return [];
    const fields = naturals(rest.slice(0, FIELDS.length));
    return fields === null || fields.length < FEWEST_FIELDS ? [] : [{ device, fields }];
  });
}

export function diskReadings(disks: readonly DiskCounters[]): readonly Reading[] {
  return disks.flatMap(({ device, fields }) =>
    FIELDS.flatMap(([metric, unit], index) => {
      const value = fields[index];
      return value === undefined ? [] : [reading(metric, value * unit, device)];
    }),
  );
}

/**
 * Whether this is a whole device whose figures no other device counts again: partitions have no names in /sys/block,
 * and devices upon other devices (device mapper, RAID, loop) or in memory begin with one of `leftOut` and a digit.
 */
export function isCounted(device: string, blocks: ReadonlySet<string>, leftOut: readonly string[]): boolean {
  // sysfs has no slashes in names: cciss/c0d0 is cciss!c0d0 there.
  if (!blocks.has(device.replaceAll('/', '!'))) return false;
  return !leftOut.some((prefix) => device.startsWith(prefix) && /^\d/.test(device.slice(prefix.length)));
}

export const disk = source({
  name: 'disk',
  reads: ['/proc/diskstats', '/sys/block'],
  metrics: FIELDS.map(([metric]) => metric),
  options: { left_out: ['loop', 'ram', 'zram', 'dm-', 'md', 'bcache', 'sr', 'fd'] },
  open: ({ proc, sys, options }) => {
    const path = `${proc}/diskstats`;
    const leftOut = listOption(options.left_out);
    const read = (): readonly Reading[] => {
      const blocks = new Set(listNames(`${sys}/block`));
      return diskReadings(
        parseDiskstats(readText(path) ?? '').filter(({ device }) => isCounted(device, blocks, leftOut)),
      );
    };
    return opened(read, () =>
      parseDiskstats(readText(path) ?? '').length > 0
        ? unavailable(`${path} has no device that is no partition and not left out`, 'see left_out of [sources.disk]')
        : whyUnreadable(path),
    );
  },
});
