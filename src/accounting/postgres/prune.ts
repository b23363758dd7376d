import type { LongWork, Pruned, Retention } from '../history-store';
import type { Connection } from './connect';
import type { Merger } from './merger';
import { DAY_MS, dayOf } from '../sums/periods';
import { putDay } from './sums/roll-up';
import { staleDays } from './sums/rolled-rows';

const PER_TRANSACTION = 5000;

/** The first UTC day that is kept; null: all are. */
function firstKept(days: number, now: number): number | null {
  return days > 0 ? dayOf(now - days * DAY_MS) : null;
}

const RECORDS = `WITH gone AS (DELETE FROM qmemacct.record WHERE id IN
    (SELECT r.id FROM qmemacct.record AS r WHERE r.counted_at < $1 ORDER BY r.counted_at LIMIT ${PER_TRANSACTION})
    RETURNING id, counted_at / ${DAY_MS} AS day),
  charts AS (DELETE FROM qmemacct.series WHERE record_id IN (SELECT id FROM gone)),
  closed AS (INSERT INTO qmemacct.pruned_day SELECT DISTINCT day FROM gone ON CONFLICT DO NOTHING),
  forgotten AS (DELETE FROM qmemacct.summed_day WHERE day IN (SELECT day FROM gone))
  SELECT count(*) FROM gone`;
const SERIES = `WITH gone AS (DELETE FROM qmemacct.series WHERE record_id IN
    (SELECT s.record_id FROM qmemacct.series AS s JOIN qmemacct.record AS r ON r.id = s.record_id
     WHERE r.counted_at < $1 LIMIT ${PER_TRANSACTION}) RETURNING 1)
  SELECT count(*) FROM gone`;
/** Of days, and of the months and years that they are no longer whole in. */
const SUMS = `WITH gone AS (DELETE FROM qmemacct.rollup AS u WHERE u.ctid = ANY (ARRAY(
    SELECT o.ctid FROM qmemacct.rollup AS o WHERE o.day < $1 LIMIT ${PER_TRANSACTION})) RETURNING 1),
  again AS (DELETE FROM qmemacct.rollup_again WHERE day < $1)
  SELECT count(*) FROM gone`;

/** Tables that rows are removed from. */
const TABLES = ['record', 'series', 'rollup', 'rollup_again'];
const SIZE = `SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_class
  WHERE oid = ANY ('{${TABLES.map((table) => `qmemacct.${table}`).join(',')}}'::regclass[])`;

/**
 * What has gone leaves room in the tables for what comes. Where more has gone than is left, the records are written anew,
 * so that the file system has the room: readers wait meanwhile; nodes do not, they deliver into the inbox. Resolves to
 * the bytes that were given back.
 */
async function giveSpaceBack(db: Connection, gone: number): Promise<number> {
  const number = async (sql: string): Promise<number> => (await db.rows<[number]>(sql))[0]?.[0] ?? 0;
  const before = await number(SIZE);
  for (const table of TABLES) await db.query(`VACUUM (ANALYZE) qmemacct.${table}`);
  const left = await number("SELECT reltuples::bigint FROM pg_class WHERE oid = 'qmemacct.record'::regclass");
  if (gone > left) for (const table of ['record', 'series']) await db.query(`VACUUM (FULL) qmemacct.${table}`);
  return Math.max(0, before - (await number(SIZE)));
}

/**
 * Removes whole UTC days that are older than `rules` allow, in batches, a transaction each.
 * Each day is summed up before its first record goes, and its sums stay as they are from then on, as long as records are
 * kept at least.
 */
export async function prune(
  db: Connection,
  merger: Merger,
  rules: Retention,
  now: number,
  { signal, onProgress }: LongWork,
): Promise<Pruned> {
  const done = { records: 0, series: 0, rollups: 0 };
  const keptRecords = firstKept(rules.records, now);
  const keptSeries = firstKept(rules.series, now);
  const keptSums = keptRecords === null ? null : firstKept(rules.rollups, now);
  const interrupted = (): boolean => signal?.aborted ?? false;
  const say = (): void => {
    const sum = done.records + done.series + done.rollups;
    onProgress?.(sum, sum);
  };
  const rollBefore = async (day: number): Promise<void> => {
    for (const stale of await staleDays(db, 0, day)) {
      if (interrupted()) return;
      await merger.alone((inner) => putDay(inner, stale));
      say();
    }
  };
  const remove = async (what: keyof typeof done, sql: string, before: number): Promise<void> => {
    for (let gone = 1; gone > 0 && !interrupted();) {
      gone = await merger.alone(async (inner) => {
        // Of a record that has come since.
        if (what === 'records') for (const day of await staleDays(inner, 0, dayOf(before))) await putDay(inner, day);
        return (await inner.rows<[number]>(sql, [before]))[0]?.[0] ?? 0;
      });
      done[what] += gone;
      say();
    }
  };

  if (keptRecords !== null) {
    await rollBefore(keptRecords);
    await remove('records', RECORDS, keptRecords * DAY_MS);
  }
  if (keptSeries !== null) await remove('series', SERIES, keptSeries * DAY_MS);
  if (keptSums !== null && keptRecords !== null) await remove('rollups', SUMS, Math.min(keptSums, keptRecords));
  const gone = done.records + done.series + done.rollups;
  const freed = gone === 0 || interrupted() ? 0 : await giveSpaceBack(db, done.records);
  return { ...done, freed, complete: !interrupted() };
}
