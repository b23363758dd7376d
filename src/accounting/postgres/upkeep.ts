import { DAY_MS } from '../../base/units';
import type { Upkeep } from '../upkeep';
import type { Connection } from './connect';
import type { Merger } from './merger';
import { nextPeriod, putDay, putNext } from './sums/roll-up';
import { staleDays } from './sums/rolled-rows';

const PER_TRANSACTION = 5000;

const RECORDS = `WITH gone AS (DELETE FROM qmemacct.record WHERE id IN
    (SELECT r.id FROM qmemacct.record AS r WHERE r.counted_at < $1 ORDER BY r.counted_at LIMIT ${PER_TRANSACTION})
    RETURNING id, counted_at / ${DAY_MS} AS day),
  charts AS (DELETE FROM qmemacct.series WHERE record_id IN (SELECT id FROM gone)),
  closed AS (INSERT INTO qmemacct.pruned_day SELECT DISTINCT day FROM gone ON CONFLICT DO NOTHING),
  forgotten AS (DELETE FROM qmemacct.summed_day WHERE day IN (SELECT day FROM gone)),
  unlisted AS (DELETE FROM qmemacct.rollup_largest WHERE day IN (SELECT day FROM gone))
  SELECT count(*) FROM gone`;
const SERIES = `WITH gone AS (DELETE FROM qmemacct.series WHERE record_id IN
    (SELECT s.record_id FROM qmemacct.series AS s JOIN qmemacct.record AS r ON r.id = s.record_id
     WHERE r.counted_at < $1 LIMIT ${PER_TRANSACTION}) RETURNING 1)
  SELECT count(*) FROM gone`;
const SUMS = `WITH gone AS (DELETE FROM qmemacct.rollup AS u WHERE u.ctid = ANY (ARRAY(
    SELECT o.ctid FROM qmemacct.rollup AS o WHERE o.day < $1 LIMIT ${PER_TRANSACTION})) RETURNING 1),
  again AS (DELETE FROM qmemacct.rollup_again WHERE day < $1)
  SELECT count(*) FROM gone`;

/** The number that a statement returns. */
async function numberOf(db: Pick<Connection, 'rows'>, sql: string, ...values: readonly number[]): Promise<number> {
  return (await db.rows<[number]>(sql, values))[0]?.[0] ?? 0;
}

async function remove(db: Pick<Connection, 'rows'>, sql: string, before: number): Promise<number | null> {
  const gone = await numberOf(db, sql, before);
  return gone > 0 ? gone : null;
}

/** Roll-ups and retention, as the one writer. */
export class PostgresUpkeep implements Upkeep {
  constructor(
    private readonly db: Connection,
    private readonly merger: Merger,
  ) {}

  staleDays(): Promise<readonly number[]> {
    return staleDays(this.db);
  }

  putDay(day: number): Promise<boolean> {
    return this.merger.alone((inner) => putDay(inner, day));
  }

  async putNext(): Promise<boolean> {
    // If there is nothing to do, no writer has to wait for the lock.
    return (await nextPeriod(this.db)) !== undefined && this.merger.alone(putNext);
  }

  async newest(): Promise<number | null> {
    const [row] = await this.db.rows<[number | null]>('SELECT max(counted_at) FROM qmemacct.record');
    return row?.[0] ?? null;
  }

  countRecords(before: number): Promise<number> {
    return numberOf(this.db, 'SELECT count(*) FROM qmemacct.record WHERE counted_at < $1', before * DAY_MS);
  }

  removeRecords(before: number): Promise<number | null> {
    return this.merger.alone(async (inner) => {
      const [stale] = await staleDays(inner, 0, before);
      if (stale === undefined) return remove(inner, RECORDS, before * DAY_MS);
      await putDay(inner, stale);
      return 0;
    });
  }

  removeSeries(before: number): Promise<number | null> {
    return this.merger.alone((inner) => remove(inner, SERIES, before * DAY_MS));
  }

  removeSums(before: number): Promise<number | null> {
    return this.merger.alone((inner) => remove(inner, SUMS, before));
  }

  /** Nothing: the server's autovacuum makes removed rows room for new ones. */
  giveSpaceBack(): Promise<number> {
    return Promise.resolve(0);
  }
}
