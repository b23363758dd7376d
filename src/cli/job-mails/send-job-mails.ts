import { Worker } from 'node:worker_threads';
import { reasonOf } from '../../base/log';
import { programPath } from '../../base/programs';
import type { Settings } from '../../record/settings';
import type { LiveUpdates } from '../../server/live/live-updates';
import { factsOf } from './cluster-facts';
import type { MailWorkerSettings, MailWorkerWord } from './mail-worker';

const EVERY_MS = 10_000;
const ENDS_WITHIN_MS = 10_000;

/**
 * Mails about single jobs, to owners who asked for them ("qmemacct digest"), from a thread of its own. `log` hears why
 * they can't go.
 */
export function sendJobMails(
  { mail_owners: rule }: Pick<Settings, 'mail_owners'>,
  settings: MailWorkerSettings,
  updates: Pick<LiveUpdates, 'live' | 'wantPending'>,
  log: (line: string) => void,
): { readonly stop: () => Promise<void> } {
  if (rule === 'nobody') return { stop: () => Promise.resolve() };
  const worker = new Worker(programPath('cli/job-mails/mail-worker'), { workerData: settings });
  const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
  worker.on('message', (word: MailWorkerWord) => {
    if ('log' in word) log(word.log);
    else void updates.wantPending();
  });
  worker.on('error', (error) => log(`mails about jobs do not go any more: ${reasonOf(error)}`));
  const timer = setInterval(() => {
    const live = updates.live.current();
    worker.postMessage(live === null ? null : factsOf(live.snapshot, live.view, new Date()));
  }, EVERY_MS);
  return {
    stop: async () => {
      clearInterval(timer);
      worker.postMessage('stop');
      const late = setTimeout(() => void worker.terminate(), ENDS_WITHIN_MS);
      await ended;
      clearTimeout(late);
    },
  };
}
