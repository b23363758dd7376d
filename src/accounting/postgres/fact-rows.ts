import { emptyRecord } from '../../record/record';
import type { JobRecord } from '../../record/record';
import { killedByMemory } from '../../record/cause';
import { coverageReason, isSampled } from '../../record/coverage';
import { endedBadly } from '../../record/facts';
import type { Facts } from '../../record/facts';
import type { RecordFilter } from '../store';
import type { Connection } from './connect';

const PAGE = 20_000;

/** A row of `read_facts`. Sizes in bytes, times in seconds. */
export interface FactRow {
  readonly id: number;
  /** Where it counts in time (ms). */
  readonly counted: number;
  /** One name per job and array task. */
  readonly job: string;
  /** The word that it is grouped by; of 'every', the job's name. */
  readonly key: string | null;
  readonly status: string;
  readonly stands: boolean;
  readonly slots: number;
  readonly wallclock: number | null;
  readonly cpu: number | null;
  readonly limit: number | null;
  readonly requested: number | null;
  readonly peak: number | null;
  readonly used: number | null;
  readonly energy: number | null;
  /** What is to be judged of the record; null: it was sampled, and ended in good order. */
  readonly more: Partial<JobRecord> | null;
  /** Numbers of its cluster, owner, project, queue and host. */
  readonly keys: readonly [number, number | null, number | null, number | null, number];
  /** Whether its job has records of other days; null: not asked for. */
  readonly elsewhere: boolean | null;
}

const NO_KEY = { cluster: '', job_id: 1, task_id: null, pe_task_id: null, host: '', run_id: '' };

/** What sums need of a row. */
export function factsOfRow(row: FactRow): Facts {
  const record = row.more === null ? null : { ...emptyRecord(NO_KEY, 'finished', 'root', 0), ...row.more };
  const ms = (seconds: number | null): number | null => (seconds === null ? null : seconds * 1000);
  const failed = record !== null && endedBadly(record);
  return {
    running: row.status === 'r',
    standsForHost: row.stands,
    slots: row.slots,
    wallclock: ms(row.wallclock),
    cpu: ms(row.cpu),
    limit: row.limit,
    requested: row.requested,
    peak: row.peak,
    used: row.used,
    energy: row.energy,
    failed,
    killed: failed && killedByMemory(record),
    sampled: record === null || isSampled(record),
    reason: record === null ? 'sampled' : coverageReason(record),
  };
}

/** A filter as the functions of the database take it: its times whole. */
export function filterJson(filter: RecordFilter): string {
  return JSON.stringify({ ...filter, since: Math.ceil(filter.since), until: Math.ceil(filter.until) });
}

/** Reads what sums need of the records that a filter selects, oldest first; resolves to how many. */
export async function eachFact(
  db: Pick<Connection, 'query'>,
  filter: RecordFilter,
  by: string,
  take: (row: FactRow) => void,
): Promise<number> {
  let after: readonly [number, number] = [-1, -1];
  for (let read = 0; ;) {
    const rows = await db.query<FactRow>('SELECT * FROM qmemacct.read_facts($1::text::jsonb, $2, $3, $4, $5)', [
      filterJson(filter),
      by,
      ...after,
      PAGE,
    ]);
    rows.forEach(take);
    read += rows.length;
    const last = rows.at(-1);
    if (rows.length < PAGE || last === undefined) return read;
    after = [last.counted, last.id];
  }
}
