import type { HistoryStore } from '../../accounting/history-store';
import type { Settings } from '../../record/settings';
import { delivererIdentity } from '../../sampler/delivery/outbox-feeder';

/** The accounting DB, to be imported into, summed and pruned. Rejects with StoreError. */
export async function openHistory({
  accounting,
  accounting_credentials: credentials,
  accounting_mode: mode,
}: Pick<Settings, 'accounting' | 'accounting_credentials' | 'accounting_mode'>): Promise<HistoryStore> {
  const { openHistory: open } = await import('../../accounting/open-store.js');
  return open(accounting, { credentials, mode: parseInt(mode, 8) });
}

/**
 * Root becomes the user that the accounting DB belongs to, for good: root is nobody on most network file systems, and a
 * file that it made would shut that user out. Anybody else, or where `deliver_as` is root, stays. Throws UserError.
 */
export function becomeDeliverer(settings: Pick<Settings, 'deliver_as'>): void {
  const identity = delivererIdentity(settings.deliver_as);
  if (identity === null) return;
  // Missing from the types.
  (process as { readonly initgroups?: (user: number, group: number) => void }).initgroups?.(identity.uid, identity.gid);
  process.setgid?.(identity.gid);
  process.setuid?.(identity.uid);
  process.chdir('/');
}
