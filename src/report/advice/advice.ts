import { limitsAddressSpace } from '../../gridengine/memory-complex';
import { countedByExecd, countedByGridEngine } from '../../record/cause';
import { measuredUpper } from '../../record/peak-figure';
import type { Bracket, JobRecord } from '../../record/record';
import { complexOf, limitOf, requestOf } from '../../record/request';
import { hitLimit, succeeded } from '../job/ending';
import type { Promised } from './class-advice';
import { asStopped, CLOSE_TO_LIMIT, needOf, type Need } from './fit';

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

/** What is added to a peak: the next run is never quite the same. */
export const HEADROOM = 1.2;
/** By how much a limit is raised that the job has run into. */
export const RAISE = 1.5;
/** A smaller change than this is not worth a word. */
const WORTHWHILE = 0.85;

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
const SMALLEST = 100 * MIB;

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
  readonly per: 'slot' | 'job';
  /** The record whose need decides it, and whether every end is closed. */
  readonly record: JobRecord;
  readonly need: Need;
  /** It rests on what Grid Engine counted, which is more than what was measured. */
  readonly counted: boolean;
  readonly bounded: boolean;
  /** What was asked for over what was needed; null: nothing was asked for. */
  readonly excess: number | null;
  /** It ran into its limit: what it wanted can't be known. */
  readonly guess: boolean;
  /** What past runs of its kind promise, where the request rests on that; null: it rests on this job alone. */
  readonly promise: Promised | null;
}

const NO_BRACKET: Bracket = {
  lower_bytes: 0,
  upper_bytes: null,
  slack_bytes: 0,
  proved: false,
  exact: false,
  open: [],
  sources: ['limit'],
  at: null,
  command: null,
};

interface Share {
  readonly record: JobRecord;
  readonly need: Need;
  readonly counted: boolean;
  readonly per: 'slot' | 'job';
  readonly slots: number;
  readonly perSlot: number;
}

/** Of a job that ran into its limit: that much it needed at least. */
function stoppedAt(record: JobRecord): number {
  return hitLimit(record) ? (limitOf(record) ?? 0) : 0;
}

/**
 * What Grid Engine counted on the record's host, as far as its line says. The line of a parallel job may hold the sum
 * over all hosts: then one of them had its slots' share of it at least.
 */
function countedHere(record: JobRecord): number {
  // It may add up address spaces, which count for no request of memory that is held.
  if (!limitsAddressSpace(complexOf(record)) && needOf(record) !== null) return 0;
  const counted = countedByGridEngine(record);
  if (counted === null || record.pe_task_id !== null || countedByExecd(record) !== null) return counted ?? 0;
  const slots = record.slots ?? 1;
  const mean = Math.floor((counted * Math.min(slots, record.host_slots ?? slots)) / Math.max(1, slots));
  return mean === limitOf(record) ? 0 : mean;
}

/** The most that any source says of what a record needed: our peaks, Grid Engine's count, the limit it was stopped at. */
function shareOf(record: JobRecord): Share | null {
  const known = needOf(record);
  const stopped = record.peak_process_vmem === null ? stoppedAt(record) : 0;
  const counted = countedHere(record);
  const bytes = Math.max(known?.bytes ?? 0, stopped, counted);
  if (bytes <= 0) return null;
  const need: Need =
    known?.bytes === bytes
      ? known
      : { bytes, quantity: 'peak_rss_swap', bracket: { ...NO_BRACKET, lower_bytes: bytes } };
  const per = requestOf(record)?.per ?? 'slot';
  const slots = slotsOf(record);
  const isCounted = need !== known && counted === bytes && counted > stopped;
  return { record, need, counted: isCounted, per, slots, perSlot: bytes / slots };
}

/** How many times the request is granted on the record's host. */
export function slotsOf(record: JobRecord): number {
  return requestOf(record)?.per === 'job' ? 1 : Math.max(1, record.host_slots ?? record.slots ?? 1);
}

/** The bytes that a record was measured to need for each of its slots on the host, by any source; 0: none are known. */
export function neededPerSlot(record: JobRecord): number {
  return Math.max(needOf(record)?.bytes ?? 0, countedHere(record)) / slotsOf(record);
}

/** Without the address space a smaller limit on it could stop the program at its start. */
const saysWhatToAsk = (record: JobRecord): boolean =>
  (limitsAddressSpace(complexOf(record)) ? record.peak_process_vmem !== null : needOf(record) !== null) ||
  stoppedAt(record) > 0;

const isUnknownPart = ({
  pe_task_id: task,
  granted_hosts: hosts,
  peak_process_vmem: space,
  status,
}: JobRecord): boolean => (task !== null || (hosts?.length ?? 0) > 1) && (space === null || status === 'lost');

/** Whether a host or task of a parallel job among them was not sampled to its end: the others do not say what it needed. */
export function hasUnknownPart(records: readonly JobRecord[]): boolean {
  return records.some(isUnknownPart);
}

const isSampledOrStopped = (record: JobRecord): boolean =>
  record.status === 'finished' || (record.status === 'unsampled' && hitLimit(record));

/** Without samples Grid Engine's figure counts where past runs of the kind give a risk, as `qmemacct advise` has it. */
const isCountedAlone = (record: JobRecord): boolean =>
  record.status === 'unsampled' && countedHere(record) > 0 && succeeded(record) === true;

/**
 * What to ask for next time, from all hosts and tasks of a job; never less than what was measured, by whatever source.
 * `promised`: what past runs of its kind say, null or without a risk where they are too few. null: nothing can be said (still running, lost, not sampled and of no known kind, or ended badly for another reason).
 */
export function adviseRequest(all: readonly JobRecord[], promised: Promised | null = null): Advice | null {
  const records = asStopped(all);
  const isKnownKind = promised?.risk != null;
  const ended = records.filter((record) => isSampledOrStopped(record) || (isKnownKind && isCountedAlone(record)));
  const stopped = ended.filter(hitLimit);
  if (
    !ended.some((record) => saysWhatToAsk(record) || isCountedAlone(record)) ||
    (stopped.length === 0 && !ended.some((record) => succeeded(record) === true))
  )
    return null;
  const shares = records.flatMap((record) => shareOf(record) ?? []);
  const [first, ...others] = shares;
  if (first === undefined) return null;
  const worst = others.reduce((most, share) => (most.perSlot >= share.perSlot ? most : share), first);

  const limits = ended.flatMap((record) => {
    const limit = limitOf(record);
    return limit === null ? [] : [limit / slotsOf(record)];
  });
  const asked = limits.length === 0 ? null : limits.reduce((a, b) => Math.max(a, b));
  const guess = stopped.length > 0 && asked !== null;
  const isWhole = !hasUnknownPart(records);
  if (asked === null && !isWhole) return null;
  const raised = guess ? asked * RAISE : 0;
  // What needed more than its kind is promised stands for itself.
  const holds = promised?.risk != null && promised.amount >= Math.max(raised, worst.perSlot);
  const promise = holds ? promised : null;
  const rounded = roundRequest(promise?.amount ?? Math.max(worst.perSlot * HEADROOM, raised));
  const needed = Math.max(worst.perSlot, promise?.largest ?? 0);
  const complex = complexOf(worst.record);
  return {
    kind: kindOf(needed, rounded.bytes, { asked, guess, isWhole }),
    complex,
    request: `${complex}=${rounded.text}`,
    totalBytes: rounded.bytes * worst.slots,
    slots: worst.slots,
    per: worst.per,
    record: worst.record,
    need: worst.need,
    counted: worst.counted,
    bounded: ended.every(isBounded),
    excess: asked === null ? null : asked / worst.perSlot,
    guess,
    promise,
  };
}

function isBounded(record: JobRecord): boolean {
  const need = needOf(record);
  return need !== null && measuredUpper(need.bracket) !== null;
}

function kindOf(
  needed: number,
  rounded: number,
  { asked, guess, isWhole }: { readonly asked: number | null; readonly guess: boolean; readonly isWhole: boolean },
): Advice['kind'] {
  if (asked === null) return 'ask';
  if (guess || needed > asked * CLOSE_TO_LIMIT) return 'raise';
  return isWhole && rounded <= asked * WORTHWHILE ? 'lower' : 'keep';
}

/** Tasks from which on a hundredth of them is a task. */
const MANY = 100;

/** Where not all is known of what a record needed, more than any request. */
function neededOrMore(record: JobRecord): number {
  return hitLimit(record) || !saysWhatToAsk(record) ? Infinity : (shareOf(record)?.perSlot ?? Infinity);
}

/**
 * What would have held for 99 of 100 tasks, where that is much less than what holds for all; null: it is not, there are
 * too few, or too many of them ran into their limit.
 */
export function adviseMost(tasks: readonly (readonly JobRecord[])[], all: Advice): string | null {
  if (tasks.length < MANY) return null;
  const needs = tasks.map((records) => records.reduce((most, record) => Math.max(most, neededOrMore(record)), 0));
  const most = needs.sort((a, b) => a - b)[Math.ceil(tasks.length * 0.99) - 1] ?? Infinity;
  if (!Number.isFinite(most)) return null;
  const { bytes, text } = roundRequest(most * HEADROOM);
  return bytes <= (all.totalBytes / all.slots) * WORTHWHILE ? `${all.complex}=${text}` : null;
}
