import { groupBy } from '../base/group-by';
import { larger, largestOfKnown, sumOfKnown } from '../base/known';
import { runsOf } from './attempts';
import type { Wait } from './first-starts';
import { countedByGridEngine, countedTogether, heldBytes } from '../record/cause';
import { memoryEfficiency } from '../record/efficiency';
import { hostSlots, requestedBytes } from '../record/facts';
import { figureOf } from '../record/peak-figure';
import type { JobRecord } from '../record/record';
import { limitOf, requestOf } from '../record/request';
import type { Totals } from '../record/totals';

/** What the records of a job say that do not all say the same: how many different values there are, and if one, which. */
interface Agreed {
  readonly value: string | null;
  readonly values: number;
}

/** What a list shows of a job: sums over its tasks and runs, and those that stand out. */
export interface JobLine {
  readonly records: number;
  readonly tasks: number;
  /** Records that are of no slave task: one for each run. */
  readonly masters: number;
  /** Of the whole job; null: not known. */
  readonly slots: number | null;
  /** The last to end, or to start. */
  readonly latest: JobRecord;
  /** The nearest to its limit, or without any the one with the largest peak; where none has a peak the latest. */
  readonly fullest: JobRecord;
  /** The ways in which they ended: the latest of each, and how many there are; most first. A running one is by itself. */
  readonly ends: readonly { readonly record: JobRecord; readonly count: number }[];
  readonly owner: Agreed;
  readonly host: Agreed;
  /** Complexes of the requests that they are judged by. */
  readonly complexes: readonly string[];
  readonly self_reported: number;
  readonly longest_seconds: number | null;
  readonly largest_limit_bytes: number | null;
  /** The most that Grid Engine counted of a run of which nobody measured a peak: of a parallel one all lines together. */
  readonly largest_counted_bytes: number | null;
  /** Whether any record has Grid Engine's figure instead of a peak. */
  readonly is_counted: boolean;
  /** Of those whose CPU efficiency is known; slot seconds of all of them, on their hosts. */
  readonly cpu_seconds: number | null;
  readonly slot_seconds: number | null;
  /** Byte seconds that were requested and lay above the peak, by Grid Engine's figure where there is none. */
  readonly unused_byte_seconds: number | null;
}

/** ISO times in UTC are in the order of their text. */
export const untilOf = ({ ended_at: ended, started_at: started }: JobRecord): string => ended ?? started ?? '';

const add = (a: number | null, b: number | null): number | null => (a === null ? b : b === null ? a : a + b);

const latestOf = (records: readonly JobRecord[], first: JobRecord): JobRecord =>
  records.reduce((latest, one) => (untilOf(one) > untilOf(latest) ? one : latest), first);

/**
 * Of the records of one job those that stand for their hosts: each task of a parallel job is given the limit and slots of
 * its whole host, as its master is, so of a host only one may be counted.
 */
export function hostsOf(line: readonly JobRecord[]): readonly JobRecord[] {
  if (line.every((one) => one.pe_task_id === null)) return line;
  const masters = new Set(line.flatMap((one) => (one.pe_task_id === null ? [placeOf(one)] : [])));
  return line.filter(
    (one) => one.pe_task_id === null || (one.pe_task_id.startsWith('1.') && !masters.has(placeOf(one))),
  );
}

/** Of the jobs on their hosts, each once: what is given to all tasks of a host alike must not be added up. */
export const perHost = (line: readonly JobRecord[]): readonly JobRecord[] => (line.length === 1 ? line : hostsOf(line));

const placeOf = ({ task_id: task, host }: JobRecord): string => `${task ?? ''} ${host}`;

/** The first with the largest value; `first` where none has one. */
function largestBy<T>(items: readonly T[], first: T, of: (item: T) => number | null): T {
  let [largest, most] = [first, of(first) ?? -1];
  for (const item of items) {
    const value = of(item) ?? -1;
    if (value <= most) continue;
    [largest, most] = [item, value];
  }
  return largest;
}

function fullestOf(records: readonly JobRecord[], latest: JobRecord): JobRecord {
  const byShare = largestBy(records, latest, memoryEfficiency);
  return memoryEfficiency(byShare) === null
    ? largestBy(records, latest, ({ peak_rss: peak }) => peak && figureOf(peak))
    : byShare;
}

function agreed(records: readonly JobRecord[], of: (record: JobRecord) => string | null): Agreed {
  const values = new Set(records.map(of).filter((value) => value !== null));
  const [value = null] = values;
  return { value: values.size > 1 ? null : value, values: values.size };
}

/** The same for those that ended in one way. */
function endOf({ status, exit_status: exit, signal, failed }: JobRecord): string {
  return [status, exit, signal, failed].join(' ');
}

/** Most first; of as many each the latest first. */
export function inOrder(ends: JobLine['ends']): JobLine['ends'] {
  return ends.toSorted((a, b) => b.count - a.count || (untilOf(a.record) < untilOf(b.record) ? 1 : -1));
}

/**
 * Byte seconds that were requested and not held; null: not known. What one host of a parallel job held above its request
 * takes nothing from the others, but a line of accounting has the request of all of them.
 */
export function unusedByteSeconds(
  line: readonly JobRecord[],
  held: (record: JobRecord) => number | null = heldBytes,
): number | null {
  const hasTasks = line.some(({ pe_task_id: task }) => task !== null);
  const ofAllHosts = line.some(({ host_slots: slots }) => slots === null);
  const parts = groupBy(line, (one) => (!hasTasks ? one : ofAllHosts ? one.task_id : placeOf(one)));
  const unused = (one: JobRecord, requested: number | null): number | null => {
    const [bytes, elapsed] = [held(one), one.wallclock_seconds];
    return requested === null || bytes === null || elapsed === null ? null : (requested - bytes) * elapsed;
  };
  return sumOfKnown(
    [...parts.values()].map((part) => {
      const hosts = new Set(perHost(part));
      const own = sumOfKnown([...hosts].map((one) => unused(one, requestedBytes(one))));
      const others = sumOfKnown(part.map((one) => (hosts.has(one) ? null : unused(one, 0))));
      return own === null ? null : Math.max(0, own + (others ?? 0));
    }),
  );
}

/** Whether its CPU time can be held against its slots. */
const isBusyKnown = ({ cpu_seconds: cpu, wallclock_seconds: elapsed }: JobRecord): boolean =>
  cpu !== null && elapsed !== null && elapsed > 0;

const countedAlone = (record: JobRecord): number | null =>
  record.peak_rss === null ? countedByGridEngine(record) : null;

function largestCounted(records: readonly JobRecord[]): number | null {
  if (records.every(({ pe_task_id: task }) => task === null)) return largestOfKnown(records.map(countedAlone));
  const tasks = groupBy(
    records.map((record) => ({ record })),
    ({ record }) => record.task_id,
  );
  const runs = [...tasks.values()].flatMap(runsOf).map((run) => run.map(({ record }) => record));
  return largestOfKnown(
    runs.map((run) => (run.every(({ peak_rss: peak }) => peak === null) ? countedTogether(run) : null)),
  );
}

function sumsOf(records: readonly JobRecord[]) {
  const sums = {
    longest_seconds: null as number | null,
    largest_limit_bytes: null as number | null,
    cpu_seconds: null as number | null,
    slot_seconds: null as number | null,
  };
  for (const record of records) {
    const { wallclock_seconds: elapsed } = record;
    sums.longest_seconds = larger(sums.longest_seconds, elapsed);
    sums.largest_limit_bytes = larger(sums.largest_limit_bytes, limitOf(record));
    if (isBusyKnown(record)) sums.cpu_seconds = add(sums.cpu_seconds, record.cpu_seconds);
  }
  for (const record of hostsOf(records)) {
    const { wallclock_seconds: elapsed } = record;
    if (isBusyKnown(record)) sums.slot_seconds = add(sums.slot_seconds, (elapsed ?? 0) * hostSlots(record));
  }
  return sums;
}

/** The line of the records of one job. */
export function jobLineOf(records: readonly [JobRecord, ...JobRecord[]]): JobLine {
  const [first] = records;
  const latest = latestOf(records, first);
  const running = records.filter(({ status }) => status === 'running');
  const groups = groupBy(
    records.filter(({ status }) => status !== 'running'),
    endOf,
  );
  const complexes = new Set(records.map((record) => requestOf(record)?.complex ?? null));
  return {
    records: records.length,
    tasks: new Set(records.map(({ task_id: task }) => task)).size,
    masters: records.filter(({ pe_task_id: task }) => task === null).length,
    slots: records.reduce<number | null>((most, { slots }) => larger(most, slots), null),
    latest,
    fullest: fullestOf(records, latest),
    ends: inOrder([
      ...running.map((record) => ({ record, count: 1 })),
      ...[...groups.values()].map((group) => ({ record: latestOf(group, group[0] ?? first), count: group.length })),
    ]),
    owner: agreed(records, ({ owner }) => owner),
    host: agreed(records, ({ host }) => host),
    complexes: [...complexes].filter((complex) => complex !== null).sort(),
    self_reported: records.filter(({ trust }) => trust === 'self-reported').length,
    largest_counted_bytes: largestCounted(records),
    is_counted: records.some((record) => countedAlone(record) !== null),
    ...sumsOf(records),
    unused_byte_seconds: unusedByteSeconds(records),
  };
}

/** The newest jobs that a query selects, added up. */
export interface JobLinesAnswer {
  /** Newest first. */
  readonly lines: readonly JobLine[];
  /** Of the newest records, of which `read` is the number; none where they were not asked for. */
  readonly waits: readonly Wait[];
  readonly read: number;
  /** Over all records that the query selects. */
  readonly totals: Totals;
}
