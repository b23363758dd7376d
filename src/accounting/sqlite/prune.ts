import type { Database } from 'better-sqlite3';
import type { LongWork, Pruned, Retention } from '../history-store';
import { DAY_MS, dayOf, UNITS } from '../sums/periods';
import type { Words } from './database/dictionary';
import { DELETE_RECORD, DELETE_SERIES } from './read/queries';
import { pauseAfter, RollUps } from './sums/roll-up';

const RECORDS_PER_TRANSACTION = 2000;
const PAGES_PER_TRANSACTION = 1000;

/** Records that count before a time, oldest first. Parameters: before, how many. */
export const OLD_RECORDS = `SELECT r.id, r.counted_at FROM record r INDEXED BY record_by_time
  WHERE r.counted_at < ? ORDER BY r.counted_at LIMIT ?`;
/** Those of them that have a series. Parameters: from, before, how many. */
export const OLD_SERIES = `SELECT r.id, r.counted_at FROM record r INDEXED BY record_by_time
  JOIN series s ON s.record_id = r.id WHERE r.counted_at >= ? AND r.counted_at < ? ORDER BY r.counted_at LIMIT ?`;
/** The oldest period whose first day is before a day. Parameters: unit, day. */
const OLD_SUMS = 'SELECT day FROM rollup WHERE unit = ? AND day < ? ORDER BY day LIMIT 1';
const STALE_BEFORE = 'SELECT day FROM stale_day WHERE day < ? ORDER BY day LIMIT 1';

/** The first UTC day that is kept; null: all are. */
function firstKept(days: number, now: number): number | null {
  return days > 0 ? Math.max(0, dayOf(now - days * DAY_MS)) : null;
}

interface Work {
  readonly db: Database;
  readonly words: Words;
  readonly done: { records: number; series: number; rollups: number; freed: number };
  readonly interrupted: () => boolean;
  /** Repeats a step, a transaction each, until it says that nothing is left. */
  readonly repeat: (step: () => boolean) => Promise<void>;
}

/** Each day is summed up before its first record goes, and its sums stay as they are from then on. */
async function pruneRecords({ db, words, done, repeat }: Work, kept: number): Promise<void> {
  const stale = db.prepare<[number], number>(STALE_BEFORE).pluck();
  const old = db.prepare<[number, number], [number, number]>(OLD_RECORDS).raw();
  const close = db.prepare<[number]>('INSERT OR IGNORE INTO pruned_day VALUES (?)');
  const forget = db.prepare<[number]>('DELETE FROM summed_day WHERE day = ?');
  const removals = [DELETE_RECORD, DELETE_SERIES].map((sql) => db.prepare<[number]>(sql));
  const rollUps = new RollUps(db, words);
  await repeat(() => {
    const day = stale.get(kept);
    if (day !== undefined) rollUps.putDay(day);
    return day !== undefined;
  });
  await repeat(() => {
    // Of a record that has come since.
    for (let day = stale.get(kept); day !== undefined; day = stale.get(kept)) rollUps.putDay(day);
    const rows = old.all(kept * DAY_MS, RECORDS_PER_TRANSACTION);
    for (const [id, counted] of rows) {
      close.run(dayOf(counted));
      forget.run(dayOf(counted));
      for (const removal of removals) removal.run(id);
    }
    done.records += rows.length;
    return rows.length === RECORDS_PER_TRANSACTION;
  });
}

async function pruneSeries({ db, done, repeat }: Work, kept: number): Promise<void> {
  const old = db.prepare<[number, number, number], [number, number]>(OLD_SERIES).raw();
  const remove = db.prepare<[number]>(DELETE_SERIES);
  let from = (db.prepare<[], number>('SELECT day FROM pruned_series').pluck().get() ?? 0) * DAY_MS;
  await repeat(() => {
    const rows = old.all(from, kept * DAY_MS, RECORDS_PER_TRANSACTION);
    for (const [id] of rows) remove.run(id);
    done.series += rows.length;
    from = rows.at(-1)?.[1] ?? from;
    if (rows.length === RECORDS_PER_TRANSACTION) return true;
    db.prepare<[number]>('UPDATE pruned_series SET day = max(day, ?)').run(kept);
    return false;
  });
}

/** Days, then the months and years that they are no longer whole in: the next roll-up makes these of the days left. */
async function pruneSums({ db, words, done, repeat }: Work, kept: number): Promise<void> {
  const old = db.prepare<[number, number], number>(OLD_SUMS).pluck();
  const rollUps = new RollUps(db, words);
  for (const [number, unit] of UNITS.entries())
    await repeat(() => {
      const day = old.get(number, kept);
      if (day !== undefined) done.rollups += rollUps.remove({ unit, day });
      return day !== undefined;
    });
}

/** Free pages to the file system, as far as the file is made for it. */
async function giveSpaceBack({ db, done, interrupted }: Work): Promise<void> {
  const pragma = (name: string): number => db.pragma(name, { simple: true }) as number;
  const size = pragma('page_size');
  while (pragma('freelist_count') > 0 && !interrupted()) {
    const began = performance.now();
    const before = pragma('page_count');
    db.pragma(`incremental_vacuum(${PAGES_PER_TRANSACTION})`);
    const given = before - pragma('page_count');
    if (given <= 0) return;
    done.freed += given * size;
    await pauseAfter(began);
  }
}

/**
 * Removes whole UTC days that are older than `rules` allow; sums are kept as long as the records that they are of. A file
 * that an earlier version made keeps its size (its free pages are used again) until, while nothing delivers,
 * `sqlite3 FILE "PRAGMA auto_vacuum = INCREMENTAL; VACUUM"` has been run once.
 */
export async function prune(
  db: Database,
  words: Words,
  rules: Retention,
  now: number,
  { signal, onProgress }: LongWork,
): Promise<Pruned> {
  const kept = {
    records: firstKept(rules.records, now),
    series: firstKept(rules.series, now),
    sums: firstKept(rules.rollups, now),
  };
  const done = { records: 0, series: 0, rollups: 0, freed: 0 };
  const interrupted = (): boolean => signal?.aborted ?? false;
  const counted = db
    .prepare<[number], number>('SELECT count(*) FROM record r INDEXED BY record_by_time WHERE r.counted_at < ?')
    .pluck();
  const expected = kept.records === null ? 0 : (counted.get(kept.records * DAY_MS) ?? 0);
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
      onProgress?.(done.records, Math.max(done.records, expected));
      await pauseAfter(began);
    }
  };
  const work: Work = { db, words, done, interrupted, repeat };
  if (kept.records !== null) await pruneRecords(work, kept.records);
  if (kept.series !== null) await pruneSeries(work, kept.series);
  if (kept.sums !== null && kept.records !== null) await pruneSums(work, Math.min(kept.sums, kept.records));
  await giveSpaceBack(work);
  return { ...done, complete: !interrupted() };
}
