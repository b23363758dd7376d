import type { Database } from 'better-sqlite3';
import type { LongWork, Pruned, Retention } from '../history-store';
import type { Words } from './dictionary';
import { DELETE_RECORD, DELETE_SERIES } from './queries';
import { dayRoller, pauseAfter } from './roll-up';
import { DAY_MS } from './stale-days';

const RECORDS_PER_TRANSACTION = 2000;
const PAGES_PER_TRANSACTION = 1000;
const ROLLUPS_PER_TRANSACTION = 5000;

/** Records that count before a time, oldest first. Parameters: before, how many. */
export const OLD_RECORDS =
  'SELECT r.id, r.counted_at FROM record r INDEXED BY record_by_time WHERE r.counted_at < ? ORDER BY r.counted_at LIMIT ?';
/** Those of them that have a series. Parameters: from, before, how many. */
export const OLD_SERIES = `SELECT r.id FROM record r INDEXED BY record_by_time JOIN series s ON s.record_id = r.id
  WHERE r.counted_at >= ? AND r.counted_at < ? ORDER BY r.counted_at LIMIT ?`;
const OLD_ROLLUPS = `DELETE FROM rollup WHERE (dimension, day, key, cluster_id) IN
  (SELECT dimension, day, key, cluster_id FROM rollup WHERE dimension = ? AND day < ? LIMIT ?)`;
const OLD_AGAIN = 'DELETE FROM rollup_again WHERE dimension = ? AND day < ?';
const DIMENSION_NUMBERS = [0, 1, 2, 3, 4, 5];

const dayOf = (ms: number): number => Math.floor(ms / DAY_MS);

/** The first UTC day that is kept; null: all are. */
function firstKept(days: number, now: number): number | null {
  return days > 0 ? dayOf(now - days * DAY_MS) : null;
}

function pages(db: Database): number {
  return db.pragma('page_count', { simple: true }) as number;
}

/**
 * Removes whole UTC days that are older than `rules` allow. Days are summed up before their records go; sums are kept as
 * long as their records at least. A file that an earlier version made keeps its size (its free pages are used again):
 * `sqlite3 FILE "PRAGMA auto_vacuum = INCREMENTAL; VACUUM"`, while nothing delivers, lets later prunes shrink it.
 */
export async function prune(
  db: Database,
  words: Words,
  rules: Retention,
  now: number,
  { signal, onProgress }: LongWork,
): Promise<Pruned> {
  const done = { records: 0, series: 0, rollups: 0, freed: 0 };
  const keptRecords = firstKept(rules.records, now);
  const keptSeries = firstKept(rules.series, now);
  const keptSums = keptRecords === null ? null : firstKept(rules.rollups, now);
  const interrupted = (): boolean => signal?.aborted ?? false;
  const say = (): void => onProgress?.(done.records + done.series + done.rollups, expected);
  let expected = 0;

  /** Repeats a step, a transaction each, until it says that nothing is left. */
  const repeat = async (step: () => boolean): Promise<void> => {
    const transaction = db.transaction(step);
    for (let more = true; more && !interrupted();) {
      const began = performance.now();
      try {
        more = transaction.immediate();
      } catch (error) {
        words.forget();
        throw error;
      }
      say();
      await pauseAfter(began);
    }
  };

  const removeRecord = [DELETE_RECORD, DELETE_SERIES].map((sql) => db.prepare<[number]>(sql));
  const count = (sql: string, ...parameters: number[]): number =>
    db
      .prepare<number[], number>(sql)
      .pluck()
      .get(...parameters) ?? 0;

  if (keptRecords !== null) {
    const before = keptRecords * DAY_MS;
    expected += count('SELECT count(*) FROM record r INDEXED BY record_by_time WHERE r.counted_at < ?', before);
    const stale = db.prepare<[number], number>('SELECT day FROM stale_day WHERE day < ? ORDER BY day LIMIT 1').pluck();
    const roll = dayRoller(db, words);
    await repeat(() => {
      const day = stale.get(keptRecords);
      if (day === undefined) return false;
      roll(day);
      return true;
    });
    const old = db.prepare<[number, number], [number, number]>(OLD_RECORDS).raw();
    const close = db.prepare<[number]>('INSERT OR IGNORE INTO pruned_day VALUES (?)');
    await repeat(() => {
      // A record that came in the meantime: its day is summed up first.
      for (let day = stale.get(keptRecords); day !== undefined; day = stale.get(keptRecords)) roll(day);
      const rows = old.all(before, RECORDS_PER_TRANSACTION);
      for (const [id, counted] of rows) {
        close.run(dayOf(counted));
        for (const statement of removeRecord) statement.run(id);
      }
      done.records += rows.length;
      return rows.length === RECORDS_PER_TRANSACTION;
    });
  }

  if (keptSeries !== null && keptSeries > 0) {
    const old = db.prepare<[number, number, number], number>(OLD_SERIES).pluck();
    const from = count('SELECT day FROM pruned_series') * DAY_MS;
    await repeat(() => {
      const ids = old.all(from, keptSeries * DAY_MS, RECORDS_PER_TRANSACTION);
      for (const id of ids) removeRecord[1]?.run(id);
      done.series += ids.length;
      if (ids.length === RECORDS_PER_TRANSACTION) return true;
      db.prepare<[number]>('UPDATE pruned_series SET day = max(day, ?)').run(keptSeries);
      return false;
    });
  }

  if (keptSums !== null && keptRecords !== null) {
    const first = Math.min(keptSums, keptRecords);
    const remove = db.prepare<[number, number, number]>(OLD_ROLLUPS);
    const removeAgain = db.prepare<[number, number]>(OLD_AGAIN);
    for (const dimension of DIMENSION_NUMBERS)
      await repeat(() => {
        const { changes } = remove.run(dimension, first, ROLLUPS_PER_TRANSACTION);
        removeAgain.run(dimension, first);
        done.rollups += changes;
        return changes === ROLLUPS_PER_TRANSACTION;
      });
  }

  const size = db.pragma('page_size', { simple: true }) as number;
  let free = db.pragma('freelist_count', { simple: true }) as number;
  while (free > 0 && !interrupted()) {
    const began = performance.now();
    const had = pages(db);
    db.pragma(`incremental_vacuum(${PAGES_PER_TRANSACTION})`);
    const given = had - pages(db);
    if (given <= 0) break;
    done.freed += given * size;
    free -= given;
    await pauseAfter(began);
  }
  return { ...done, complete: !interrupted() };
}
