import { countedByExecd } from '../accounting/cause';
import type { Bracket, JobRecord } from '../sampler/record';
import { hitLimit, succeeded } from './ending';
import { limitOf, needOf, type Need } from './fit';

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

/** Too little for any shell with its libraries: nobody should be told to ask for less. */
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

export interface Advice {
  readonly kind: 'lower' | 'raise' | 'keep' | 'ask';
  /** What to write: "h_vmem=1.9G". */
  readonly request: string;
  /** That request times the slots of the host that needed most. */
  readonly totalBytes: number;
  readonly slots: number;
  readonly per: 'slot' | 'job';
  /** The record whose need decides it, and whether every end is closed. */
  readonly record: JobRecord;
  readonly need: Need;
  readonly bounded: boolean;
  /** What was asked for over what was needed; null: nothing was asked for. */
  readonly excess: number | null;
  /** It ran into its limit: what it wanted can't be known. */
  readonly guess: boolean;
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
  readonly per: 'slot' | 'job';
  readonly slots: number;
  readonly perSlot: number;
}

/** Of a job that ran into its limit: that much it needed at least. */
function needOfStopped(record: JobRecord): Need | null {
  const limit = limitOf(record);
  if (limit === null || limit <= 0 || !hitLimit(record)) return null;
  const bytes = Math.max(limit, needOf(record)?.bytes ?? 0, countedByExecd(record) ?? 0);
  return { bytes, quantity: 'peak_rss_swap', bracket: { ...NO_BRACKET, lower_bytes: bytes } };
}

/** The largest of what we measured and what Grid Engine itself compared with h_vmem. */
function measuredNeed(record: JobRecord): Need | null {
  const need = needOf(record);
  const counted = countedByExecd(record);
  return need === null || counted === null || counted <= need.bytes ? need : { ...need, bytes: counted };
}

function shareOf(record: JobRecord): Share | null {
  // Without the address space a smaller h_vmem could stop the program at its start.
  const need = record.peak_process_vmem === null ? needOfStopped(record) : measuredNeed(record);
  if (need === null) return null;
  const per = record.h_vmem?.per ?? 'slot';
  const slots = per === 'job' ? 1 : Math.max(1, record.host_slots ?? record.slots ?? 1);
  return { record, need, per, slots, perSlot: need.bytes / slots };
}

/**
 * What to ask for next time, from all hosts and tasks of a job; never less than what was measured.
 * null: nothing can be said (still running, lost, not sampled, or ended badly for another reason).
 */
export function adviseRequest(records: readonly JobRecord[]): Advice | null {
  const ended = records.filter(
    (record) => record.status === 'finished' || (record.status === 'unsampled' && hitLimit(record)),
  );
  const stopped = ended.filter(hitLimit);
  if (ended.length === 0 || (stopped.length === 0 && !ended.some((record) => succeeded(record) === true))) return null;
  const shares = ended.map(shareOf).filter((share) => share !== null);
  const worst = shares.reduce<Share | null>(
    (most, share) => (most && most.perSlot >= share.perSlot ? most : share),
    null,
  );
  if (worst === null) return null;

  const limits = ended.map((record) => {
    const limit = limitOf(record);
    return limit === null ? null : limit / (shareOf(record)?.slots ?? 1);
  });
  const known = limits.filter((limit) => limit !== null);
  const asked = known.length === 0 ? null : Math.max(...known);
  const guess = stopped.length > 0 && asked !== null;
  const wanted = Math.max(worst.perSlot * HEADROOM, guess ? asked * RAISE : 0);
  const rounded = roundRequest(wanted);
  const kind =
    asked === null
      ? 'ask'
      : guess || worst.perSlot > asked * 0.9
        ? 'raise'
        : rounded.bytes <= asked * WORTHWHILE
          ? 'lower'
          : 'keep';
  return {
    kind,
    request: `h_vmem=${rounded.text}`,
    totalBytes: rounded.bytes * worst.slots,
    slots: worst.slots,
    per: worst.per,
    record: worst.record,
    need: worst.need,
    bounded: ended.every((record) => needOf(record)?.bracket.upper_bytes != null),
    excess: asked === null ? null : asked / worst.perSlot,
    guess,
  };
}

/** Tasks from which on a hundredth of them is a task. */
const MANY = 100;

/**
 * What would have held for 99 of 100 tasks, where that is much less than what holds for all; null: it is not, there are
 * too few, or too many of them ran into their limit.
 */
export function adviseMost(tasks: readonly (readonly JobRecord[])[], all: Advice): string | null {
  if (tasks.length < MANY) return null;
  const needs = tasks.map((records) =>
    Math.max(...records.map((record) => (hitLimit(record) ? Infinity : (shareOf(record)?.perSlot ?? Infinity)))),
  );
  const most = needs.sort((a, b) => a - b)[Math.ceil(tasks.length * 0.99) - 1] ?? Infinity;
  if (!Number.isFinite(most)) return null;
  const { bytes, text } = roundRequest(most * HEADROOM);
  return bytes <= (all.totalBytes / all.slots) * WORTHWHILE ? `h_vmem=${text}` : null;
}
