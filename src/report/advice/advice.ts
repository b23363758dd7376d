import { largestOfKnown } from '../../base/known';
import { GIB, MIB } from '../../base/units';
import { RAISE } from '../../advice/job-class';
import { limitsAddressSpace } from '../../gridengine/memory-complex';
import { countedByExecd, countedByGridEngine } from '../../record/cause';
import { measuredUpper } from '../../record/peak-figure';
import type { Per } from '../../gridengine/memory-request';
import type { JobRecord } from '../../record/record';
import { complexOf, limitOf, requestOf } from '../../record/request';
import { ranWell } from '../../record/job-end';
import { hitUsableLimit } from '../job/ending';
import type { Prediction } from './class-advice';
import { judgedByStoppingLimit, CLOSE_TO_LIMIT, needOf, type Need } from './fit';

/** The factor from a peak to a request: the next run is never quite the same. */
export const HEADROOM = 1.2;
/** A lower request is advised only where it is at most this share of the present one. */
export const WORTHWHILE = 0.85;

/** Round numbers that people would write: [below, step]. */
const STEPS: readonly (readonly [number, number])[] = [
  [200 * MIB, 10 * MIB],
  [1000 * MIB, 50 * MIB],
  [4 * GIB, 0.1 * GIB],
  [16 * GIB, 0.5 * GIB],
  [128 * GIB, GIB],
  [Infinity, 4 * GIB],
];

/** Too little for any shell with its libraries: never advise less. */
export const SMALLEST = 100 * MIB;

/** The next round size, never smaller than `bytes`, as Grid Engine reads it: "480M", "1.9G" (1024-based). */
export function roundRequest(bytes: number): { readonly bytes: number; readonly text: string } {
  const wanted = Math.max(bytes, SMALLEST);
  const step = STEPS.find(([below]) => wanted < below)?.[1] ?? 4 * GIB;
  const count = Math.ceil(wanted / step);
  if (step < 0.1 * GIB && count * step < 1000 * MIB) return { bytes: count * step, text: `${(count * step) / MIB}M` };
  const tenths = Math.ceil((count * step) / (0.1 * GIB) - 1e-6);
  return { bytes: (tenths / 10) * GIB, text: `${tenths / 10}G` };
}

export const ADVICE_KINDS = ['lower', 'raise', 'keep', 'ask'] as const;

export interface Advice {
  readonly kind: (typeof ADVICE_KINDS)[number];
  readonly complex: string;
  /** What to write: "h_vmem=1.9G". */
  readonly request: string;
  /** That request times the slots of the host that needed most. */
  readonly totalBytes: number;
  readonly slots: number;
  readonly per: Per;
  /** The record whose need decides the request. */
  readonly record: JobRecord;
  /** Without a bracket: Grid Engine's figure, or the limit that the job ran into, where that is more than any peak. */
  readonly need: Need | { readonly bytes: number; readonly quantity: null; readonly bracket: null };
  /** The request rests on what Grid Engine counted, which is more than what was measured. */
  readonly counted: boolean;
  /** Every need has a measured upper bound. */
  readonly bounded: boolean;
  /** The request over the need; null: nothing was requested. */
  readonly excess: number | null;
  /** The job ran into its limit: how much it wanted can't be known. */
  readonly guess: boolean;
  /**
   * The limit per slot that the job ran into, where the request is RAISE times that; null: it rests on measurements.
   */
  readonly stoppedAt: number | null;
  /**
   * The prediction from past runs of the job's kind, where the request rests on it; null: it rests on this job alone.
   */
  readonly prediction: Prediction | null;
}

/** The memory that a record needed, by all sources: looked up once, as an array has thousands of tasks. */
export interface Measured {
  readonly record: JobRecord;
  /** By our peaks. */
  readonly need: Need | null;
  /** By Grid Engine; 0: unknown. */
  readonly counted: number;
  readonly isStopped: boolean;
  /**
   * The limit that the record ran into, where no peak of its address space is known: it needed at least that; 0: none.
   */
  readonly stoppedAt: number;
  readonly limit: number | null;
  readonly slots: number;
  /** The most of `need`, `counted` and `stoppedAt`; 0: nothing is known. */
  readonly bytes: number;
}

export function measure(record: JobRecord): Measured {
  const need = needOf(record);
  const counted = countedHere(record, need);
  const limit = limitOf(record);
  const isStopped = hitUsableLimit(record);
  const stoppedAt = isStopped && record.peak_process_vmem === null ? (limit ?? 0) : 0;
  const bytes = Math.max(need?.bytes ?? 0, counted, stoppedAt);
  return { record, need, counted, isStopped, stoppedAt, limit, slots: slotsOf(record), bytes };
}

export const perSlotOf = ({ bytes, slots }: Measured): number => bytes / slots;

/** The need that decides the request, and whether it is Grid Engine's figure. */
function decisive({ need, bytes, counted, stoppedAt }: Measured): Pick<Advice, 'need' | 'counted'> {
  if (need?.bytes === bytes) return { need, counted: false };
  return {
    need: { bytes, quantity: null, bracket: null },
    counted: counted === bytes && counted > stoppedAt,
  };
}

/**
 * What Grid Engine counted on the record's host, as far as its line shows. The line of a parallel job may hold the sum
 * over all hosts: then at least one of them had its slots' share of that sum.
 */
function countedHere(record: JobRecord, need: Need | null): number {
  // Grid Engine's figure may add up address spaces, which count for no request of resident memory.
  if (need !== null && !limitsAddressSpace(complexOf(record))) return 0;
  const counted = countedByGridEngine(record);
  if (counted === null || record.pe_task_id !== null || countedByExecd(record) !== null) return counted ?? 0;
  const slots = record.slots ?? 1;
  const mean = Math.floor((counted * Math.min(slots, record.host_slots ?? slots)) / Math.max(1, slots));
  return mean === limitOf(record) ? 0 : mean;
}

/** How many times the request is granted on the record's host. */
export function slotsOf(record: JobRecord): number {
  return (requestOf(record)?.per ?? 'slot') === 'slot' ? Math.max(1, record.host_slots ?? record.slots ?? 1) : 1;
}

/** The bytes that a record was measured to need for each of its slots on the host, by any source; 0: none are known. */
export const neededPerSlot = (record: JobRecord): number => countedPerSlot(measure(record));

export const countedPerSlot = ({ need, counted, slots }: Measured): number =>
  Math.max(need?.bytes ?? 0, counted) / slots;

/**
 * Whether a request can rest on this record. Where address space is limited, its peak must be known: a smaller limit
 * could stop the program at its start.
 */
const saysWhatToAsk = ({ record, need, isStopped, limit }: Measured): boolean =>
  (limitsAddressSpace(complexOf(record)) ? record.peak_process_vmem !== null : need !== null) ||
  (isStopped && (limit ?? 0) > 0);

/** Whether the largest process was only a client of tasks (`qrsh -inherit`), which hold the job's memory. */
const onlyStartedTasks = ({ pe, peak_rss: peak }: JobRecord): boolean =>
  pe !== null && /^qrsh\b/.test(peak?.command ?? '');

function isUnsampledPart(record: JobRecord): boolean {
  const { pe_task_id: task, granted_hosts: hosts, peak_process_vmem: space, status } = record;
  const isParallel = task !== null || (hosts?.length ?? 0) > 1;
  return isParallel && (space === null || status === 'lost');
}

export const isUnknownPart = (record: JobRecord): boolean => isUnsampledPart(record) || onlyStartedTasks(record);

/**
 * Whether one of these records is of a host or task of a parallel job that was not sampled to its end: the other
 * records do not show what it needed.
 */
export function hasUnknownPart(records: readonly JobRecord[]): boolean {
  const sampled = new Set(
    records.flatMap(({ pe_task_id: part, task_id: task, peak_process_vmem: space }) =>
      part === null || space === null ? [] : [task],
    ),
  );
  return records.some(
    (record) => isUnsampledPart(record) || (onlyStartedTasks(record) && !sampled.has(record.task_id)),
  );
}

const isSampledOrStopped = ({ record: { status }, isStopped }: Measured): boolean =>
  status === 'finished' || (status === 'unsampled' && isStopped);

/** Whether only Grid Engine's figure is known, which counts where past runs of the kind give a risk. */
const isCountedAlone = ({ record, counted }: Measured): boolean =>
  record.status === 'unsampled' && counted > 0 && ranWell(record) === true;

/**
 * What to request next time, from all hosts and tasks of a job; never less than what any source measured. `predicted`:
 * the prediction from past runs of its kind, null or without a risk where they are too few. null: nothing can be
 * advised (the job still runs, was lost, was not sampled and is of no known kind, or ended badly for another reason).
 */
export function adviseRequest(all: readonly JobRecord[], predicted: Prediction | null = null): Advice | null {
  return adviceOf(measureAll(all), predicted);
}

/** The advice on a job that needs more than past runs of its kind predict; null: the prediction stands. */
export function adviseAlone(all: readonly JobRecord[], predicted: Prediction): Advice | null {
  const measured = measureAll(all);
  const least = measured.reduce((most, one) => {
    const raised = one.isStopped ? ((one.limit ?? 0) / one.slots) * RAISE : 0;
    return Math.max(most, countedPerSlot(one), raised);
  }, 0);
  if (least <= predicted.amount) return null;
  const advice = adviceOf(measured, predicted);
  // A job that has not ended, or ended badly, needed at least as much as it was seen to use.
  return advice?.prediction === null ? advice : adviceBy(measured, measured, null);
}

export const measureAll = (records: readonly JobRecord[]): readonly Measured[] =>
  judgedByStoppingLimit(records).map(measure);

export function adviceOf(measured: readonly Measured[], predicted: Prediction | null): Advice | null {
  const isKnownKind = predicted?.risk != null;
  const ended = measured.filter((one) => isSampledOrStopped(one) || (isKnownKind && isCountedAlone(one)));
  const isStopped = ended.some((one) => one.isStopped);
  if (
    !ended.some((one) => saysWhatToAsk(one) || isCountedAlone(one)) ||
    !(isStopped || ended.some(({ record }) => ranWell(record) === true))
  )
    return null;
  const advice = adviceBy(measured, ended, predicted);
  return advice?.kind === 'ask' && hasUnknownPart(measured.map(({ record }) => record)) ? null : advice;
}

/** The largest limit of any, per slot; null: none has one. */
const limitPerSlot = (measured: readonly Measured[]): number | null =>
  largestOfKnown(measured.map(({ limit, slots }) => limit && limit / slots));

/** `ended`: those of `measured` whose limits and endings count. */
function adviceBy(
  measured: readonly Measured[],
  ended: readonly Measured[],
  predicted: Prediction | null,
): Advice | null {
  const [first, ...others] = measured.filter(({ bytes }) => bytes > 0);
  if (first === undefined) return null;
  const worst = others.reduce((most, one) => (perSlotOf(most) >= perSlotOf(one) ? most : one), first);
  const needed = perSlotOf(worst);

  const asked = limitPerSlot(ended);
  const stopped = ended.filter((one) => one.isStopped);
  const guess = asked !== null && stopped.length > 0;
  const stoppedAt = limitPerSlot(stopped);
  const isWhole = !hasUnknownPart(measured.map(({ record }) => record));
  const raised = (stoppedAt ?? 0) * RAISE;
  // A job that needed more than predicted for its kind is advised by its own figures.
  const holds = predicted?.risk != null && predicted.amount >= Math.max(raised, needed);
  const prediction = holds ? predicted : null;
  const rounded = roundRequest(prediction?.amount ?? Math.max(needed * HEADROOM, raised));
  const complex = complexOf(worst.record);
  return {
    kind: kindOf(Math.max(needed, prediction?.largest ?? 0), rounded.bytes, { asked, guess, isWhole }),
    complex,
    request: `${complex}=${rounded.text}`,
    totalBytes: rounded.bytes * worst.slots,
    slots: worst.slots,
    per: requestOf(worst.record)?.per ?? 'slot',
    record: worst.record,
    ...decisive(worst),
    bounded: ended.every(({ need }) => need !== null && isBounded(need)),
    excess: asked === null ? null : asked / needed,
    guess,
    stoppedAt: raised > needed * HEADROOM ? stoppedAt : null,
    prediction,
  };
}

export const isBounded = ({ bracket }: Need): boolean => measuredUpper(bracket) !== null;

function kindOf(
  needed: number,
  rounded: number,
  { asked, guess, isWhole }: { readonly asked: number | null; readonly guess: boolean; readonly isWhole: boolean },
): Advice['kind'] {
  if (asked === null) return 'ask';
  if (guess || needed > asked * CLOSE_TO_LIMIT) return 'raise';
  return isWhole && rounded <= asked * WORTHWHILE ? 'lower' : 'keep';
}

/** What a record needed per slot; Infinity, which is more than any request, where that is not fully known. */
export function neededOrMore(measured: Measured): number {
  const isKnown = !measured.isStopped && measured.bytes > 0 && saysWhatToAsk(measured);
  return isKnown ? perSlotOf(measured) : Infinity;
}
