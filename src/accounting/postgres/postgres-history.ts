import type { HistoryStore, ImportedFile, KeptLine } from '../history-store';
import { connect } from './connect';
import type { Connection, ConnectOptions } from './connect';
import { importLines } from './import-lines';
import { storeOn } from './postgres-store';
import { prune } from './prune';
import { rollUp } from './roll-up';

/** Of an integer of the database. */
const MOST = 2 ** 31 - 1;

/** The PostgreSQL store at a URL with all that the nightly job and the import need: for a member of qmemacct_owner. */
export function openPostgresHistory(url: string, options: ConnectOptions = {}): HistoryStore {
  return historyOn(connect(url, options));
}

/** The same over a connection. */
export function historyOn(db: Connection): HistoryStore {
  const store = storeOn(db);
  return {
    ...store,
    importedFiles: async (cluster) => {
      const rows = await db.query<{ file: ImportedFile }>('SELECT qmemacct.read_imported_files($1) AS file', [cluster]);
      return rows.map(({ file }) => file);
    },
    importLines: (batch) => importLines(db, batch),
    unreadableLines: async (cluster, limit) => {
      const rows = await db.query<{ line: KeptLine }>('SELECT qmemacct.read_unreadable_lines($1, $2) AS line', [
        cluster,
        Math.min(limit, MOST),
      ]);
      return rows.map(({ line }) => line);
    },
    rollUp: (work) => rollUp(db, work),
    prune: (rules, now, work) => prune(db, rules, now, work),
  };
}
