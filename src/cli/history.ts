import { StoreError } from '../accounting/store-error';
import type { HistoryStore } from '../accounting/history-store';
import type { Settings } from '../sampler/settings';

/** The accounting DB, to be imported into, summed and pruned. Rejects with StoreError. */
export async function openHistory({
  accounting,
  accounting_mode: mode,
}: Pick<Settings, 'accounting' | 'accounting_mode'>): Promise<HistoryStore> {
  if (!accounting.startsWith('/'))
    throw new StoreError(accounting, 'is no file of SQLite', 'set "accounting" to a path', false);
  const { openSqliteHistory } = await import('../accounting/sqlite/sqlite-history.js');
  return openSqliteHistory(accounting, parseInt(mode, 8));
}
