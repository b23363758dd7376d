import type { ImportedFile, UnreadableLine } from '../../history-store';
import type { StoredRecord } from '../../../record/merge';
import { createWords } from '../database/dictionary';
import { inStore, isStoreFault } from '../database/faults';
import type { Cell } from '../../cell-codec';
import { openForReading } from '../database/open';
import { FILE_COLUMNS, FROM_FILES } from '../import/imported-files';
import { columnAt, fromRow, SERIES_CELLS } from '../../row';
import { NEXT_WHOLE } from './queries';

/** A record and its id; `problem`: why this one can't be read back. */
export type NumberedRecord = { readonly id: number } & (
  { readonly stored: StoredRecord } | { readonly stored: null; readonly problem: string }
);

/** Sums over an owner's records in a cluster; times in seconds, of ended records only. */
export interface OwnerTotals {
  readonly cluster: string;
  readonly owner: string | null;
  readonly records: number;
  readonly cpu: number;
  readonly wallclock: number;
}

/** Reads a store from its first record to its last, batch by batch, while others go on writing to it. */
export interface WholeStore {
  readonly count: (after: number) => number;
  /** The next records after the id `after`, in the order of their ids; empty: there are no more. */
  readonly next: (after: number, limit: number) => readonly NumberedRecord[];
  /** Over the records up to the id `upTo`. */
  readonly totals: (upTo: number) => readonly OwnerTotals[];
  readonly files: () => readonly { readonly file: ImportedFile; readonly unreadable: readonly UnreadableLine[] }[];
  /** Days of which only the sums are left. */
  readonly prunedDays: () => number;
  readonly close: () => void;
}

const JOB_AT = 1 + SERIES_CELLS + columnAt('job_id');
const FILES = `SELECT f.id, ${FILE_COLUMNS} ${FROM_FILES} ORDER BY f.id`;
const RUNNING = 1;
const TOTALS = `SELECT c.name AS cluster, o.name AS owner, count(*) AS records,
    total(iif(r.status = ${RUNNING}, 0, r.cpu_ms)) / 1000 AS cpu,
    total(iif(r.status = ${RUNNING}, 0, r.wallclock_ms)) / 1000 AS wallclock
  FROM record r JOIN cluster c ON c.id = r.cluster_id LEFT JOIN owner o ON o.id = r.owner_id
  WHERE r.id <= ? GROUP BY r.cluster_id, r.owner_id`;

/** Opens the SQLite store at `path` to read it as a whole. Throws StoreError, as do the functions returned. */
export function openWholeStore(path: string): WholeStore {
  const db = openForReading(path);
  const words = createWords(db);
  const one = (sql: string, ...values: number[]): number =>
    inStore(
      db,
      () =>
        db
          .prepare<number[], number>(sql)
          .pluck()
          .get(...values) ?? 0,
    );
  const read = (cells: readonly Cell[]): NumberedRecord => {
    const id = Number(cells[0]);
    try {
      return { id, stored: fromRow(cells, 1, words) };
    } catch (error) {
      if (isStoreFault(error) || !(error instanceof Error)) throw error;
      return { id, stored: null, problem: `record ${id} (job ${cells[JOB_AT] ?? ''}): ${error.message}` };
    }
  };
  return {
    count: (after) => one('SELECT count(*) FROM record WHERE id > ?', after),
    next: (after, limit) =>
      inStore(db, () => db.prepare<[number, number], readonly Cell[]>(NEXT_WHOLE).raw().all(after, limit).map(read)),
    totals: (upTo) => inStore(db, () => db.prepare<[number], OwnerTotals>(TOTALS).all(upTo)),
    files: () =>
      inStore(db, () => {
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
