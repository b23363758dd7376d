import type { HistoryStore } from '../history-store';
import { createWords } from './dictionary';
import { storeError } from './faults';
import { openForWriting } from './open';
import { prune } from './prune';
import { rollUp } from './roll-up';
import { storeOn } from './sqlite-store';

/** Roll-ups and imports come back to the same pages of the indexes. */
const CACHE_KIB = 64 * 1024;

const later = (): Promise<never> => Promise.reject(new Error('not built yet'));

/** The SQLite store at `path` with all that the nightly job and the import need. Throws StoreError. */
export function openSqliteHistory(path: string, mode: number): HistoryStore {
  const db = openForWriting(path, mode);
  db.pragma(`cache_size = -${CACHE_KIB}`);
  const words = createWords(db);
  const told = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      throw storeError(db.name, error);
    }
  };
  return {
    ...storeOn(db, words),
    importedFiles: later,
    importLines: later,
    rollUp: (work) => told(rollUp(db, words, work)),
    prune: (rules, now, work) => told(prune(db, words, rules, now, work)),
  };
}
