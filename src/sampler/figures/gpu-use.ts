import { MIB } from '../../base/units';
import { larger, largestOfKnown, sumOfKnown } from '../../base/known';
import type { HeldGpu, HeldGpus } from '../../sources/job/held-gpus';
import { gpuLabel, type Gpu } from '../../sources/node/gpu';
import { metricsOf, type Metric, type Reading } from '../../sources/source';

const { gauge, counter } = metricsOf('gpu', 'job');
const HUNDREDTHS = { resolution: 100 };
const THOUSANDTHS = { resolution: 1000 };

const METRICS = {
  count: gauge('held', 'count', 'GPUs (or MIG instances) that the job held, by its environment or its processes.'),
  used: gauge('used', 'count', 'GPUs (or MIG instances) on which the job ever computed.'),
  heldTime: counter('held_time', 'seconds', 'GPU-seconds that the job held.', THOUSANDTHS),
  usedTime: counter('used_time', 'seconds', 'GPU-seconds in which the job computed.', THOUSANDTHS),
  idleTime: counter('idle', 'seconds', 'GPU-seconds held without a process or utilisation there.', THOUSANDTHS),
  mean: gauge(
    'utilization_mean',
    'percent',
    "The job's utilisation, mean over the GPU-seconds where it is known.",
    HUNDREDTHS,
  ),
  max: gauge(
    'utilization_max',
    'percent',
    "The job's highest utilisation of one GPU between two readings.",
    HUNDREDTHS,
  ),
  peak: gauge('memory_peak', 'bytes', "Most memory that the job's processes held on one GPU, a lower bound."),
  kept: gauge('memory_peak_kept', 'count', 'GPUs whose peak the driver kept (accounting mode); the rest is sampled.'),
  energy: counter(
    'energy',
    'joules',
    'GPU energy: all of it while the job was alone on a GPU, else its share by utilisation.',
    THOUSANDTHS,
  ),
} as const;

/** What a record says of a job's GPUs. */
export const GPU_JOB_METRICS: readonly Metric[] = Object.values(METRICS);

/** By the name of a mean, the metric that weights it. */
export const GPU_MEANS: Readonly<Record<string, string>> = { [METRICS.mean.name]: METRICS.heldTime.name };

/** One GPU over the life of a job. */
interface Use {
  readonly label: string;
  readonly heldSeconds: number;
  readonly usedSeconds: number;
  readonly idleSeconds: number;
  /** Held while nothing could be read of the GPU. */
  readonly silentSeconds: number;
  /** Integral of percent over `knownSeconds`. */
  readonly percentSeconds: number;
  readonly knownSeconds: number;
  readonly maxPercent: number | null;
  /** Some process of the job was on it at some time. */
  readonly opened: boolean;
  readonly sampledPeakBytes: number | null;
  readonly keptPeakBytes: number | null;
  readonly energyJoules: number | null;
  /** Counter at the last reading; null: none. */
  readonly energyCounter: number | null;
  readonly nowPercent: number | null;
  readonly nowBytes: number | null;
}

/** What has been seen of a job's GPUs so far; never changed in place. */
export interface GpuUse {
  readonly lastMs: number;
  readonly uses: ReadonlyMap<string, Use>;
  /** Engine time by process and engine, at the last observation. */
  readonly busy: ReadonlyMap<string, number>;
}

/** From this moment on (ms of a clock that never goes back) GPUs count as held. */
export const newGpuUse = (startMs: number): GpuUse => ({ lastMs: startMs, uses: new Map(), busy: new Map() });

interface GpuObservation {
  readonly atMs: number;
  /** All values of `nvidia`, `drm` and `drmprocess` of this moment, other jobs' processes included. */
  readonly readings: readonly Reading[];
  readonly held: HeldGpus;
  /** Every GPU of the host, for their labels. */
  readonly gpus: readonly Gpu[];
  /** Processes of the job; those that have ended since the last observation may still be among them. */
  readonly pids: ReadonlySet<number>;
}

/** A process on a GPU; null: not known. */
interface OnGpu {
  readonly percent: number | null;
  readonly bytes: number | null;
}

/** What is known of one GPU at one moment. */
interface Moment {
  readonly values: Map<string, number>;
  /** Processes on it, of every job. */
  readonly processes: Map<number, OnGpu>;
  readonly keptPeaks: Map<number, number>;
}

const BUSY = 'drmprocess_busy_seconds';
const isSound = ({ value }: Reading): boolean => Number.isFinite(value) && value >= 0;
const busyKey = ({ instance, pid }: Reading): string => `${pid ?? ''} ${instance}`;

/** Percent of the time since the last observation in which a process used an engine. */
function busyPercent(reading: Reading, before: ReadonlyMap<string, number>, seconds: number): number {
  const from = before.get(busyKey(reading)) ?? 0;
  const used = reading.value - (from > reading.value ? 0 : from);
  return seconds > 0 ? Math.min(100, (100 * used) / seconds) : 0;
}

function momentsOf(
  readings: readonly Reading[],
  busyBefore: ReadonlyMap<string, number>,
  seconds: number,
): ReadonlyMap<string, Moment> {
  const moments = new Map<string, Moment>();
  const of = (id: string): Moment => {
    const moment = moments.get(id) ?? { values: new Map(), processes: new Map(), keptPeaks: new Map() };
    moments.set(id, moment);
    return moment;
  };
  const add = (id: string, pid: number, percent: number | null, bytes: number | null): void => {
    const { processes } = of(id);
    const before = processes.get(pid) ?? { percent: null, bytes: null };
    processes.set(pid, { percent: larger(before.percent, percent), bytes: bytes ?? before.bytes });
  };
  for (const reading of readings) {
    const { metric: name, instance, value, pid } = reading;
    if (!isSound(reading)) continue;
    if (pid === undefined) {
      const [, what] = /^(?:nvidia|drm)_(\w+)$/.exec(name) ?? [];
      if (what !== undefined) of(instance).values.set(what, value);
    } else if (name === 'nvidia_process_peak_memory_bytes') of(instance).keptPeaks.set(pid, value);
    else if (name === 'nvidia_process_utilization_percent') add(instance, pid, value, null);
    else if (name === 'nvidia_process_memory_bytes' || name === 'drmprocess_memory_bytes')
      add(instance, pid, null, value);
    else if (name === BUSY) {
      const [gpu = ''] = instance.split('/');
      add(gpu, pid, busyPercent(reading, busyBefore, seconds), null);
    }
  }
  return moments;
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
const known = (values: readonly (number | null)[]): readonly number[] => values.filter((value) => value !== null);

interface Parts {
  readonly own: readonly OnGpu[];
  readonly others: readonly OnGpu[];
}

function partsOf(moment: Moment, pids: ReadonlySet<number>): Parts {
  const all = [...moment.processes];
  return {
    own: all.filter(([pid]) => pids.has(pid)).map(([, process]) => process),
    others: all.filter(([pid]) => !pids.has(pid)).map(([, process]) => process),
  };
}

/** A MIG instance with less memory in use is idle: the smallest CUDA context takes more. */
const RESTING_BYTES = 100 * MIB;

/** Utilisation of a whole GPU in percent; the driver gives none for a MIG instance, but an empty one is idle. */
function wholePercent({ values }: Moment, gpu: Gpu, { own, others }: Parts): number | null {
  const percent = values.get('utilization_percent');
  if (percent !== undefined) return Math.min(100, percent);
  const empty = own.length + others.length === 0 && (values.get('memory_used_bytes') ?? Infinity) < RESTING_BYTES;
  return gpu.parent !== null && empty ? 0 : null;
}

/** The job's utilisation in percent: the GPU's if no other job is on it, else its processes' sum; null: not known. */
function ownPercent(whole: number | null, { own, others }: Parts): number | null {
  const percents = known(own.map(({ percent }) => percent));
  const summed = percents.length === 0 ? null : Math.min(100, sum(percents));
  if (others.length > 0) return own.length === 0 ? 0 : summed;
  // A process that worked between two readings shows in its own samples, though the GPU rests at this moment.
  return larger(whole, summed);
}

/**
 * Share of the GPU's energy that is the job's: all where no other job is on it; else by the processes' utilisation;
 * where none of them is known or all rest, by their number.
 */
function energyShare({ own, others }: Parts): number {
  if (others.length === 0) return 1;
  const mine = sum(known(own.map(({ percent }) => percent)));
  const theirs = sum(known(others.map(({ percent }) => percent)));
  return mine + theirs > 0 ? mine / (mine + theirs) : own.length / (own.length + others.length);
}

const UNSEEN = { energyCounter: null, nowPercent: null, nowBytes: null } as const;

function emptyUse(gpu: Gpu, gpus: readonly Gpu[]): Use {
  return {
    label: gpuLabel(gpu, gpus),
    heldSeconds: 0,
    usedSeconds: 0,
    idleSeconds: 0,
    silentSeconds: 0,
    percentSeconds: 0,
    knownSeconds: 0,
    maxPercent: null,
    opened: false,
    sampledPeakBytes: null,
    keptPeakBytes: null,
    energyJoules: null,
    ...UNSEEN,
  };
}

/** Joules since the last reading, by the counter, else by the power of this moment; null: neither. */
function energySince(before: Use, moment: Moment, seconds: number): number | null {
  const counter = moment.values.get('energy_joules') ?? null;
  const power = moment.values.get('power_watts') ?? null;
  // A counter that fell has begun anew (driver loaded again).
  if (counter !== null && before.energyCounter !== null && counter >= before.energyCounter)
    return counter - before.energyCounter;
  return power === null ? null : power * seconds;
}

/** Adds `seconds` in which the GPU was held; all of them are taken to be like the moment at their end. */
function observeOne(
  before: Use,
  held: HeldGpu,
  moment: Moment | undefined,
  seconds: number,
  own: ReadonlySet<number>,
): Use {
  const use: Use = {
    ...before,
    heldSeconds: before.heldSeconds + seconds,
    opened: before.opened || held.pids.length > 0,
  };
  if (moment === undefined) return { ...use, silentSeconds: use.silentSeconds + seconds, ...UNSEEN };
  const parts = partsOf(moment, own);
  const percent = ownPercent(wholePercent(moment, held.gpu, parts), parts);
  const joules = energySince(before, moment, seconds);
  const heldBytes = sumOfKnown(parts.own.map((process) => process.bytes));
  const kept = [...moment.keptPeaks].filter(([pid]) => own.has(pid)).map(([, peak]) => peak);
  const present = parts.own.length > 0 || held.pids.length > 0 || kept.length > 0;
  const computing = percent !== null && percent > 0 && (present || parts.others.length === 0);
  return {
    ...use,
    usedSeconds: use.usedSeconds + (computing ? seconds : 0),
    idleSeconds: use.idleSeconds + (!present && percent === 0 ? seconds : 0),
    percentSeconds: use.percentSeconds + (percent ?? 0) * seconds,
    knownSeconds: use.knownSeconds + (percent === null ? 0 : seconds),
    maxPercent: larger(use.maxPercent, percent),
    opened: use.opened || present,
    sampledPeakBytes: larger(use.sampledPeakBytes, heldBytes),
    keptPeakBytes: larger(use.keptPeakBytes, largestOfKnown(kept)),
    energyJoules: joules === null ? use.energyJoules : (use.energyJoules ?? 0) + joules * energyShare(parts),
    energyCounter: moment.values.get('energy_joules') ?? null,
    nowPercent: percent,
    nowBytes: heldBytes,
  };
}

/** What is known after one more observation. */
export function observeGpus(use: GpuUse, { atMs, readings, held, gpus, pids }: GpuObservation): GpuUse {
  const seconds = Math.max(0, atMs - use.lastMs) / 1000;
  const moments = momentsOf(readings, use.busy, seconds);
  const uses = new Map(use.uses);
  // A GPU that is not held now starts anew if it is held again: the energy in between is another job's.
  for (const [id, before] of uses) uses.set(id, { ...before, ...UNSEEN });
  for (const one of held.held) {
    const { id } = one.gpu;
    const before = use.uses.get(id) ?? emptyUse(one.gpu, gpus);
    uses.set(id, observeOne(before, one, moments.get(id), seconds, pids));
  }
  const busyNow = readings.filter((one) => one.metric === BUSY && isSound(one));
  const busy = new Map(busyNow.map((one) => [busyKey(one), one.value]));
  return { lastMs: Math.max(use.lastMs, atMs), uses, busy };
}

const peakOf = ({ sampledPeakBytes, keptPeakBytes }: Use): number | null => larger(sampledPeakBytes, keptPeakBytes);

/** Flat figures for the record, by the names of GPU_JOB_METRICS; empty where the job held no GPU. */
export function gpuMetrics({ uses }: GpuUse): Readonly<Record<string, number>> {
  const all = [...uses.values()];
  if (all.length === 0) return {};
  const total = (what: (use: Use) => number): number => sum(all.map(what));
  const knownSeconds = total((use) => use.knownSeconds);
  const most = (what: (use: Use) => number | null): number | null => largestOfKnown(all.map(what));
  const values: readonly (readonly [Metric, number | null])[] = [
    [METRICS.count, all.length],
    [METRICS.used, all.filter(({ usedSeconds }) => usedSeconds > 0).length],
    [METRICS.heldTime, total((use) => use.heldSeconds)],
    [METRICS.usedTime, total((use) => use.usedSeconds)],
    [METRICS.idleTime, total((use) => use.idleSeconds)],
    [METRICS.mean, knownSeconds > 0 ? total((use) => use.percentSeconds) / knownSeconds : null],
    [METRICS.max, most((use) => use.maxPercent)],
    [METRICS.peak, most(peakOf)],
    [METRICS.kept, all.filter(({ keptPeakBytes }) => keptPeakBytes !== null).length],
    [METRICS.energy, sumOfKnown(all.map(({ energyJoules }) => energyJoules))],
  ];
  return Object.fromEntries(
    values.flatMap(([{ name, resolution = 1 }, value]) =>
      value === null ? [] : [[name, Math.round(value * resolution) / resolution]],
    ),
  );
}

/** What the job's GPUs do now, for the chart: sums over all of them, in percent of one GPU and in bytes. */
export function chartedGpus({ uses }: GpuUse): Readonly<Record<string, number>> {
  const all = [...uses.values()];
  return {
    gpu_percent: sum(known(all.map(({ nowPercent }) => nowPercent))),
    gpu_memory_bytes: sum(known(all.map(({ nowBytes }) => nowBytes))),
  };
}

/** "45 s", "12 min", "3 h 12 min", "2 d 4 h" */
function duration(seconds: number): string {
  const s = Math.round(seconds);
  if (s < 60) return `${s} s`;
  const minutes = Math.round(s / 60);
  if (minutes < 60) return `${minutes} min`;
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  const hours = Math.round(s / 3600);
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** A GPU that was held for less than this needs no note. */
const WORTH_A_NOTE_S = 60;

function noteOf(use: Use): string | null {
  const { label, heldSeconds, silentSeconds, idleSeconds, usedSeconds, opened } = use;
  if (heldSeconds < WORTH_A_NOTE_S) return null;
  if (silentSeconds >= heldSeconds) return `${label} was held for ${duration(heldSeconds)} without any reading.`;
  const silent = silentSeconds > 0 ? ` No readings for ${duration(silentSeconds)} of them.` : '';
  if (idleSeconds + silentSeconds >= heldSeconds && !opened)
    return `${label} was held for ${duration(heldSeconds)} and never used.${silent}`;
  if (usedSeconds === 0 && opened && use.knownSeconds > 0)
    return `${label} was held for ${duration(heldSeconds)}: opened, but no reading showed it at work.${silent}`;
  return silent === '' ? null : `${label} had no readings for ${duration(silentSeconds)} of ${duration(heldSeconds)}.`;
}

/** What the reader of a record should know of its GPUs, one line each. */
export function gpuNotes({ uses }: GpuUse): readonly string[] {
  const all = [...uses.values()].sort((one, other) => (one.label < other.label ? -1 : 1));
  const sampled = all.filter(
    ({ sampledPeakBytes, keptPeakBytes }) => sampledPeakBytes !== null && keptPeakBytes === null,
  );
  return [
    ...all.map(noteOf).filter((note) => note !== null),
    ...(sampled.length > 0
      ? [
          `The GPU memory peak of ${sampled.map(({ label }) => label).join(', ')} is sampled: a short one may be missed.`,
        ]
      : []),
  ];
}
