import type { Database } from 'better-sqlite3';
import { groupBy } from '../../../base/group-by';
import type { JobRecord } from '../../../record/record';
import { COMES_ROUND_MS } from '../../attempts';
import { FirstStarts, type Wait } from '../../first-starts';
import { inOrder, endOrStart, type JobLine, type JobLinesAnswer } from '../../job-line';
import { rowPlan } from '../../row';
import type { JobLinesWanted, RecordFilter } from '../../store';
import { ACTIVE, GRID_ENGINE, HELD_BYTES, SELF_REPORTED, SLOTS } from '../../sums/fact-columns';
import type { Words } from '../database/dictionary';
import { prepared } from '../database/prepared';
import { pageQuery, recordIn, selected } from './queries';
import { conditionOf, type Condition } from './record-filter';
import { daysOfKey } from './spans';

/** The newest records, and what waits need. Parameters of all queries here: @since, @until, @jobs, the condition's. */
export const newestQuery = (condition: Condition): string =>
  `SELECT r.cluster_id, r.job_id, r.submitted_at, r.task_id, r.started_at, r.queue_id, r.limit_bytes, r.pe_task_id IS NULL, r.counted_at
  ${selected(condition)} ORDER BY r.counted_at DESC, r.id DESC`;

type Newest = readonly [
  cluster: number,
  job: number,
  submitted: number | null,
  task: number | null,
  started: number | null,
  queue: number | null,
  limit: number | null,
  isMaster: 0 | 1,
  countedAt: number,
];

const ofJobs = ({ sql }: Condition): string =>
  `FROM record r INDEXED BY record_by_job WHERE r.job_id IN (SELECT value FROM json_each(@jobs))
  AND r.counted_at >= @since AND r.counted_at < @until${sql}`;
/** Identifies a job. Submission in seconds: a spool directory may have fractions, the accounting line has none. */
const JOB = 'r.cluster_id, r.job_id, r.submitted_at / 1000';

/** As `isBusyKnown` and `unusedByteSeconds` (job-line.ts). */
const BUSY = `r.cpu_ms IS NOT NULL AND ${ACTIVE} > 0`;
const UNUSED = `max(0, r.requested_bytes - ${HELD_BYTES}) * (r.wallclock_ms / 1000.0)`;

export const sumsQuery = (condition: Condition): string =>
  `SELECT ${JOB}, count(*), count(DISTINCT coalesce(r.task_id, 0)), sum(r.pe_task_id IS NOT NULL),
    sum(r.trust = ${SELF_REPORTED}), group_concat(DISTINCT r.request_complex_id),
    count(DISTINCT r.owner_id), min(r.owner_id), count(DISTINCT r.host_id), min(r.host_id),
    max(r.wallclock_ms), max(r.limit_bytes), max(${GRID_ENGINE}),
    sum(CASE WHEN ${BUSY} THEN r.cpu_ms * 1.0 END), sum(CASE WHEN ${BUSY} THEN ${ACTIVE} * 1.0 * ${SLOTS} END), sum(${UNUSED}), max(r.slots)
  ${ofJobs(condition)} GROUP BY ${JOB} ORDER BY ${JOB}`;

type Sums = readonly [
  cluster: number,
  job: number,
  submitted: number | null,
  records: number,
  tasks: number,
  ofParallel: number,
  selfReported: number,
  complexes: string | null,
  owners: number,
  owner: number | null,
  hosts: number,
  host: number | null,
  longestMs: number | null,
  largestLimit: number | null,
  largestCounted: number | null,
  cpuMs: number | null,
  slotMs: number | null,
  unused: number | null,
  slots: number | null,
];

/** The id of the fullest record: SQLite takes the columns beside max() from the row with the largest value. */
export const fullestQuery = (condition: Condition): string =>
  `SELECT ${JOB}, r.id, max(CASE WHEN r.peak_rss_lower_bytes IS NULL THEN -2
      WHEN r.limit_bytes > 0 THEN r.peak_rss_lower_bytes * 1.0 / r.limit_bytes
      ELSE -1 / (r.peak_rss_lower_bytes + 1.0) END)
  ${ofJobs(condition)} GROUP BY ${JOB}`;

const RUNNING = 1;

export const endsQuery = (condition: Condition): string =>
  `SELECT ${JOB}, r.id, count(*), max(coalesce(r.ended_at, r.started_at, -1))
  ${ofJobs(condition)}
  GROUP BY ${JOB}, r.status, r.exit_status, r.signal, r.failed, CASE WHEN r.status = ${RUNNING} THEN r.id END`;

/** A job, one of its records, and a value (the largest, or a count). */
type Chosen = readonly [cluster: number, job: number, submitted: number | null, id: number, value: number];

/** `submitted`: seconds. */
const keyOf = ([cluster, job, submitted]: readonly [number, number, number | null, ...unknown[]]): string =>
  `${cluster} ${job} ${submitted ?? ''}`;

/** At most this many times `least` records are read one by one: most of an array's tasks add no job. */
const MOST_TIMES_LEAST = 10;

/** The jobs of the newest records, newest first. Parameters: @since, @until, @most records, the condition's. */
export const newestJobsQuery = (condition: Condition): string =>
  `SELECT cluster_id, job_id, submitted, count(*) FROM (
    SELECT r.cluster_id, r.job_id, r.submitted_at / 1000 AS submitted, r.counted_at, r.id
    ${selected(condition)} ORDER BY r.counted_at DESC, r.id DESC LIMIT @most)
  GROUP BY cluster_id, job_id, submitted ORDER BY max(counted_at) DESC, max(id) DESC`;

type JobFound = readonly [cluster: number, job: number, submitted: number | null, records: number];

function* newestRows(db: Database, condition: Condition, query: RecordFilter): Generator<Newest, void> {
  const statement = prepared<object, Newest>(db, newestQuery(condition), 'raw');
  for (const { since, until } of daysOfKey(db, condition, query))
    yield* statement.iterate({ ...condition.parameters, since, until });
}

/** The jobs of at most `limit` records of a query, newest first. */
function* newestOfMany(
  db: Database,
  condition: Condition,
  query: RecordFilter,
  limit: number,
): Generator<JobFound, void> {
  const statement = prepared<object, JobFound>(db, newestJobsQuery(condition), 'raw');
  let most = limit;
  for (const { since, until } of daysOfKey(db, condition, query)) {
    for (const job of statement.all({ ...condition.parameters, since, until, most })) {
      most -= job[3];
      yield job;
    }
    if (most <= 0) return;
  }
}

interface NewestJobs {
  readonly keys: ReadonlySet<string>;
  readonly numbers: ReadonlySet<number>;
  readonly waits: readonly Wait[];
  readonly read: number;
}

/** The newest jobs, at least from `wanted.least` records if possible; null: one is parallel. */
function newestJobs(
  db: Database,
  words: Words,
  condition: Condition,
  query: RecordFilter,
  wanted: JobLinesWanted,
): NewestJobs | null {
  const { jobs: most, least } = wanted;
  const keys = new Set<string>();
  const numbers = new Set<number>();
  const firsts = new FirstStarts();
  let read = 0;
  let before: Newest | null = null;
  for (const row of newestRows(db, condition, query)) {
    const [cluster, job, submitted_at, task_id, started_at, queue, limit_bytes, isMaster, countedAt] = row;
    if (keys.size < most && read >= MOST_TIMES_LEAST * least) {
      for (const other of newestOfMany(db, condition, { ...query, until: countedAt + 1 }, wanted.limit)) {
        if (keys.size >= most) break;
        keys.add(keyOf(other));
        numbers.add(other[1]);
      }
      break;
    }
    if (keys.size >= most && read >= least) break;
    read++;
    // The next record is mostly of the same job.
    const isSame = before?.[0] === cluster && before[1] === job && before[2] === submitted_at;
    before = row;
    if (isMaster === 0 && keys.size < most) return null;
    if (!isSame && keys.size < most) {
      keys.add(keyOf([cluster, job, submitted_at === null ? null : Math.trunc(submitted_at / 1000)]));
      numbers.add(job);
    }
    if (!wanted.waits || isMaster === 0 || submitted_at === null || started_at === null) continue;
    const name = queue === null ? null : words.text('queue', queue);
    firsts.add({ job: { cluster, job_id: job, submitted_at }, task_id, started_at, queue: name, limit_bytes });
  }
  return { keys, numbers, waits: firsts.waits, read };
}

const seconds = (ms: number | null): number | null => (ms === null ? null : ms / 1000);

type Records = ReadonlyMap<number, JobRecord>;

function readRecords(db: Database, words: Words, { fields }: JobLinesWanted, ids: readonly number[]): Records {
  const plan = rowPlan(fields);
  const known = [...new Set(ids)];
  const rows = prepared<[string], string>(db, pageQuery(plan.columns, false), 'pluck').all(JSON.stringify(known));
  return new Map(rows.map((row, index) => [known[index] ?? 0, recordIn(row, words, plan).record]));
}

function lineOf(sums: Sums, nearest: JobRecord, ends: JobLine['ends'], words: Words): JobLine | null {
  const [, , , records, tasks, , self_reported, complexes, owners, owner, hosts, host, ...figures] = sums;
  const [longest, largest_limit_bytes, largest_counted_bytes, cpu, slotMs, unused_byte_seconds, slots] = figures;
  const [first] = ends;
  if (first === undefined) return null;
  const ids = complexes?.split(',').map(Number) ?? [];
  const latest = ends.reduce(
    (last, { record }) => (endOrStart(record) > endOrStart(last) ? record : last),
    first.record,
  );
  return {
    records,
    tasks,
    masters: records,
    slots,
    latest,
    fullest: nearest.peak_rss === null ? latest : nearest,
    ends: inOrder(ends),
    owner: { value: owner === null || owners > 1 ? null : words.text('owner', owner), values: owners },
    host: { value: host === null || hosts > 1 ? null : words.text('host', host), values: hosts },
    complexes: ids.map((id) => words.text('complex', id)).sort(),
    self_reported,
    longest_seconds: seconds(longest),
    largest_limit_bytes,
    largest_counted_bytes,
    is_counted: largest_counted_bytes !== null,
    cpu_seconds: seconds(cpu),
    slot_seconds: seconds(slotMs),
    unused_byte_seconds,
  };
}

/**
 * Whether sums, in the order of their keys, may be other than a job's: they have slave tasks, a user's claims beside
 * others' records, or belong to the job before, as one that is rescheduled is submitted anew.
 */
function mayBeOther(sums: Sums, index: number, all: readonly Sums[]): boolean {
  const [cluster, job, submitted, records, , ofParallel, selfReported] = sums;
  if (ofParallel > 0 || (selfReported > 0 && selfReported < records)) return true;
  const before = all[index - 1];
  if (before?.[0] !== cluster || before[1] !== job) return false;
  return before[2] === null || submitted === null || submitted - before[2] < COMES_ROUND_MS / 1000;
}

/** As `AccountingReader.jobLines`, without the totals; call it inside one transaction. */
export function jobLines(
  db: Database,
  words: Words,
  query: RecordFilter,
  wanted: JobLinesWanted,
): Omit<JobLinesAnswer, 'totals'> | null {
  const condition = conditionOf(query, words);
  if (condition === null) return { lines: [], waits: [], read: 0 };
  const newest = newestJobs(db, words, condition, query, wanted);
  if (newest === null) return null;
  const { keys, numbers, waits, read } = newest;
  const { since, until } = query;
  const parameters = { ...condition.parameters, since, until, jobs: JSON.stringify([...numbers]) };
  const sums = prepared<object, Sums>(db, sumsQuery(condition), 'raw').all(parameters);
  if (sums.some(mayBeOther)) return null;
  const fullest = prepared<object, Chosen>(db, fullestQuery(condition), 'raw').all(parameters);
  const ends = prepared<object, Chosen>(db, endsQuery(condition), 'raw').all(parameters);
  const listed = (row: Chosen): boolean => keys.has(keyOf(row));
  const ids = [...fullest, ...ends].filter(listed).map(([, , , id]) => id);
  const records = readRecords(db, words, wanted, ids);
  const fullestOf = new Map(fullest.map((row) => [keyOf(row), records.get(row[3])]));
  const endsOf = groupBy(ends, keyOf);
  const sumsOf = new Map(sums.map((row) => [keyOf(row), row]));
  const lines = [...keys].flatMap((key) => {
    const [own, most] = [sumsOf.get(key), fullestOf.get(key)];
    const ways = (endsOf.get(key) ?? []).flatMap(([, , , id, count]) => {
      const record = records.get(id);
      return record === undefined ? [] : [{ record, count }];
    });
    return own === undefined || most === undefined ? [] : (lineOf(own, most, ways, words) ?? []);
  });
  return { lines, waits, read };
}
