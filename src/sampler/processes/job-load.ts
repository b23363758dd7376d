import type { Database } from 'better-sqlite3';
import { KIB } from '../../base/units';
import { TICKS_PER_SECOND } from '../../sources/proc/clock';
import { unpackVarints } from '../series/varints';

/** What a job, or one of its processes, used in a span of time. */
export interface Load {
  /** CPU time used in that span, in seconds. */
  readonly cpu_seconds: number;
  /** How long it existed in that span, up to its last sample, in seconds. */
  readonly seconds: number;
  /** Largest resident memory seen. */
  readonly max_rss_bytes: number;
}

interface JobLoad extends Load {
  readonly run: string;
  /** The job's record so far, as JSON. */
  readonly record: string;
}

interface ProcessLoad extends Load {
  readonly run: string;
  readonly pid: number;
  readonly command: string;
}

export interface Loads {
  /** Those that used most CPU time first. */
  readonly jobs: readonly JobLoad[];
  /** Of the largest processes of each sample, those that used most CPU time first. */
  readonly processes: readonly ProcessLoad[];
}

interface StoredProcess {
  readonly id: number;
  readonly pid: number;
  /** Clock ticks after boot. */
  readonly start: number;
  readonly command: string;
}

interface Seen {
  firstMs: number;
  lastMs: number;
  firstCpu: number;
  lastCpu: number;
  rss: number;
}

/** `before`: when it began, if that was in the span (else null): then its CPU time before it was first seen counts. */
function see(seen: Seen | undefined, atMs: number, cpu: number, rss: number, before: number | null): Seen {
  if (seen === undefined)
    return {
      firstMs: Math.min(before ?? atMs, atMs),
      lastMs: atMs,
      firstCpu: before === null ? cpu : 0,
      lastCpu: cpu,
      rss,
    };
  seen.lastMs = Math.max(seen.lastMs, atMs);
  seen.lastCpu = Math.max(seen.lastCpu, cpu);
  seen.rss = Math.max(seen.rss, rss);
  return seen;
}

const toLoad = ({ firstMs, lastMs, firstCpu, lastCpu, rss }: Seen): Load => ({
  cpu_seconds: (lastCpu - firstCpu) / 1000,
  seconds: (lastMs - firstMs) / 1000,
  max_rss_bytes: rss * KIB,
});

const mostCpu = (a: Load, b: Load): number => b.cpu_seconds - a.cpu_seconds || b.max_rss_bytes - a.max_rss_bytes;

/** Loads of all jobs with samples from `fromMs` to `toMs` (ms since the epoch), out of the samples of node.db. */
export function readLoads(database: Database, fromMs: number, toMs: number): Loads {
  const jobs = database.prepare<[number, number], { id: number; run: string; started: number; record: string }>(
    'SELECT id, run, started, record FROM job WHERE changed >= ? AND started <= ?',
  );
  const samples = database.prepare<[number, number, number], { at: number; rss: number; cpu: number; largest: Buffer }>(
    'SELECT at, rss, cpu, largest FROM sample WHERE job = ? AND at BETWEEN ? AND ? ORDER BY at',
  );
  const ofJob = database.prepare<[number], StoredProcess>('SELECT id, pid, start, command FROM process WHERE job = ?');
  const jobLoads: JobLoad[] = [];
  const processLoads: ProcessLoad[] = [];
  for (const { id, run, started, record } of jobs.all(fromMs, toMs)) {
    const inSpan = (ms: number): number | null => (ms >= fromMs ? ms : null);
    const known = new Map(ofJob.all(id).map((process) => [process.id, process]));
    // The job starts with its first process. Others may be among the largest only long after their start.
    const first = [...known.values()].reduce((least, { start }) => Math.min(least, start), Infinity);
    const startOf = (start: number): number => started + ((start - first) * 1000) / TICKS_PER_SECOND;
    let job: Seen | undefined;
    // By pid and start: the next program of a process continues its CPU time, and gives it a new name.
    const processes = new Map<string, { readonly process: StoredProcess; readonly seen: Seen }>();
    for (const { at, rss, cpu, largest } of samples.iterate(id, fromMs - started, toMs - started)) {
      job = see(job, started + at, cpu, rss, inSpan(started));
      const threes = unpackVarints(largest);
      for (let index = 0; index + 2 < threes.length; index += 3) {
        const [image = 0, processRss = 0, processCpu = 0] = threes.slice(index, index + 3);
        const process = known.get(image);
        // Id 0: all other processes together.
        if (process === undefined) continue;
        const name = `${process.pid} ${process.start}`;
        const before = processes.get(name)?.seen;
        const seen = see(before, started + at, processCpu, processRss, inSpan(startOf(process.start)));
        processes.set(name, { process, seen });
      }
    }
    if (job === undefined) continue;
    jobLoads.push({ run, record, ...toLoad(job) });
    for (const { process, seen } of processes.values())
      processLoads.push({ run, pid: process.pid, command: process.command, ...toLoad(seen) });
  }
  return { jobs: jobLoads.sort(mostCpu), processes: processLoads.sort(mostCpu) };
}
