import { parentPort, workerData } from 'node:worker_threads';
import { logChanges, reasonOf } from '../../base/log';
import { UserError } from '../../base/user-error';
import { RequestRules } from '../../record/request-rules';
import { loadSettings } from '../../record/settings';
import { delivererIdentity } from '../../sampler/delivery/outbox-feeder';
import { openHistory } from '../stores/maintenance';
import { changedFiles } from './accounting-files';
import { waitForChange } from './follow-files';
import { importRound, siteFiles, watchedPaths } from './import-site';

/** A thread of the server that imports Grid Engine's accounting as it is written. */

export interface FollowSettings {
  /** The configuration's path. */
  readonly config: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const AGAIN_MS = 60_000;

const { config, env } = workerData as FollowSettings;
const abort = new AbortController();
const problem = logChanges((line) => parentPort?.postMessage(line), "Grid Engine's accounting is followed again");

/** Imports what comes until it is to stop. Rejects where the files can't be found, or the DB can't be written. */
async function follow(): Promise<void> {
  const settings = loadSettings(config);
  if (delivererIdentity(settings.deliver_as) !== null)
    throw new UserError('the server runs as root; start it as the user of deliver_as');
  const site = siteFiles(settings, env);
  const store = await openHistory(settings);
  try {
    const followed = { site, store, target: store, rules: new RequestRules(settings), changed: changedFiles() };
    while (!abort.signal.aborted) {
      const { problems } = await importRound(followed, { signal: abort.signal });
      problem(problems[0] ?? null);
      await waitForChange(watchedPaths(site), abort.signal);
    }
  } finally {
    await store.close();
  }
}

async function keepFollowing(): Promise<void> {
  while (!abort.signal.aborted) {
    try {
      await follow();
    } catch (error) {
      problem(`Grid Engine's accounting is not followed, causes come with the next import: ${reasonOf(error)}`);
      await waitForChange([], abort.signal, AGAIN_MS);
    }
  }
}

parentPort?.once('message', () => abort.abort());
void keepFollowing().then(() => parentPort?.close());
