import { closeSync, constants, fstatSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { codeOf } from '../../base/error-code';
import { number, object, type ValueOf } from '../../base/shape';
import { TICKS_PER_SECOND } from '../../sources/proc/clock';
import type { TickReadings } from '../processes/tick';
import type { Observation } from '../job/observation';

/** FIFO in the run directory, made by the process that started the sampler: it gets each sample as a line of JSON. */
export const STREAM = 'stream';

/** One sample of a job as it goes through the stream. Memory and I/O in bytes, I/O and CPU time since its start. */
export const streamedSample = object({
  /** ms since the epoch. */
  at: number(),
  /** When the job's first process started; ms since the epoch. */
  started: number(),
  cpu_seconds: number(),
  rss: number(),
  vmem: number(),
  swap: number(),
  processes: number(),
  threads: number(),
  read_bytes: number(),
  written_bytes: number(),
  read_chars: number(),
  written_chars: number(),
});
export type StreamedSample = ValueOf<typeof streamedSample>;

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
 * Writes samples to the FIFO of this run, if there is one. Never waits and never throws: samples that find no room (64
 * KiB, enough for minutes) are left out, and when the reader has gone nothing more is written.
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
      if (codeOf(error) === 'EAGAIN') return;
      closeSync(fd);
      fd = null;
    }
  };
}
