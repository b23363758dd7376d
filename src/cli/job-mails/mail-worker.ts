import { hostname } from 'node:os';
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { setTimeout as sleep } from 'node:timers/promises';
import { openReader } from '../../accounting/open-store';
import type { AccountingReader } from '../../accounting/store';
import { logChanges, reasonOf } from '../../base/log';
import { UserError } from '../../base/user-error';
import { loadSettings } from '../../record/settings';
import { delivererIdentity } from '../../sampler/delivery/outbox-feeder';
import { createMailer } from '../mail/mailer';
import { choicesByName } from '../nightly/digest-choices';
import { ledgerDirectory, openLedger, type Ledger } from '../nightly/ledger';
import { AskedJobs } from './asked-jobs';
import type { ClusterFacts } from './cluster-facts';
import { JobMails } from './job-mails';

/** A thread of the server that sends mails about single jobs. */

export interface MailWorkerSettings {
  /** The configuration's path. */
  readonly config: string;
}

/** What the thread says: a problem, or that the jobs that wait have to be known. */
export type MailWorkerWord = { readonly log: string } | { readonly wantsPending: true };

const EVERY_MS = 20_000;
const AGAIN_MS = 60_000;

const { config } = workerData as MailWorkerSettings;
const abort = new AbortController();
const say = (word: MailWorkerWord): void => parentPort?.postMessage(word);
const log = (line: string): void => say({ log: line });
const problem = logChanges(log, 'mails about jobs go again');
let facts: ClusterFacts | null = null;

/** Sends what comes until it is to stop. Rejects where the ledger, the accounting DB or the mail server can't be used. */
async function send(): Promise<void> {
  const settings = loadSettings(config);
  if (delivererIdentity(settings.deliver_as) !== null)
    throw new UserError('the server runs as root; start it as the user of deliver_as');
  const host = hostname();
  let ledger: Ledger | null = null;
  let reader: AccountingReader | null = null;
  try {
    // Beside the nightly job's, which keeps its own to itself while it works.
    const directory = join(ledgerDirectory(settings), '..', 'job-mails');
    ledger = openLedger(directory, `${host} ${process.pid} ${new Date().toISOString()}`, log);
    reader = await openReader(settings.accounting, { credentials: settings.accounting_credentials });
    const mails = new JobMails({
      settings,
      host,
      reader,
      ledger,
      asked: new AskedJobs(join(directory, 'asked.json'), log),
      mailer: () => createMailer(settings, host),
      choices: () => choicesByName(settings.digest_dir, ({ also }) => also.length > 0),
      now: () => new Date(),
      log,
    });
    while (!abort.signal.aborted) {
      const { wantsPending } = await mails.round(facts);
      problem(null);
      if (wantsPending) say({ wantsPending });
      await pause(EVERY_MS);
    }
  } finally {
    ledger?.close();
    await reader?.close();
  }
}

const pause = (ms: number): Promise<void> => sleep(ms, undefined, { signal: abort.signal }).catch(() => undefined);

async function keepSending(): Promise<void> {
  while (!abort.signal.aborted) {
    try {
      await send();
    } catch (error) {
      problem(`mails about jobs do not go, they are tried again: ${reasonOf(error)}`);
      await pause(AGAIN_MS);
    }
  }
}

parentPort?.on('message', (heard: ClusterFacts | null | 'stop') => {
  if (heard === 'stop') abort.abort();
  else facts = heard;
});
void keepSending().then(() => parentPort?.close());
