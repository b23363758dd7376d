import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { sumOfKnown } from '../../base/known';
import { readText } from '../files';
import { TICKS_PER_SECOND } from '../proc/clock';
import { NOTHING_READ, REFAULTS, type CgroupReading } from './cgroup-reading';
import { parseAmount, parseKeyed, parseNanoseconds, scaled, type CountDisks, type DiskBytes } from './cgroup-text';

/**
 * Control groups, version 1: one tree for each controller (Documentation/admin-guide/cgroup-v1). Sub-groups are in the
 * `total_` lines of memory.stat, in cpuacct and in the `_recursive` files of blkio; counters of memory cover them where
 * memory.use_hierarchy is 1.
 */
export interface V1Directories {
  readonly memory: string | null;
  readonly cpuacct: string | null;
  readonly cpu: string | null;
  readonly blkio: string | null;
  readonly pids: string | null;
}

/** Bytes by device of a blkio file: lines "8:0 Read 4096". */
export function parseBlkio(text: string | null): ReadonlyMap<string, DiskBytes> {
  const devices = new Map<string, DiskBytes>();
  for (const line of text?.split('\n') ?? []) {
    const [, device, operation, amount] = /^(\d+:\d+) (Read|Write) (\d+)$/.exec(line) ?? [];
    const value = parseAmount(amount ?? null);
    if (device === undefined || value === null) continue;
    const known = devices.get(device) ?? { read: 0, written: 0 };
    devices.set(device, operation === 'Read' ? { ...known, read: value } : { ...known, written: value });
  }
  return devices;
}

/** The file that covers most comes first; the last two exist only with the schedulers bfq and cfq. */
const BLKIO_FILES = [
  'blkio.throttle.io_service_bytes_recursive',
  'blkio.throttle.io_service_bytes',
  'blkio.bfq.io_service_bytes_recursive',
  'blkio.io_service_bytes_recursive',
] as const;

/** The text of a file of one controller's group; null: not there. */
type ReadControllerFile = (controller: keyof V1Directories, name: string) => string | null;

/**
 * One reading of a v1 group. `oomKills`: of the group and its sub-groups, which the group's own file does not cover.
 */
export function readingOfV1(read: ReadControllerFile, countDisks: CountDisks, oomKills: number | null): CgroupReading {
  const memory = parseKeyed(read('memory', 'memory.stat'));
  const amount = (name: string): number | null => parseAmount(read('memory', name));
  const time = parseKeyed(read('cpuacct', 'cpuacct.stat'));
  const io = BLKIO_FILES.map((name) => parseBlkio(read('blkio', name))).find((devices) => devices.size > 0);
  const disks = countDisks(io ?? new Map());
  const cache = memory.get('total_cache');
  const memoryLimit = memory.get('hierarchical_memory_limit') ?? null;
  const bothLimit = memory.get('hierarchical_memsw_limit') ?? null;
  return {
    ...NOTHING_READ,
    memoryBytes: amount('memory.usage_in_bytes'),
    peakBytes: amount('memory.max_usage_in_bytes'),
    // "rss" is anonymous memory here, without shared memory.
    anonBytes: memory.get('total_rss') ?? null,
    shmemBytes: memory.get('total_shmem') ?? null,
    fileBytes: cache === undefined ? null : Math.max(0, cache - (memory.get('total_shmem') ?? 0)),
    kernelBytes: amount('memory.kmem.usage_in_bytes'),
    swapBytes: memory.get('total_swap') ?? null,
    swapCachedBytes: memory.get('total_swapcached') ?? null,
    memorySwapPeakBytes: amount('memory.memsw.max_usage_in_bytes'),
    memoryLimitBytes: memoryLimit,
    swapLimitBytes: memoryLimit === null || bothLimit === null ? null : Math.max(0, bothLimit - memoryLimit),
    cpuUsageSeconds: parseNanoseconds(read('cpuacct', 'cpuacct.usage')),
    userSeconds: scaled(time.get('user'), TICKS_PER_SECOND),
    systemSeconds: scaled(time.get('system'), TICKS_PER_SECOND),
    throttledSeconds: parseNanoseconds(/^throttled_time (\d+)$/m.exec(read('cpu', 'cpu.stat') ?? '')?.[1]),
    ioReadBytes: sumOfKnown(disks.map((disk) => disk.read)),
    ioWriteBytes: sumOfKnown(disks.map((disk) => disk.written)),
    tasks: parseAmount(read('pids', 'pids.current')),
    tasksPeak: parseAmount(read('pids', 'pids.peak')),
    oomKills,
    maxEvents: amount('memory.failcnt'),
    refaults: sumOfKnown(REFAULTS.map((name) => memory.get(`total_${name}`))),
  };
}

/** A job's group has few sub-groups; a larger tree is somebody's mischief. */
const MOST_GROUPS = 64;

/** The directory and those below it. */
function groupsBelow(directory: string): readonly string[] {
  const found = [directory];
  for (let at = 0; at < found.length && found.length < MOST_GROUPS; at++) {
    const group = found[at] as string;
    try {
      // A directory has two links, and one for each sub-group: mostly there is nothing to list.
      if (statSync(group).nlink === 2) continue;
      for (const entry of readdirSync(group, { withFileTypes: true }))
        if (entry.isDirectory()) found.push(join(group, entry.name));
    } catch {
      // Gone meanwhile.
    }
  }
  return found;
}

/** `oom_kill` of memory.oom_control (Linux 4.13), summed over the groups; null where the kernel does not have it. */
function oomKillsBelow(directory: string): number | null {
  return sumOfKnown(
    groupsBelow(directory).map((group) => parseKeyed(readText(join(group, 'memory.oom_control'))).get('oom_kill')),
  );
}

/** A function that reads a v1 group; a controller or file that is missing makes its figures null. */
export function openV1(directories: V1Directories, countDisks: CountDisks): () => CgroupReading {
  const read: ReadControllerFile = (controller, name) => {
    const directory = directories[controller];
    return directory === null ? null : readText(join(directory, name));
  };
  return () => readingOfV1(read, countDisks, directories.memory === null ? null : oomKillsBelow(directories.memory));
}

/** Whether counters of memory (usage, peak) cover the groups below; true where there are none below. */
export function coversSubgroups(memoryDirectory: string): boolean {
  if (parseAmount(readText(join(memoryDirectory, 'memory.use_hierarchy'))) !== 0) return true;
  return groupsBelow(memoryDirectory).length === 1;
}
