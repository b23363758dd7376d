import { groupBy } from '../base/group-by';
import { largestOfKnown, sumOfKnown } from '../base/known';
import { runsOf } from './attempts';
import type { Wait } from './first-starts';
import { countedByGridEngine, countedTogether, heldBytes } from '../record/cause';
import { activeSeconds, memoryEfficiency } from '../record/efficiency';
import { hostSlots, requestedBytes } from '../record/facts';
import { figureOf } from '../record/peak-figure';
import type { JobRecord } from '../record/record';
import { limitOf, requestOf } from '../record/request';
import type { Totals } from '../record/totals';

/** A value in which a job's records may differ: how many different values there are, and the value if it is one. */
interface Agreed {
  readonly value: string | null;
  readonly values: number;
}

/** What a list shows of a job: sums over its tasks and runs, and the records that stand out. */
export interface JobLine {
  readonly records: number;
  readonly tasks: number;
  /** Records that are not of slave tasks: one for each run. */
  readonly masters: number;
  /** Of the whole job; null: not known. */
  readonly slots: number | null;
  /** The record that ended last, or started last. */
  readonly latest: JobRecord;
  /** The record nearest to its limit; without limits the one with the largest peak, without peaks the latest. */
  readonly fullest: JobRecord;
  /** The ways in which records ended, most frequent first: the latest record and how many; running ones singly. */
  readonly ends: readonly { readonly record: JobRecord; readonly count: number }[];
  readonly owner: Agreed;
  readonly host: Agreed;
  /** Complexes of the requests that the records are judged by. */
  readonly complexes: readonly string[];
  readonly self_reported: number;
  readonly longest_seconds: number | null;
  readonly largest_limit_bytes: number | null;
  /** Grid Engine's largest figure of a run without a measured peak; of a parallel run the sum of all its lines. */
  readonly largest_counted_bytes: number | null;
  /** Whether any record has Grid Engine's figure instead of a peak. */
  readonly is_counted: boolean;
  /** Over records whose CPU and elapsed times are known; slot seconds count each host once. */
  readonly cpu_seconds: number | null;
  readonly slot_seconds: number | null;
  /** Requested byte seconds above the peak, or above Grid Engine's figure where no peak was measured. */
  readonly unused_byte_seconds: number | null;
}

/** When a record ended, else started, as a text that sorts by time (ISO, UTC). */
export const endOrStart = ({ ended_at: ended, started_at: started }: JobRecord): string => ended ?? started ?? '';

const latestOf = (records: readonly JobRecord[], first: JobRecord): JobRecord =>
  records.reduce((latest, one) => (endOrStart(one) > endOrStart(latest) ? one : latest), first);

/**
 * The records of one job that stand for their hosts: each slave task has the limit and slots of its whole host, as the
 * master has, so only one record of a host may count.
 */
export function hostsOf(line: readonly JobRecord[]): readonly JobRecord[] {
  if (line.every((one) => one.pe_task_id === null)) return line;
  const masters = new Set(line.flatMap((one) => (one.pe_task_id === null ? [placeOf(one)] : [])));
  return line.filter(
    (one) => one.pe_task_id === null || (one.pe_task_id.startsWith('1.') && !masters.has(placeOf(one))),
  );
}

/** As `hostsOf`, but a single record always counts. What all tasks of a host have alike must not be added up. */
export const perHost = (line: readonly JobRecord[]): readonly JobRecord[] => (line.length === 1 ? line : hostsOf(line));

const placeOf = ({ task_id: task, host }: JobRecord): string => `${task ?? ''} ${host}`;

/** The first item with the largest value; `first` if none has a value. */
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

/** A text that is the same for records that ended in the same way. */
function endOf({ status, exit_status: exit, signal, failed }: JobRecord): string {
  return [status, exit, signal, failed].join(' ');
}

/** The most frequent end first; of equally frequent ones the latest first. */
export function inOrder(ends: JobLine['ends']): JobLine['ends'] {
  return ends.toSorted((a, b) => b.count - a.count || (endOrStart(a.record) < endOrStart(b.record) ? 1 : -1));
}

/**
 * Byte seconds that were requested and not held; null: not known. Each host of a parallel job counts alone, as what it
 * held above its request takes nothing from the others; but an accounting line has the request of all hosts.
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

/** Whether the CPU and elapsed times are known, so that CPU efficiency can be. */
const isBusyKnown = (record: JobRecord): boolean => record.cpu_seconds !== null && (activeSeconds(record) ?? 0) > 0;

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

const slotSeconds = (record: JobRecord): number | null =>
  isBusyKnown(record) ? (activeSeconds(record) ?? 0) * hostSlots(record) : null;

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
    slots: largestOfKnown(records.map(({ slots }) => slots)),
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
    longest_seconds: largestOfKnown(records.map(({ wallclock_seconds: elapsed }) => elapsed)),
    largest_limit_bytes: largestOfKnown(records.map(limitOf)),
    cpu_seconds: sumOfKnown(records.map((record) => (isBusyKnown(record) ? record.cpu_seconds : null))),
    slot_seconds: sumOfKnown(hostsOf(records).map(slotSeconds)),
    unused_byte_seconds: unusedByteSeconds(records),
  };
}

/** The newest jobs that a query selects, added up. */
export interface JobLinesAnswer {
  /** Newest first. */
  readonly lines: readonly JobLine[];
  /** Waits in the newest records (`read` of them); empty if not asked for. */
  readonly waits: readonly Wait[];
  readonly read: number;
  /** Over all records that the query selects. */
  readonly totals: Totals;
}
