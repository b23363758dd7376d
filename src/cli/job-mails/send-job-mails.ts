import { startThread } from '../../base/thread';
import type { Settings } from '../../record/settings';
import type { LiveUpdates } from '../../server/live/live-updates';
import { factsOf } from './cluster-facts';
import type { MailWorkerSettings, MailWorkerWord } from './mail-worker';

const EVERY_MS = 10_000;

/**
 * Starts a thread that mails owners about single jobs if they asked for that ("qmemacct digest", or at submission).
 * `log` gets the reason why mails can't be sent.
 */
export function sendJobMails(
  { mail_owners: rule }: Pick<Settings, 'mail_owners'>,
  settings: MailWorkerSettings,
  updates: Pick<LiveUpdates, 'live' | 'wantPending'>,
  log: (line: string) => void,
): { readonly stop: () => Promise<void> } {
  if (rule === 'nobody') return { stop: () => Promise.resolve() };
  const { worker, stop } = startThread('cli/job-mails/mail-worker', settings, (reason) =>
    log(`mails about jobs are no longer sent: ${reason}`),
  );
  worker.on('message', (word: MailWorkerWord) => {
    if ('log' in word) log(word.log);
    else void updates.wantPending();
  });
  const timer = setInterval(() => {
    const live = updates.live.current();
    worker.postMessage(live === null ? null : factsOf(live.snapshot, live.view, new Date()));
  }, EVERY_MS);
  return {
    stop: () => {
      clearInterval(timer);
      return stop();
    },
  };
}
