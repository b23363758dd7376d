import type { HistoryStore } from '../accounting/history-store';
import type { Settings } from '../record/settings';

/** The accounting DB, to be imported into, summed and pruned. Rejects with StoreError. */
export async function openHistory({
  accounting,
  accounting_credentials: credentials,
  accounting_mode: mode,
}: Pick<Settings, 'accounting' | 'accounting_credentials' | 'accounting_mode'>): Promise<HistoryStore> {
  const { openHistory: open } = await import('../accounting/open-store.js');
  return open(accounting, { credentials, mode: parseInt(mode, 8) });
}
