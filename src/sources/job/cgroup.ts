import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { listNames, whyUnreadable } from '../files';
import { unavailable, USUAL, type Place, type SourceFacts, type Unavailable } from '../source';
import { CGROUP_METRICS, type CgroupReading } from './cgroup-reading';
import type { CountDisks, DiskBytes } from './cgroup-text';
import { coversSubgroups, openV1, type V1Directories } from './cgroup-v1';
import { openV2 } from './cgroup-v2';

/** Where one control group lies: one directory in version 2, one for each controller in version 1. */
export type CgroupDirectories =
  { readonly version: 2; readonly directory: string } | ({ readonly version: 1 } & V1Directories);

export interface OpenCgroup {
  readonly version: 1 | 2;
  /** Values of this moment; Unavailable when the group has been removed. Never throws. */
  readonly read: () => CgroupReading | Unavailable;
  /** Peaks cover the groups below this one. */
  readonly coversSubgroups: () => boolean;
  readonly close: () => void;
}

/** How this source is listed; it is read for one job's group, not for the node. */
export const cgroupFacts: SourceFacts = {
  ...USUAL,
  name: 'cgroup',
  reads: [
    'v2: memory.{current,peak,stat,events,pressure,max}, memory.swap.{current,peak,max}, cpu.stat, io.stat, pids.peak',
    'v1: memory.{usage_in_bytes,max_usage_in_bytes,stat,oom_control}, memory.memsw.*, cpuacct.*, blkio.throttle.*',
  ],
  metrics: CGROUP_METRICS,
  interval: 1,
};

const MAJOR_OF_LOOP_DEVICES = '7:';

/**
 * Counts each disk with the most that it had: the kernel forgets what a removed one did. Disks made of other disks
 * (device mapper, md, loop) count the same bytes again, and are left out; looked up once per disk.
 */
function diskCounter(sys: string): CountDisks {
  const stacked = new Map<string, boolean>();
  const counted = new Map<string, DiskBytes>();
  return (now) => {
    for (const [device, { read, written }] of now) {
      const isStacked =
        stacked.get(device) ??
        (device.startsWith(MAJOR_OF_LOOP_DEVICES) || listNames(join(sys, 'dev', 'block', device, 'slaves')).length > 0);
      stacked.set(device, isStacked);
      const before = counted.get(device) ?? { read: 0, written: 0 };
      if (!isStacked)
        counted.set(device, { read: Math.max(before.read, read), written: Math.max(before.written, written) });
    }
    return [...counted.values()];
  };
}

/** Opens a job's group for reading. Unavailable when neither its memory nor its CPU time can be read. */
export function openCgroup(directories: CgroupDirectories, place: Pick<Place, 'sys'>): OpenCgroup | Unavailable {
  const countDisks = diskCounter(place.sys);
  const gone = (reading: CgroupReading): boolean => reading.memoryBytes === null && reading.cpuUsageSeconds === null;
  const untilGone = (read: () => CgroupReading, where: string) => (): CgroupReading | Unavailable => {
    const reading = read();
    return gone(reading) ? unavailable(`${where} is gone`) : reading;
  };
  if (directories.version === 2) {
    const { directory } = directories;
    if (!existsSync(join(directory, 'cgroup.procs'))) return whyUnreadable(join(directory, 'cgroup.procs'));
    const { read, close } = openV2(directory, countDisks);
    return { version: 2, read: untilGone(read, directory), coversSubgroups: () => true, close };
  }
  const { memory, cpuacct } = directories;
  const read = openV1(directories, countDisks);
  if (gone(read())) return unavailable(`nothing to read below ${memory ?? cpuacct ?? 'any v1 hierarchy'}`);
  return {
    version: 1,
    read: untilGone(read, memory ?? cpuacct ?? 'the group'),
    coversSubgroups: () => memory === null || coversSubgroups(memory),
    close: () => undefined,
  };
}
