import { closeSync, constants, fstatSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { TICKS_PER_SECOND } from '../../sources/proc/clock';
import type { TickReadings } from '../processes/tick';
import type { Observation } from '../job/job-sampler';

/** A FIFO of this name in the run directory, made by who started the sampler, gets each sample as a line of JSON. */
export const STREAM = 'stream';

/** One sample of a job as it goes through the stream. Memory and I/O in bytes, I/O and CPU time since its start. */
export interface StreamedSample {
  /** ms since the epoch. */
  readonly at: number;
  /** When the job's first process started; ms since the epoch. */
  readonly started: number;
  readonly cpu_seconds: number;
  readonly rss: number;
  readonly vmem: number;
  readonly swap: number;
  readonly processes: number;
  readonly threads: number;
  readonly read_bytes: number;
  readonly written_bytes: number;
  readonly read_chars: number;
  readonly written_chars: number;
}

type SampleStream = (readings: TickReadings, observation: () => Observation) => void;

const toLine = (readings: TickReadings, { sums, startMs }: Observation): string =>
  `${JSON.stringify({
    at: readings.atMs,
    started: Math.round(startMs ?? readings.atMs),
    cpu_seconds: sums.cpu / TICKS_PER_SECOND,
    rss: readings.rss,
    vmem: readings.vmem,
    swap: readings.swap,
    processes: readings.counters.size,
    threads: readings.threads,
    read_bytes: sums.readBytes,
    written_bytes: sums.writtenBytes,
    read_chars: sums.readChars,
    written_chars: sums.writtenChars,
  } satisfies StreamedSample)}\n`;

/**
 * Writes samples to whoever listens to this run; to nobody, where there is no FIFO. Never waits and never throws: what
 * finds no room (64 KiB: minutes) is left out, and a listener that has gone ends it.
 */
export function openSampleStream(directory: string | null): SampleStream {
  let fd: number | null = null;
  try {
    if (directory !== null) fd = openSync(join(directory, STREAM), constants.O_WRONLY | constants.O_NONBLOCK);
    if (fd !== null && !fstatSync(fd).isFIFO()) throw new Error('not a FIFO');
  } catch {
    if (fd !== null) closeSync(fd);
    fd = null;
  }
  return (readings, observation) => {
    if (fd === null) return;
    const seen = observation();
    if (seen.samples === 0) return;
    try {
      writeSync(fd, toLine(readings, seen));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return;
      closeSync(fd);
      fd = null;
    }
  };
}
