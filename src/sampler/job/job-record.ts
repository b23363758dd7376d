import { MIB } from '../../base/units';
import { SWAP_PEAK } from '../../sources/job/processes';
import { TICKS_PER_SECOND } from '../../sources/proc/clock';
import type { SpoolUsage } from '../../gridengine/spool-usage';
import type { FootprintEnds } from '../peaks/footprint-ends';
import type { JobDescription } from './job-description';
import type { Observation } from './observation';
import { lineageMetrics } from '../processes/lineage';
import { bracket, observeMaxRss, openEnd, type Quantity } from '../peaks/peaks';
import {
  emptyRecord,
  type Bracket,
  type JobRecord,
  type RecordKey,
  type RecordStatus,
  type SamplerCost,
  type Trust,
} from '../../record/record';
import { clipNotes } from '../../record/clip';
import { RECORD_LIMITS, type MemorySeries } from '../../record/fields';
import { filled, filledSoFar, othersOf } from '../series/series';
import { markSlackBytes, type CounterPrecision } from '../peaks/slack';
import { upperEnds } from '../peaks/upper-end-of-record';

/** All that goes into a record. Times in ms since the epoch, by the job's clock except `nowMs`. */
export interface RecordParts {
  readonly key: RecordKey;
  readonly description: JobDescription;
  readonly observation: Observation;
  readonly usage: SpoolUsage | null;
  readonly status: RecordStatus;
  readonly trust: Trust;
  readonly cost: SamplerCost | null;
  readonly intervalSeconds: number;
  readonly notes: readonly string[];
  readonly nowMs: number;
  /** By how many ms the host's clock was set ahead (below 0: back) while the job ran. */
  readonly setByMs: number;
  /** A more precise end than the whole seconds of `usage`; null: unknown. */
  readonly endedMs: number | null;
  /** How exact this machine's counters are. */
  readonly precision: CounterPrecision;
  /** Hard limit on the address space of each of the job's processes, in bytes; Infinity: none that holds. */
  readonly addressSpaceLimit: number;
  /** The node never had room to swap anything out while the job ran. */
  readonly noSwap: boolean;
  /** From the job's own cgroup; null: it has none. */
  readonly footprint: FootprintEnds | null;
  /** Metrics of the whole job, from the other sources. */
  readonly metrics: Readonly<Record<string, number>>;
}

const iso = (ms: number | null): string | null => (ms === null ? null : new Date(Math.round(ms)).toISOString());
const seconds = (ms: number): number => Math.round(ms) / 1000;

/** `ru_maxrss` covers the shepherd's small image from before the exec, too; below this it says nothing of the job. */
const SHEPHERD_IMAGE = 16 * MIB;

interface Times {
  readonly startMs: number | null;
  /** null: it runs. */
  readonly endMs: number | null;
  readonly wallclockSeconds: number | null;
}

function timesOf({ observation, usage, status, endedMs, nowMs, setByMs }: RecordParts): Times {
  const endMs = status === 'running' ? null : (endedMs ?? usage?.endTimeMs ?? observation.lastSampleMs ?? null);
  const untilMs = status === 'running' ? nowMs - setByMs : endMs;
  const { startMs: seenMs } = observation;
  // Only a start that was seen is better than the whole seconds of `usage`.
  const wallclockSeconds =
    seenMs === null || untilMs === null ? (usage?.wallclockSeconds ?? null) : seconds(Math.max(0, untilMs - seenMs));
  return { startMs: seenMs ?? usage?.startTimeMs ?? null, endMs, wallclockSeconds };
}

/** Notes in the observation's peaks what they may lack. */
function completePeaks({ observation, usage, status, precision, nowMs }: RecordParts): void {
  const { peaks, samples, startMs, firstSampleMs } = observation;
  // The job's first process is a child of the shepherd, so `ru_maxrss` covers the job and nothing else.
  if (usage?.maxrssBytes && usage.maxrssBytes > SHEPHERD_IMAGE)
    observeMaxRss(peaks, usage.maxrssBytes, markSlackBytes(precision, observation.maxThreads));
  if (samples === 0) openEnd(peaks, 'no-samples');
  if (status !== 'running') openEnd(peaks, 'end-gap');
  if (startMs !== null && (firstSampleMs ?? nowMs) > startMs) openEnd(peaks, 'start-gap');
  if (status === 'lost') openEnd(peaks, 'sampler-lost');
}

/** `seen`: any process was sampled, or is known from its exit record. */
function cpuSeconds({ observation, usage }: RecordParts, seen: boolean): number | null {
  const sampled = seen ? observation.sums.cpu / TICKS_PER_SECOND : null;
  const user = usage?.userSeconds ?? null;
  const cpu = user === null ? sampled : Math.max(user + (usage?.systemSeconds ?? 0), sampled ?? 0);
  return cpu === null ? null : Math.round(cpu * 1000) / 1000;
}

/** The record of one job on one host. Pure, except that it notes `ru_maxrss` and gaps in the observation's peaks. */
export function buildRecord(parts: RecordParts): JobRecord {
  const { key, description, observation, usage, footprint } = parts;
  const { lineage } = observation;
  const times = timesOf(parts);
  completePeaks(parts);
  const sampled = observation.samples > 0;
  const seen = sampled || (lineage?.totals.processes ?? 0) > 0;
  const allEndedKnown = lineage !== null && lineage.totals.ended > 0 && lineage.totals.whole;
  const upper = upperEnds(parts, observation);
  const peakOf = (quantity: Quantity): Bracket | null => bracket(observation.peaks, quantity, upper[quantity]);
  return {
    ...emptyRecord(key, parts.status, parts.trust, parts.nowMs),
    ...description.fields,
    // Known from the spool directory's name, even if `config` could not be used.
    pe_task_id: key.pe_task_id,
    started_at: iso(times.startMs),
    ended_at: iso(times.endMs === null ? null : times.endMs + parts.setByMs),
    exit_status: usage?.exitStatus ?? null,
    signal: usage?.signal ?? null,
    peak_rss: peakOf('rss'),
    peak_rss_swap: peakOf('rssSwap'),
    peak_vmem: peakOf('vmem'),
    peak_process_vmem: peakOf('processVmem'),
    peak_footprint: footprint === null ? peakOf('footprint') : ofGroup(footprint),
    wallclock_seconds: times.wallclockSeconds,
    cpu_seconds: cpuSeconds(parts, seen),
    ...(sampled ? sampledFields(observation, parts) : {}),
    ...((sampled && !observation.ioLost) || allEndedKnown ? transfers(observation) : {}),
    processes: seen ? Math.max(observation.counts.seen, lineage?.totals.processes ?? 0) : null,
    metrics: {
      ...parts.metrics,
      ...swapMetrics(observation),
      ...(lineage === null ? {} : lineageMetrics(lineage.totals)),
    },
    interval_seconds: sampled ? parts.intervalSeconds : null,
    sampler: parts.cost,
    notes: clipNotes([...description.notes, ...clockNotes(parts.setByMs), ...parts.notes]),
  };
}

function clockNotes(setByMs: number): readonly string[] {
  if (setByMs === 0) return [];
  const seconds = Math.round(Math.abs(setByMs) / 1000);
  // CLOCK_MONOTONIC stands still while a host is suspended.
  const what =
    setByMs > 0
      ? `The host's clock was set ahead by ${seconds} s, or the host was suspended so long,`
      : `The host's clock was set back by ${seconds} s`;
  return [`${what} while the job ran: its times of day do not show how long it ran.`];
}

function swapMetrics({ series }: Observation): JobRecord['metrics'] {
  const peak = Math.max(0, ...(series.others.amounts.swap_bytes ?? []));
  return peak > 0 ? { [SWAP_PEAK.name]: peak } : {};
}

/** Memory is charged to a group, not to a process: nothing says which one is the largest. */
function ofGroup(ends: FootprintEnds): Bracket {
  const { lower_bytes, upper_bytes, slack_bytes, proved, exact, open, sources } = ends;
  return { lower_bytes, upper_bytes, slack_bytes, proved, exact, open, sources, at: iso(ends.at), command: null };
}

const asBytes = (sum: number): number => Math.min(sum, RECORD_LIMITS.bytes);

function transfers({ sums }: Observation): Partial<JobRecord> {
  return {
    read_bytes: asBytes(sums.readBytes),
    written_bytes: asBytes(sums.writtenBytes),
    read_chars: asBytes(sums.readChars),
    written_chars: asBytes(sums.writtenChars),
  };
}

/** A part of the I/O looks like little I/O. */
const withoutStorage = (others: MemorySeries['others']): MemorySeries['others'] =>
  Object.fromEntries(Object.entries(others).filter(([name]) => !name.endsWith('_bytes_per_second')));

function sampledFields(
  observation: Observation,
  { status, description }: Pick<RecordParts, 'status' | 'description'>,
): Partial<JobRecord> {
  const { counts, series } = observation;
  const grouped = description.group !== null;
  return {
    max_processes: observation.maxProcesses,
    max_threads: observation.maxThreads,
    claimed_by_tree_only: grouped ? counts.treeOnly : null,
    claimed_by_group_only: grouped ? counts.groupOnly : null,
    samples: observation.samples,
    longest_gap_seconds: seconds(observation.longestGapMs),
    unobserved_start_seconds:
      observation.startMs === null || observation.firstSampleMs === null
        ? null
        : seconds(Math.max(0, observation.firstSampleMs - observation.startMs)),
    rss_byte_seconds: Math.round(observation.rssByteMs / 1000),
    suspended_seconds: seconds(observation.suspendedMs),
    series: {
      start: new Date(Math.round(series.startMs)).toISOString(),
      step_seconds: series.stepMs / 1000,
      rss_bytes: status === 'running' ? filledSoFar(series) : filled(series),
      others: observation.ioLost ? withoutStorage(othersOf(series)) : othersOf(series),
    },
  };
}
