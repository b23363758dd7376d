import type { Database, Statement } from 'better-sqlite3';
import { setTimeout as sleep } from 'node:timers/promises';
import { DAY_MS } from '../../base/units';
import { dayOf, UNITS } from '../sums/periods';
import { missingPeriods, type LargerPeriod } from '../sums/roll-up';
import type { Upkeep } from '../upkeep';
import type { Words } from './database/dictionary';
import { prepared } from './database/prepared';
import { DELETE_RECORD, DELETE_SERIES } from './read/queries';
import { RollUps } from './sums/roll-up';
import { staleDays, summedPeriods } from './sums/rolled-rows';

/** Share of the time that is left to other writers, which retry the lock at least every 100 ms (SQLite). */
const PAUSE_SHARE = 0.2;
const LEAST_PAUSE_MS = 2;

const RECORDS_PER_TRANSACTION = 2000;
const PAGES_PER_TRANSACTION = 1000;

/** Records that count before a time, oldest first. Parameters: before, how many. */
export const OLD_RECORDS = `SELECT r.id, r.counted_at FROM record r INDEXED BY record_by_time
  WHERE r.counted_at < ? ORDER BY r.counted_at LIMIT ?`;
/** Such records that have a series. Parameters: from, before, how many. */
export const OLD_SERIES = `SELECT r.id, r.counted_at FROM record r INDEXED BY record_by_time
  JOIN series s ON s.record_id = r.id WHERE r.counted_at >= ? AND r.counted_at < ? ORDER BY r.counted_at LIMIT ?`;
/** The oldest period whose first day is before a day. Parameters: unit, day. */
const OLD_SUMS = 'SELECT day FROM rollup WHERE unit = ? AND day < ? ORDER BY day LIMIT 1';
const NEWEST = 'SELECT max(counted_at) FROM record';
const COUNT_OLD = 'SELECT count(*) FROM record r INDEXED BY record_by_time WHERE r.counted_at < ?';

/** After a transaction, lets other writers have their turn. */
async function pauseAfter(beganMs: number): Promise<void> {
  await sleep(Math.max(LEAST_PAUSE_MS, (performance.now() - beganMs) * PAUSE_SHARE));
}

/** The steps of one roll-up, or of one pruning. */
export class SqliteUpkeep implements Upkeep {
  private readonly rollUps: RollUps;

  constructor(
    private readonly db: Database,
    private readonly words: Words,
  ) {
    this.rollUps = new RollUps(db, words);
  }

  staleDays(): Promise<readonly number[]> {
    return Promise.resolve(staleDays(this.db));
  }

  putDay(day: number): Promise<boolean> {
    return this.inTurn(() => this.rollUps.putDay(day));
  }

  putNext(): Promise<boolean> {
    const missing = (): LargerPeriod | undefined => missingPeriods(summedPeriods(this.db))[0];
    // If there is nothing to do, no writer has to wait for the lock.
    if (missing() === undefined) return Promise.resolve(false);
    return this.inTurn(() => {
      const next = missing();
      if (next !== undefined) this.rollUps.putPeriod(next);
      return next !== undefined;
    });
  }

  newest(): Promise<number | null> {
    return Promise.resolve(prepared<[], number | null>(this.db, NEWEST, 'pluck').get() ?? null);
  }

  countRecords(before: number): Promise<number> {
    return Promise.resolve(prepared<[number], number>(this.db, COUNT_OLD, 'pluck').get(before * DAY_MS) ?? 0);
  }

  removeRecords(before: number): Promise<number | null> {
    const old = prepared<[number, number], [number, number]>(this.db, OLD_RECORDS, 'raw');
    const close = this.statement('INSERT OR IGNORE INTO pruned_day VALUES (?)');
    const forget = ['summed_day', 'rollup_largest'].map((table) =>
      this.statement(`DELETE FROM ${table} WHERE day = ?`),
    );
    const removals = [DELETE_RECORD, DELETE_SERIES].map((sql) => this.statement(sql));
    return this.inTurn(() => {
      const [stale] = staleDays(this.db, 0, before);
      if (stale !== undefined) {
        this.rollUps.putDay(stale);
        return 0;
      }
      const rows = old.all(before * DAY_MS, RECORDS_PER_TRANSACTION);
      for (const [id, counted] of rows) {
        close.run(dayOf(counted));
        for (const one of forget) one.run(dayOf(counted));
        for (const removal of removals) removal.run(id);
      }
      return rows.length > 0 ? rows.length : null;
    });
  }

  removeSeries(before: number): Promise<number | null> {
    const pruned = prepared<[], number>(this.db, 'SELECT until FROM pruned_series', 'pluck');
    const note = this.statement('UPDATE pruned_series SET until = ?');
    const old = prepared<[number, number, number], [number, number]>(this.db, OLD_SERIES, 'raw');
    const remove = this.statement(DELETE_SERIES);
    return this.inTurn(() => {
      const rows = old.all(pruned.get() ?? 0, before * DAY_MS, RECORDS_PER_TRANSACTION);
      for (const [id] of rows) remove.run(id);
      note.run(rows.at(-1)?.[1] ?? before * DAY_MS);
      return rows.length > 0 ? rows.length : null;
    });
  }

  removeSums(before: number): Promise<number | null> {
    const old = prepared<[number, number], number>(this.db, OLD_SUMS, 'pluck');
    return this.inTurn(() => {
      for (const [number, unit] of UNITS.entries()) {
        const day = old.get(number, before);
        if (day !== undefined) return this.rollUps.remove({ unit, day });
      }
      return null;
    });
  }

  /** Gives free pages back to the file system. */
  async giveSpaceBack(interrupted: () => boolean): Promise<number> {
    const pragma = (name: string): number => this.db.pragma(name, { simple: true }) as number;
    const size = pragma('page_size');
    let freed = 0;
    while (pragma('freelist_count') > 0 && !interrupted()) {
      const began = performance.now();
      const before = pragma('page_count');
      this.db.pragma(`incremental_vacuum(${PAGES_PER_TRANSACTION})`);
      const given = before - pragma('page_count');
      if (given <= 0) break;
      freed += given * size;
      await pauseAfter(began);
    }
    return freed;
  }

  /** Runs a transaction, then pauses for other writers. */
  private async inTurn<T>(step: () => T): Promise<T> {
    const began = performance.now();
    let done: T;
    try {
      done = this.db.transaction(step).immediate();
    } catch (error) {
      this.words.forget();
      throw error;
    }
    await pauseAfter(began);
    return done;
  }

  private statement(sql: string): Statement<[number], never> {
    return prepared<[number], never>(this.db, sql);
  }
}
