import type { ImportedFile, UnreadableLine } from '../history-store';
import type { StoredRecord } from '../merge';
import { createWords } from './dictionary';
import { storeError } from './faults';
import { seriesOf } from './merger';
import type { FoundRow } from './merger';
import { openForReading } from './open';
import { fromRow, ROW_COLUMNS } from './row';

export interface NumberedRecord {
  readonly id: number;
  readonly stored: StoredRecord;
}

/** A store from its first record to its last, some at a time, while others go on writing to it. */
export interface WholeStore {
  readonly count: (after: number) => number;
  /** The next records after that number, in the order of their numbers; none: it was the last. */
  readonly next: (after: number, limit: number) => readonly NumberedRecord[];
  readonly files: () => readonly { readonly file: ImportedFile; readonly unreadable: readonly UnreadableLine[] }[];
  /** Days of which only the sums are left. */
  readonly prunedDays: () => number;
  readonly close: () => void;
}

const NEXT = `SELECT r.id, ${ROW_COLUMNS.map((column) => `r.${column}`).join(', ')},
    s.start AS series_start, s.points AS series_points
  FROM record r LEFT JOIN series s ON s.record_id = r.id WHERE r.id > ? ORDER BY r.id LIMIT ?`;
const FILES = `SELECT f.id, c.name AS cluster, f.head, f.head_bytes AS headBytes, f.path, f.device, f.inode, f.offset, f.lines
  FROM imported_file f JOIN cluster c ON c.id = f.cluster_id ORDER BY f.id`;

/** Opens the SQLite store at `path` to be read as a whole. Throws StoreError, as its functions do. */
export function openWholeStore(path: string): WholeStore {
  const db = openForReading(path);
  const words = createWords(db);
  const told = <T>(step: () => T): T => {
    try {
      return step();
    } catch (error) {
      throw storeError(path, error);
    }
  };
  const one = (sql: string, ...values: number[]): number =>
    told(
      () =>
        db
          .prepare<number[], number>(sql)
          .pluck()
          .get(...values) ?? 0,
    );
  return {
    count: (after) => one('SELECT count(*) FROM record WHERE id > ?', after),
    next: (after, limit) =>
      told(() =>
        db
          .prepare<[number, number], FoundRow & { readonly id: number }>(NEXT)
          .all(after, limit)
          .map((row) => ({ id: row.id, stored: fromRow(row, seriesOf(row), words) })),
      ),
    files: () =>
      told(() => {
        const kept = db.prepare<[number], UnreadableLine>(
          'SELECT offset, reason, text FROM unreadable_line WHERE file_id = ? ORDER BY offset',
        );
        return db
          .prepare<[], ImportedFile & { readonly id: number }>(FILES)
          .all()
          .map(({ id, ...file }) => ({ file, unreadable: kept.all(id) }));
      }),
    prunedDays: () => one('SELECT count(*) FROM pruned_day'),
    close: () => void db.close(),
  };
}
