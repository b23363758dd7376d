import type { HistoryStore } from '../history-store';
import { countOld, prune, rollUp } from '../upkeep';
import { createWords } from './database/dictionary';
import { asPromise, stepError } from './database/faults';
import { LineImporter } from './import/import-lines';
import { importedFiles, unreadableLines } from './import/imported-files';
import { openForWriting } from './database/open';
import { storeOn } from './sqlite-store';
import { SqliteUpkeep } from './upkeep';

/** Roll-ups and imports read, and write, the same pages of the indexes again and again. */
const CACHE_KIB = 64 * 1024;

/** The SQLite store at `path` with all that the nightly job and the import need. Throws StoreError. */
export function openSqliteHistory(path: string, mode: number): HistoryStore {
  const db = openForWriting(path, mode);
  db.pragma(`cache_size = -${CACHE_KIB}`);
  const words = createWords(db);
  let importer: LineImporter | null = null;
  const withStoreErrors = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw stepError(db, error);
    }
  };
  return {
    ...storeOn(db, words),
    importedFiles: () => asPromise(db, () => importedFiles(db)),
    importLines: (batch) => asPromise(db, () => (importer ??= new LineImporter(db, words)).importLines(batch)),
    unreadableLines: (cluster, limit) => asPromise(db, () => unreadableLines(db, words, cluster, limit)),
    // Nothing to settle: nodes deliver straight into the table.
    settle: () => Promise.resolve({ settled: 0, unreadable: 0 }),
    rollUp: (work) => withStoreErrors(() => rollUp(new SqliteUpkeep(db, words), work)),
    countOld: (rules, now) => withStoreErrors(() => countOld(new SqliteUpkeep(db, words), rules, now)),
    prune: (rules, now, work) => withStoreErrors(() => prune(new SqliteUpkeep(db, words), rules, now, work)),
  };
}
