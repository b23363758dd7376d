import type { HistoryStore } from '../history-store';
import { openSqliteStore } from './sqlite-store';

const later = (): Promise<never> => Promise.reject(new Error('not built yet'));

/** The SQLite store at `path` with all that the nightly job and the import need. Throws StoreError. */
export function openSqliteHistory(path: string, mode: number): HistoryStore {
  return { ...openSqliteStore(path, mode), importedFiles: later, importLines: later, rollUp: later, prune: later };
}
