import type { HistoryStore } from '../accounting/history-store';
import type { Settings } from '../sampler/settings';

/** The accounting DB, to be imported into, summed and pruned. Rejects with StoreError. */
export async function openHistory(settings: Pick<Settings, 'accounting' | 'accounting_mode'>): Promise<HistoryStore> {
  const { openSqliteHistory } = await import('../accounting/sqlite/sqlite-history.js');
  return openSqliteHistory(settings.accounting, parseInt(settings.accounting_mode, 8));
}
