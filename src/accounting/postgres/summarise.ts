import { emptyRecord } from '../../sampler/record';
import type { JobRecord } from '../../sampler/record';
import { killedByMemory } from '../cause';
import { coverageReason, isSampled } from '../coverage';
import { endedBadly } from '../facts';
import type { Facts } from '../facts';
import { nameClass } from '../name-class';
import type { RecordFilter } from '../store';
import type { SummaryAnswer, SummaryGroup, SummaryQuery } from '../summary';
import { summaryAnswer, zoneOffset } from '../summary-answer';
import { addFacts, addShiftedHours, addTotals, DEFAULT_FAR_BELOW, newSums, noTotals, stepsOf } from '../sums';
import type { MutableTotals, Sums } from '../sums';
import type { Connection } from './connect';

const DAY_MS = 86_400_000;
const PAGE = 20_000;

/** A row of `read_facts`. Sizes in bytes, times in seconds. */
interface FactRow {
  readonly id: number;
  readonly counted: number;
  readonly job: string;
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
}

const NO_KEY = { cluster: '', job_id: 1, task_id: null, pe_task_id: null, host: '', run_id: '' };

function factsOfRow(row: FactRow): Facts {
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

/** Only what is a filter, and its times whole. */
function filterJson(filter: RecordFilter): string {
  return JSON.stringify({ ...filter, since: Math.ceil(filter.since), until: Math.ceil(filter.until) });
}

async function eachFact(
  db: Pick<Connection, 'query'>,
  query: SummaryQuery,
  take: (row: FactRow) => void,
): Promise<number> {
  let after: readonly [number, number] = [-1, -1];
  for (let read = 0; ;) {
    const rows = await db.query<FactRow>('SELECT * FROM qmemacct.read_facts($1::text::jsonb, $2, $3, $4, $5)', [
      filterJson(query),
      query.by,
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

interface Group {
  readonly totals: MutableTotals;
  readonly jobs: Set<string>;
}

/** Sums over an interval, from its records. */
export async function summarise(db: Pick<Connection, 'query'>, query: SummaryQuery): Promise<SummaryAnswer> {
  const steps = stepsOf(query.far_below ?? DEFAULT_FAR_BELOW);
  const all = { ...newSums(), jobs: new Set<string>() };
  const groups = new Map<string | null, Group>();
  const groupOf = (key: string | null): Group => {
    const known = groups.get(key);
    if (known !== undefined) return known;
    const made = { totals: noTotals(), jobs: new Set<string>() };
    groups.set(key, made);
    return made;
  };
  let day = 0;
  let ofDay = new Map<string | null, Sums>();
  const flush = (): void => {
    for (const [key, sums] of ofDay) {
      addTotals(groupOf(key).totals, sums.totals);
      addTotals(all.totals, sums.totals);
      addShiftedHours(all.hours, sums.hours, zoneOffset(day));
      for (const name of ['shares', 'coverage'] as const)
        sums[name].forEach((value, index) => (all[name][index] = (all[name][index] ?? 0) + value));
    }
    ofDay = new Map();
  };
  const read = await eachFact(db, query, (row) => {
    const at = Math.floor(row.counted / DAY_MS);
    if (at !== day) flush();
    day = at;
    const key =
      query.by === 'day'
        ? new Date(day * DAY_MS).toISOString().slice(0, 10)
        : query.by === 'job_name' && row.key !== null
          ? nameClass(row.key)
          : row.key;
    let sums = ofDay.get(key);
    if (sums === undefined) ofDay.set(key, (sums = newSums()));
    addFacts(sums, factsOfRow(row), row.counted, steps);
    groupOf(key).jobs.add(row.job);
    all.jobs.add(row.job);
  });
  flush();
  const named = [...groups].map(([key, { totals, jobs }]): SummaryGroup => ({
    key,
    totals: { ...totals, jobs: jobs.size },
  }));
  const totals = { ...all.totals, jobs: all.jobs.size };
  return summaryAnswer({ ...all, totals, groups: named, read }, query);
}

export { filterJson };
