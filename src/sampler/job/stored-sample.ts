import { KIB } from '../../base/units';
import { TICKS_PER_SECOND } from '../../sources/proc/clock';
import type { StoredSample } from '../node-store/sample-table';
import type { TickReadings } from '../processes/tick';
import type { Observation } from './observation';

const kib = (bytes: number): number => Math.round(bytes / KIB);
const ticksToMs = (ticks: number): number => Math.round((ticks * 1000) / TICKS_PER_SECOND);

/** One tick as node.db keeps it, with the `largestKept` largest processes; `startMs`: the job's start. */
export function toStored(
  readings: TickReadings,
  { sums, ioLost, startMs }: Pick<Observation, 'sums' | 'ioLost' | 'startMs'>,
  largestKept: number,
): StoredSample {
  const ordered = [...readings.processes].sort((a, b) => b.rss - a.rss);
  const others = ordered.slice(largestKept);
  return {
    at: Math.max(0, Math.round(readings.atMs - (startMs ?? readings.atMs))),
    rss: kib(readings.rss),
    vmem: kib(readings.vmem),
    swap: kib(readings.swap),
    anonymous: kib(readings.anonymous),
    cpu: ticksToMs(sums.cpu),
    processes: readings.counters.size,
    threads: readings.threads,
    read: ioLost ? null : kib(sums.readBytes),
    written: ioLost ? null : kib(sums.writtenBytes),
    largest: ordered.slice(0, largestKept).map((process) => ({
      pid: process.pid,
      start: Number(process.id.slice(process.id.indexOf('.') + 1)),
      command: process.command,
      rss: kib(process.rss),
      cpu: ticksToMs(process.cpuTicks),
    })),
    othersRss: kib(others.reduce((sum, process) => sum + process.rss, 0)),
    othersCpu: ticksToMs(others.reduce((sum, process) => sum + process.cpuTicks, 0)),
  };
}
