import { closeSync, constants, openSync, readSync, statfsSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { sumOfKnown } from '../../base/known';
import { readText } from '../files';
import { parsePressure, type Pressure } from '../node/pressure';
import { NOTHING_READ, REFAULTS, type CgroupReading } from './cgroup-reading';
import { parseAmount, parseKeyed, scaled, type CountDisks, type DiskBytes } from './cgroup-text';

/** Control groups, version 2 (cgroup-v2.rst). Every figure of a group covers the groups below it. */

/** Bytes by device ("8:0") of an `io.stat`. */
export function parseIoStat(text: string | null): ReadonlyMap<string, DiskBytes> {
  const devices = new Map<string, DiskBytes>();
  for (const line of text?.split('\n') ?? []) {
    const device = /^(\d+:\d+) /.exec(line)?.[1];
    const read = parseAmount(/ rbytes=(\d+)/.exec(line)?.[1] ?? null);
    const written = parseAmount(/ wbytes=(\d+)/.exec(line)?.[1] ?? null);
    if (device !== undefined && read !== null && written !== null) devices.set(device, { read, written });
  }
  return devices;
}

const stalledSeconds = (text: string): ReadonlyMap<Pressure['kind'], number> =>
  new Map(parsePressure(text).map(({ kind, totalSeconds }) => [kind, totalSeconds]));

/** The files of a group that are read, by name; null: not there. */
type ReadFile = (name: string) => string | null;

const KERNEL_PARTS = ['kernel_stack', 'pagetables', 'sec_pagetables', 'percpu', 'vmalloc', 'slab'] as const;

/** One reading of a v2 group, without the peak of the interval. */
export function readingOfV2(read: ReadFile, countDisks: CountDisks): CgroupReading {
  const memory = parseKeyed(read('memory.stat'));
  const cpu = parseKeyed(read('cpu.stat'));
  const events = parseKeyed(read('memory.events'));
  const io = countDisks(parseIoStat(read('io.stat')));
  const [memoryStall, cpuStall, ioStall] = ['memory', 'cpu', 'io'].map((name) =>
    stalledSeconds(read(`${name}.pressure`) ?? ''),
  );
  const file = memory.get('file');
  return {
    ...NOTHING_READ,
    memoryBytes: parseAmount(read('memory.current')),
    peakBytes: parseAmount(read('memory.peak')),
    anonBytes: memory.get('anon') ?? null,
    shmemBytes: memory.get('shmem') ?? null,
    fileBytes: file === undefined ? null : Math.max(0, file - (memory.get('shmem') ?? 0)),
    // The sum of all kernel memory came with Linux 5.18.
    kernelBytes: memory.get('kernel') ?? sumOfKnown(KERNEL_PARTS.map((part) => memory.get(part))),
    swapBytes: parseAmount(read('memory.swap.current')),
    swapCachedBytes: memory.get('swapcached') ?? null,
    swapPeakBytes: parseAmount(read('memory.swap.peak')),
    memoryLimitBytes: parseAmount(read('memory.max')),
    swapLimitBytes: parseAmount(read('memory.swap.max')),
    cpuUsageSeconds: scaled(cpu.get('usage_usec'), 1e6),
    userSeconds: scaled(cpu.get('user_usec'), 1e6),
    systemSeconds: scaled(cpu.get('system_usec'), 1e6),
    throttledSeconds: scaled(cpu.get('throttled_usec'), 1e6),
    ioReadBytes: sumOfKnown(io.map((device) => device.read)),
    ioWriteBytes: sumOfKnown(io.map((device) => device.written)),
    tasks: parseAmount(read('pids.current')),
    tasksPeak: parseAmount(read('pids.peak')),
    oomKills: events.get('oom_kill') ?? null,
    oomEvents: events.get('oom') ?? null,
    highEvents: events.get('high') ?? null,
    maxEvents: events.get('max') ?? null,
    refaults: sumOfKnown(REFAULTS.map((name) => memory.get(name))),
    memoryStalledSeconds: memoryStall?.get('some') ?? null,
    memoryFullyStalledSeconds: memoryStall?.get('full') ?? null,
    cpuStalledSeconds: cpuStall?.get('some') ?? null,
    ioStalledSeconds: ioStall?.get('some') ?? null,
    ioFullyStalledSeconds: ioStall?.get('full') ?? null,
  };
}

/** A peak that can be reset. */
export interface ResettablePeak {
  /** The peak since the last `reset`, in bytes; null when it can no longer be read. */
  readonly read: () => number | null;
  readonly reset: () => boolean;
  readonly close: () => void;
}

/** f_type of statfs(2) on a cgroup2 mount. */
const CGROUP2_MAGIC = 0x63677270;

/**
 * `memory.peak` through a descriptor of its own. From Linux 6.12 on, writing anything to it makes that descriptor, and
 * no other reader's, show the peak since then; before, the write fails: null. (Another descriptor's reset shortens our
 * interval all the same: the kernel keeps one mark for all of them. The lifetime's peak is never touched.)
 */
export function openPeak(path: string): ResettablePeak | null {
  let fd: number;
  try {
    // A write to anything but the kernel's own file would only spoil it.
    if (statfsSync(path).type !== CGROUP2_MAGIC) return null;
    fd = openSync(path, constants.O_RDWR);
  } catch {
    return null;
  }
  const buffer = Buffer.alloc(32);
  const peak: ResettablePeak = {
    read: () => {
      try {
        return parseAmount(buffer.toString('latin1', 0, readSync(fd, buffer, 0, buffer.length, 0)));
      } catch {
        return null;
      }
    },
    reset: () => {
      try {
        writeSync(fd, 'reset\n', 0);
        return true;
      } catch {
        return false;
      }
    },
    close: () => {
      closeSync(fd);
    },
  };
  if (peak.reset()) return peak;
  peak.close();
  return null;
}

/**
 * Makes a function that returns the peak since its last call. `lifetime` reads the peak of the group's whole life; it
 * is read after the reset, so that a peak between reading and reset is not missed when it was the highest of all.
 */
export function intervalPeaks(peak: ResettablePeak, lifetime: () => number | null): () => number | null {
  let before = lifetime();
  return () => {
    const seen = peak.read();
    if (!peak.reset()) return null;
    const highest = lifetime();
    const missed = highest !== null && before !== null && highest > before ? highest : 0;
    before = highest ?? before;
    return seen === null ? null : Math.max(seen, missed);
  };
}

interface OpenV2 {
  readonly read: () => CgroupReading;
  readonly close: () => void;
}

/** Opens a v2 group's directory; a file that is missing makes its figures null. */
export function openV2(directory: string, countDisks: CountDisks): OpenV2 {
  const read: ReadFile = (name) => readText(join(directory, name));
  const peak = openPeak(join(directory, 'memory.peak'));
  const interval = peak === null ? () => null : intervalPeaks(peak, () => parseAmount(read('memory.peak')));
  return {
    read: () => ({ ...readingOfV2(read, countDisks), intervalPeakBytes: interval() }),
    close: () => peak?.close(),
  };
}
