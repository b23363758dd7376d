import { DAY_MS } from '../../base/units';
import { openForReading } from './database/open';

const LOOK_BACK_DAYS = 28;

const COUNT = 'SELECT count(*) AS count FROM record INDEXED BY record_by_time WHERE counted_at >= ? AND counted_at < ?';
const OLDEST = 'SELECT min(counted_at) AS at FROM record INDEXED BY record_by_time';
const NUMBERS = 'SELECT min(id) AS first, max(id) AS last FROM record';

/** How large an accounting DB in SQLite is, and what the records of a day add to it. */
export interface Growth {
  /** Of the file, including `spare_bytes`, the space that pruning has left free in it. */
  readonly bytes: number;
  readonly spare_bytes: number;
  /** By the records of the last four weeks and the mean size of a record; null: the store covers less than a day. */
  readonly bytes_a_day: number | null;
}

/** Throws StoreError. `now`: ms since the epoch. */
export function sqliteGrowth(path: string, now: number): Growth {
  const db = openForReading(path);
  try {
    const size = (pragma: string): number => Number(db.pragma(pragma, { simple: true }));
    const page = size('page_size');
    const [bytes, spare] = [size('page_count') * page, size('freelist_count') * page];
    const oldest = db.prepare<[], { at: number | null }>(OLDEST).get()?.at ?? now;
    const days = Math.min(LOOK_BACK_DAYS, (now - oldest) / DAY_MS);
    if (days < 1) return { bytes, spare_bytes: spare, bytes_a_day: null };
    const added = db.prepare<[number, number], { count: number }>(COUNT).get(now - days * DAY_MS, now)?.count ?? 0;
    // Ids rise and pruning removes the oldest, so all records need not be counted.
    const { first, last } = db.prepare<[], { first: number; last: number }>(NUMBERS).get() ?? { first: 0, last: 0 };
    const ofRecord = (bytes - spare) / (last - first + 1);
    return { bytes, spare_bytes: spare, bytes_a_day: (added / days) * ofRecord };
  } finally {
    db.close();
  }
}
