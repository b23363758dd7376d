import type { HistoryStore } from '../../accounting/history-store';
import { openHistory } from '../../accounting/open-store';
import { StoreError } from '../../accounting/store-error';
import { logChanges } from '../../base/log';
import type { InboxCounts } from '../../export/prometheus/server-metrics';
import { isPostgresUrl } from '../../record/postgres-url';
import type { Settings } from '../../record/settings';

const EVERY_MS = 5_000;
/** After an error that a person has to fix, the pause is this many times as long. */
const SELDOM = 12;

interface InboxWork {
  /** Since the start; null: there is no inbox. */
  readonly counts: () => InboxCounts | null;
  readonly stop: () => Promise<void>;
}

/**
 * Moves what nodes deliver to a PostgreSQL accounting DB from its inbox into its table, again and again;
 * meanwhile readers merge what waits. `everyMs`: the pause between rounds. `stop` resolves once the current round has
 * ended.
 */
export function settleInbox(settings: Settings, log: (line: string) => void, everyMs = EVERY_MS): InboxWork {
  if (!isPostgresUrl(settings.accounting)) return { counts: () => null, stop: () => Promise.resolve() };
  let counts: InboxCounts = { settled: 0, unreadable: 0 };
  const abort = new AbortController();
  let store: HistoryStore | null = null;
  let timer: NodeJS.Timeout | undefined;
  const logState = logChanges(log, 'the inbox is emptied again');
  const round = async (): Promise<void> => {
    let pauseMs = everyMs;
    try {
      store ??= await openHistory(settings);
      const { settled, unreadable } = await store.settle({ signal: abort.signal });
      counts = { settled: counts.settled + settled, unreadable: counts.unreadable + unreadable };
      logState(null);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      logState(`the inbox waits: ${error.message}`);
      // Opening the store again reads the password and the certificates again.
      await store?.close();
      store = null;
      if (!error.retry) pauseMs *= SELDOM;
    }
    if (!abort.signal.aborted) timer = setTimeout(() => void (working = round()), pauseMs);
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
