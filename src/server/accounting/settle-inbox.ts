import type { HistoryStore } from '../../accounting/history-store';
import { openHistory } from '../../accounting/open-store';
import { StoreError } from '../../accounting/store-error';
import type { InboxCounts } from '../../export/prometheus/server-metrics';
import { isPostgresUrl } from '../../record/postgres-url';
import type { Settings } from '../../record/settings';

const EVERY_MS = 5_000;

interface InboxWork {
  /** Since the start; null: there is no inbox. */
  readonly counts: () => InboxCounts | null;
  readonly stop: () => Promise<void>;
}

/**
 * Moves what nodes deliver to a PostgreSQL accounting DB from its inbox into its table, again and again; where the
 * server's role may not, readers merge what waits. Resolves once the work in hand has ended.
 */
export function settleInbox(
  { accounting, accounting_credentials: credentials, accounting_mode: mode }: Settings,
  log: (line: string) => void,
): InboxWork {
  if (!isPostgresUrl(accounting)) return { counts: () => null, stop: () => Promise.resolve() };
  let counts: InboxCounts = { settled: 0, unreadable: 0 };
  const abort = new AbortController();
  let store: HistoryStore | null = null;
  let timer: NodeJS.Timeout | undefined;
  const round = async (): Promise<void> => {
    try {
      store ??= await openHistory(accounting, { credentials, mode: parseInt(mode, 8) });
      const { settled, unreadable } = await store.settle({ signal: abort.signal });
      counts = { settled: counts.settled + settled, unreadable: counts.unreadable + unreadable };
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      log(`the inbox waits: ${error.message}`);
      // A role that may only read.
      if (!error.retry) return;
    }
    if (!abort.signal.aborted) timer = setTimeout(() => void (working = round()), EVERY_MS);
  };
  let working = round();
  return {
    counts: () => counts,
    stop: async () => {
      abort.abort();
      clearTimeout(timer);
      await working;
      await store?.close();
    },
  };
}
