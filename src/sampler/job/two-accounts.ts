import { larger, sumOfKnown } from '../../base/known';
import { clipNotes } from '../../record/clip';
import { isExact } from '../../record/peak-figure';
import type { Bracket, JobRecord } from '../../record/record';
import type * as CgroupReading from '../../sources/job/cgroup-reading';
import type * as JobFacts from '../figures/job-facts';

/**
 * Joins two accounts of one job on one host that each saw a part: that of a sampler that died, and that of its
 * successor or of whatever handled the job's end. Totals never fall, peaks take the higher lower bound, and upper
 * bounds are open, except those that the job's control group gives.
 */

const PEAKS = ['peak_rss', 'peak_rss_swap', 'peak_vmem', 'peak_process_vmem', 'peak_footprint'] as const;
type Peaks = Pick<JobRecord, (typeof PEAKS)[number]>;

/** A peak by the job's control group, where the kernel counted throughout the job; null: `later` has none. */
function countedThroughout(earlier: Bracket, later: Bracket): Bracket | null {
  const { proved, open } = later;
  if (later.upper_bytes === null || !later.sources.includes('cgroup')) return null;
  const best = earlier.lower_bytes >= later.lower_bytes ? earlier : later;
  const upper = Math.max(best.lower_bytes, later.upper_bytes);
  return {
    ...best,
    upper_bytes: upper,
    slack_bytes: Math.max(earlier.slack_bytes, later.slack_bytes),
    proved,
    exact: isExact(proved, best.lower_bytes, upper),
    open,
    sources: [...new Set([...earlier.sources, ...later.sources])],
  };
}

/**
 * Peaks with the higher lower bounds; upper bounds are open, as nobody saw what happened between the two accounts.
 * `sampled`: both were made from samples, and the reasons why either upper bound was open are kept.
 */
function higherPeaks(earlier: JobRecord, later: JobRecord, sampled: boolean): Partial<Peaks> {
  const peaks: { -readonly [Name in keyof Peaks]?: Bracket | null } = {};
  for (const name of PEAKS) {
    const [a, b] = [earlier[name], later[name]];
    const best = a === null ? b : b === null || a.lower_bytes >= b.lower_bytes ? a : b;
    if (best === null) peaks[name] = null;
    else {
      const reasons = sampled ? [...(a?.open ?? []), ...(b?.open ?? [])] : best.open;
      const open = [...new Set([...reasons, 'sampler-lost' as const])].sort();
      const throughout = b === null ? null : countedThroughout(a ?? b, b);
      peaks[name] = throughout ?? { ...best, upper_bytes: null, proved: false, exact: false, open };
    }
  }
  return peaks;
}

/** The fields to which both accounts contribute. */
function joined(earlier: JobRecord, later: JobRecord, sampled: boolean): Partial<JobRecord> {
  const { OF_THE_JOB } = require('../../sources/job/cgroup-reading') as typeof CgroupReading;
  return {
    started_at: earlier.started_at ?? later.started_at,
    ...higherPeaks(earlier, later, sampled),
    cpu_seconds: larger(earlier.cpu_seconds, later.cpu_seconds),
    processes: larger(earlier.processes, later.processes),
    max_processes: larger(earlier.max_processes, later.max_processes),
    max_threads: larger(earlier.max_threads, later.max_threads),
    read_bytes: larger(earlier.read_bytes, later.read_bytes),
    written_bytes: larger(earlier.written_bytes, later.written_bytes),
    read_chars: larger(earlier.read_chars, later.read_chars),
    written_chars: larger(earlier.written_chars, later.written_chars),
    samples: later.samples === null ? earlier.samples : later.samples + (earlier.samples ?? 0),
    rss_byte_seconds: sumOfKnown([earlier.rss_byte_seconds, later.rss_byte_seconds]),
    suspended_seconds: sumOfKnown([earlier.suspended_seconds, later.suspended_seconds]),
    metrics: withEarlierMetrics(later.metrics, earlier.metrics, OF_THE_JOB),
    notes: clipNotes([...new Set([...earlier.notes, ...later.notes])]),
  };
}

/** Joins the record of a sampler that began anew in the middle of the job and what its predecessor had saved. */
export function afterRestart(record: JobRecord, earlier: JobRecord): JobRecord {
  // Figures of root's sampler keep its trust, whether or not its successor saw anything.
  const trust = earlier.trust === 'root' ? earlier.trust : record.trust;
  const both = { ...record, ...joined(earlier, record, true), trust };
  const note =
    'An earlier sampler of this job died: its peaks and totals are among these, what happened in between is not.';
  return { ...both, notes: clipNotes([...new Set([note, ...both.notes])]) };
}

/**
 * Joins what a sampler that died had saved and what only the job's end shows: `end` comes from the epilog's copies. Where
 * nobody saw the end, the account is as old as what it knows: a state directory that was restored from a backup has runs
 * whose real end was delivered since.
 */
export function withEnd(saved: JobRecord, end: JobRecord): JobRecord {
  return {
    ...saved,
    ...joined(saved, end, false),
    status: end.status === 'unsampled' ? 'finished' : end.status,
    ended_at: end.ended_at ?? saved.ended_at,
    exit_status: end.exit_status,
    signal: end.signal,
    wallclock_seconds: end.wallclock_seconds ?? saved.wallclock_seconds,
    revision: end.status === 'lost' ? saved.revision : end.revision,
  };
}

type Metrics = JobRecord['metrics'];

/** How metrics of two accounts are combined. */
interface MetricKinds {
  /** Names of the metrics that add up. */
  readonly counters: ReadonlySet<string>;
  /** By the name of a mean, the metric that weights it. */
  readonly means: Readonly<Record<string, string>>;
}

let kinds: MetricKinds | null = null;

/** Loaded when needed: the list of all metrics is large, and few samplers have a predecessor. */
function metricKinds(): MetricKinds {
  const { ALL_FACTS, WEIGHED_BY } = require('../figures/job-facts') as typeof JobFacts;
  const counters = ALL_FACTS.flatMap(({ metrics }) =>
    metrics.filter(({ kind }) => kind === 'counter').map(({ name }) => name),
  );
  kinds ??= { counters: new Set(counters), means: WEIGHED_BY };
  return kinds;
}

const own = <T>(values: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(values, name) ? values[name] : undefined;

/** Mean of both values, weighted by the metric `weight`; the later value if neither has any weight. */
function meanOf(name: string, weight: string, metrics: Metrics, earlier: Metrics): number {
  const [now, before] = [own(metrics, weight) ?? 0, own(earlier, weight) ?? 0];
  const [a, b] = [own(metrics, name) ?? 0, own(earlier, name) ?? 0];
  return now + before > 0 ? (a * now + b * before) / (now + before) : a;
}

/**
 * Metrics of a job that two processes watched one after the other: counters add up, means are weighted, of peaks the
 * higher one stands; those in `absolute` are the kernel's own totals, of which the later one holds.
 */
export function withEarlierMetrics(metrics: Metrics, earlier: Metrics, absolute: ReadonlySet<string>): Metrics {
  const names = new Set([...Object.keys(earlier), ...Object.keys(metrics)]);
  return Object.fromEntries(
    [...names].map((name): [string, number] => {
      const before = own(earlier, name);
      const now = own(metrics, name);
      if (before === undefined || now === undefined || absolute.has(name)) return [name, now ?? before ?? 0];
      const { counters, means } = metricKinds();
      if (counters.has(name)) return [name, before + now];
      const weight = own(means, name);
      return [name, weight === undefined ? Math.max(before, now) : meanOf(name, weight, metrics, earlier)];
    }),
  );
}
