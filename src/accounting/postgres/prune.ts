import type { LongWork, Pruned, Retention } from '../history-store';
import type { Connection } from './connect';
import { rollDay, staleDays } from './roll-up';

const DAY_MS = 86_400_000;
const PER_TRANSACTION = 5000;

/** The first UTC day that is kept; null: all are. */
function firstKept(days: number, now: number): number | null {
  return days > 0 ? Math.floor((now - days * DAY_MS) / DAY_MS) : null;
}

/** Bytes of each month's tables with all that belongs to them, by name. */
async function monthSizes(db: Connection): Promise<ReadonlyMap<string, number>> {
  const rows = await db.query<{ name: string; bytes: number | null }>(
    `SELECT c.relname AS name, pg_total_relation_size(c.oid)::double precision AS bytes FROM pg_catalog.pg_class AS c
     WHERE c.relnamespace = 'qmemacct'::regnamespace AND c.relkind = 'r' AND c.relispartition`,
  );
  return new Map(rows.map(({ name, bytes }) => [name, bytes ?? 0]));
}

/** Of the tables that have gone: what is removed from one that stays is room for what comes, but not given back. */
async function freedSince(db: Connection, before: ReadonlyMap<string, number>): Promise<number> {
  const left = await monthSizes(db);
  let freed = 0;
  for (const [name, bytes] of before) if (!left.has(name)) freed += bytes;
  return freed;
}

/**
 * Removes whole UTC days that are older than `rules` allow: whole months by dropping their tables, else in batches, a
 * transaction each. Days are summed up before their records go; sums are kept as long as their records at least.
 */
export async function prune(
  db: Connection,
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
  const remove = async (what: keyof typeof done, sql: string, before: number): Promise<void> => {
    while (!interrupted()) {
      const [row] = await db.query<{ gone: number }>(sql, [before, PER_TRANSACTION]);
      const gone = row?.gone ?? 0;
      if (gone === NOT_SUMMED) {
        for (const day of await staleDays(db, before / DAY_MS)) await rollDay(db, day);
        continue;
      }
      done[what] += gone;
      say();
      if (gone === 0) break;
    }
  };

  const before = await monthSizes(db);
  if (keptRecords !== null) {
    for (const day of await staleDays(db, keptRecords)) {
      if (interrupted()) break;
      await rollDay(db, day);
      say();
    }
    await remove('records', 'SELECT qmemacct.prune_records($1, $2) AS gone', keptRecords * DAY_MS);
  }
  if (keptSeries !== null) await remove('series', 'SELECT qmemacct.prune_series($1, $2) AS gone', keptSeries * DAY_MS);
  if (keptSums !== null && keptRecords !== null)
    await remove('rollups', 'SELECT qmemacct.prune_rollups($1, $2) AS gone', Math.min(keptSums, keptRecords));
  return { ...done, freed: await freedSince(db, before), complete: !interrupted() };
}

/** What `prune_records` says where a day has yet to be summed up. */
const NOT_SUMMED = -1;
