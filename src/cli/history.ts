import type { HistoryStore } from '../accounting/history-store';
import { StoreError } from '../accounting/store-error';
import type { Settings } from '../sampler/settings';

/** The accounting DB, to be imported into, summed and pruned. Rejects with StoreError. */
export async function openHistory(settings: Pick<Settings, 'accounting' | 'accounting_mode'>): Promise<HistoryStore> {
  const { openSqliteStore } = await import('../accounting/sqlite/sqlite-store.js');
  const store: object = openSqliteStore(settings.accounting, parseInt(settings.accounting_mode, 8));
  if ('rollUp' in store) return store as HistoryStore;
  throw new StoreError(settings.accounting, 'keeps no history yet', 'upgrade', false);
}
