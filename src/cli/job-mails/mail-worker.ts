import { hostname } from 'node:os';
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { openReader } from '../../accounting/open-store';
import type { AccountingReader } from '../../accounting/store';
import { logChanges } from '../../base/log';
import { createMailer } from '../mail/mailer';
import { choicesByName } from '../nightly/digest-choices';
import { ledgerDirectory, openLedger, type Ledger } from '../nightly/ledger';
import { keepAtWork, pause, threadSettings } from '../serve-thread';
import { AskedJobs } from './asked-jobs';
import type { ClusterFacts } from './cluster-facts';
import { JobMails } from './job-mails';

/** A thread of the server that sends mails about single jobs. */

export interface MailWorkerSettings {
  /** The configuration's path. */
  readonly config: string;
}

/** A message from the thread: a line for the log, or that it needs the list of waiting jobs. */
export type MailWorkerWord = { readonly log: string } | { readonly wantsPending: true };

const EVERY_MS = 20_000;

const { config } = workerData as MailWorkerSettings;
const abort = new AbortController();
const say = (word: MailWorkerWord): void => parentPort?.postMessage(word);
const log = (line: string): void => say({ log: line });
const problem = logChanges(log, 'mails about jobs are sent again');
let facts: ClusterFacts | null = null;

/** Sends mails until aborted. Rejects if the ledger, the accounting DB or the mail server can't be used. */
async function send(): Promise<void> {
  const settings = threadSettings(config);
  const host = hostname();
  let ledger: Ledger | null = null;
  let reader: AccountingReader | null = null;
  try {
    // Not the nightly job's ledger, which that job locks while it runs.
    const directory = join(ledgerDirectory(settings), '..', 'job-mails');
    const who = `${host} ${process.pid} ${new Date().toISOString()}`;
    ledger = openLedger(directory, who, log, 'another server sends them');
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
      await pause(EVERY_MS, abort.signal);
    }
  } finally {
    ledger?.close();
    await reader?.close();
  }
}

parentPort?.on('message', (heard: ClusterFacts | null | 'stop') => {
  if (heard === 'stop') abort.abort();
  else facts = heard;
});
const failed = (reason: string): void => problem(`mails about jobs can't be sent, trying again: ${reason}`);
void keepAtWork(send, abort.signal, failed).then(() => parentPort?.close());
