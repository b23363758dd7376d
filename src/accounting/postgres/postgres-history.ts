import type { HistoryStore } from '../history-store';
import { connect } from './connect';
import type { ConnectOptions } from './connect';
import { storeOn } from './postgres-store';

const later = (): Promise<never> => Promise.reject(new Error('not built yet'));

/** The PostgreSQL store at a URL with all that the nightly job and the import need: for a member of qmemacct_owner. */
export function openPostgresHistory(url: string, options: ConnectOptions = {}): HistoryStore {
  const db = connect(url, options);
  return { ...storeOn(db), importedFiles: later, importLines: later, unreadableLines: later, rollUp: later, prune: later };
}
