import { COVERAGE_REASONS } from '../../record/coverage';
import { factsOf, JOB_SPAN_MS, type Facts } from '../../record/facts';
import { countedAt } from '../../record/facts';
import type { JobRecord } from '../../record/record';
import { recordTest } from '../filter-record';
import type { RecordFilter } from '../store';
import { DIMENSIONS, type Dimension } from '../summary';
import { conditionOf, countedName, FAILED, Parameters, sameJob, type Source } from './record-filter';
import { notOf, type Snapshot, type Unsettled, type UnsettledRecord } from './snapshot';

const PAGE = 20_000;
const DAY_MS = 86_400_000;
const SELF_REPORTED = 3;

/** A record as sums see it. */
export interface FactRow {
  readonly countedAt: number;
  readonly cluster: string;
  /** One name per job and array task. */
  readonly job: string;
  /** Owner, project, queue, host, job name; null also where they were not asked for. */
  readonly keys: readonly (string | null)[];
  readonly facts: Facts;
  /** Whether its job has records that count on other days. */
  readonly elsewhere: boolean;
}

type Row = readonly [
  id: number,
  countedAt: number,
  cluster: string,
  job: string,
  owner: string | null,
  project: string | null,
  queue: string | null,
  host: string | null,
  name: string | null,
  status: number,
  coverage: number,
  sampled: number,
  killed: number,
  stands: boolean,
  failed: boolean,
  slots: number,
  wallclock: number | null,
  cpu: number | null,
  limit: number | null,
  requested: number | null,
  peak: number | null,
  used: number | null,
  energy: number | null,
  elsewhere: boolean,
];

/** What sums count: what the job's owner alone says only where that is asked for. */
const counted = (row: string, claimed = false): string => (claimed ? 'true' : `${row}.trust <> ${SELF_REPORTED}`);

function factsQuery(filter: RecordFilter, source: Source, dimensions: readonly Dimension[], without: string): string {
  const column = (name: Dimension): string => (name === 'job_name' ? countedName(source) : `r.${name}`);
  const keys = DIMENSIONS.map((name) => (dimensions.includes(name) ? column(name) : 'NULL'));
  // As `hostSlots` (facts.ts) says; trust 2: Grid Engine's accounting.
  const slots =
    'coalesce(r.host_slots, CASE WHEN r.trust <> 2 THEN 1 WHEN r.pe_task_id IS NULL THEN coalesce(r.slots, 1) ELSE 0 END)';
  const stands = `CASE WHEN r.pe_task_id IS NULL THEN true WHEN r.pe_task_id LIKE '1.%' THEN NOT EXISTS (
      SELECT ${sameJob(source)} AND m.pe_task_id IS NULL AND m.host_id = r.host_id AND ${counted('m')}) ELSE false END`;
  const elsewhere = `EXISTS (SELECT ${sameJob(source)} AND ${counted('m')}
      AND m.counted_at / ${DAY_MS} <> r.counted_at / ${DAY_MS})`;
  const parameters = new Parameters();
  const condition = conditionOf(filter, source, parameters);
  const at = parameters.values.length;
  return `SELECT r.id, r.counted_at, r.cluster, r.cluster || '/' || r.job_id || '/' || coalesce(r.task_id, 0), ${keys.join(', ')},
    r.status, r.coverage, r.sampled, r.killed_by_memory, ${stands}, ${FAILED}, ${slots}, r.wallclock_ms, r.cpu_ms,
    r.h_vmem_limit_bytes, r.requested_bytes, r.peak_rss_lower_bytes, r.rss_byte_seconds, r.energy_joules,
    ${dimensions.length > 1 ? elsewhere : 'false'}
  FROM ${source.records} AS r WHERE ${condition} AND ${counted('r', filter.claimed)}${without}
    AND (r.counted_at, r.id) > ($${at + 1}::bigint, $${at + 2}::bigint)
  ORDER BY r.counted_at, r.id LIMIT ${PAGE}`;
}

function readRow(row: Row): FactRow {
  return {
    countedAt: row[1],
    cluster: row[2],
    job: row[3],
    keys: row.slice(4, 9) as unknown as FactRow['keys'],
    facts: {
      running: row[9] === 1,
      reason: COVERAGE_REASONS[row[10]] ?? 'other',
      sampled: row[11] === 1,
      killed: row[12] === 1,
      standsForHost: row[13],
      failed: row[14],
      slots: row[15],
      wallclock: row[16],
      cpu: row[17],
      limit: row[18],
      requested: row[19],
      peak: row[20],
      used: row[21],
      energy: row[22],
    },
    elsewhere: row[23],
  };
}

/** Whether the record stands for its host among those of its job: as the query says it. */
function standsForHost(record: JobRecord, job: readonly JobRecord[]): boolean {
  if (record.pe_task_id === null) return true;
  const at = countedAt(record);
  return (
    record.pe_task_id.startsWith('1.') &&
    !job.some(
      (other) =>
        other.pe_task_id === null && other.host === record.host && Math.abs(countedAt(other) - at) <= JOB_SPAN_MS,
    )
  );
}

function unsettledRow({ stored: { record }, countedAt: at, name, job }: UnsettledRecord): FactRow {
  return {
    countedAt: at,
    cluster: record.cluster,
    job: `${record.cluster}/${record.job_id}/${record.task_id ?? 0}`,
    keys: [record.owner, record.project, record.queue, record.host, name],
    facts: factsOf(record, standsForHost(record, job)),
    elsewhere: false,
  };
}

/** Reads what sums need of the records that a filter selects, oldest first; resolves to how many. */
export async function eachFact(
  { db, source }: Snapshot,
  unsettled: Unsettled,
  filter: RecordFilter,
  dimensions: readonly Dimension[],
  take: (row: FactRow) => void,
): Promise<number> {
  const test = recordTest(filter);
  const waiting = unsettled.records
    .filter(
      ({ stored: { record }, name }) => test(record, name) && (filter.claimed || record.trust !== 'self-reported'),
    )
    .sort((a, b) => a.countedAt - b.countedAt);
  let next = 0;
  const takeUntil = (time: number): void => {
    for (; next < waiting.length; next++) {
      const one = waiting[next];
      if (one === undefined || one.countedAt > time) return;
      take(unsettledRow(one));
    }
  };
  const sql = factsQuery(filter, source, dimensions, notOf(unsettled.ids));
  const parameters = new Parameters();
  conditionOf(filter, source, parameters);
  let after: readonly [number, number] = [-1, -1];
  for (let read = 0; ;) {
    const rows = await db.rows<Row>(sql, [...parameters.values, ...after]);
    for (const row of rows) {
      takeUntil(row[1]);
      take(readRow(row));
    }
    read += rows.length;
    const last = rows.at(-1);
    if (rows.length < PAGE || last === undefined) {
      takeUntil(Infinity);
      return read + waiting.length;
    }
    after = [last[1], last[0]];
  }
}
