import { parentPort, workerData } from 'node:worker_threads';
import { logChanges } from '../../base/log';
import { RequestRules } from '../../record/request-rules';
import { keepAtWork, threadSettings } from '../serve-thread';
import { openHistory } from '../../accounting/open-store';
import { waitForChange } from './follow-files';
import { importRound, siteFiles, watchedPaths, type FollowedSite } from './import-site';

/** A thread of the server that imports Grid Engine's accounting as it is written. */

export interface FollowSettings {
  /** The configuration's path. */
  readonly config: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const { config, env } = workerData as FollowSettings;
const abort = new AbortController();
const problem = logChanges((line) => parentPort?.postMessage(line), "Grid Engine's accounting is followed again");

/** Imports new lines until aborted. Rejects if the files can't be found or the DB can't be written. */
async function follow(): Promise<void> {
  const settings = threadSettings(config);
  const site = siteFiles(settings, env);
  const store = await openHistory(settings);
  try {
    const rules = new RequestRules(settings);
    const followed: FollowedSite = { site, store, target: store, rules, seen: new Map() };
    while (!abort.signal.aborted) {
      const { problems } = await importRound(followed, { signal: abort.signal });
      const [first = null] = problems.values();
      problem(first);
      await waitForChange(watchedPaths(site), abort.signal);
    }
  } finally {
    await store.close();
  }
}

parentPort?.once('message', () => abort.abort());
const failed = (reason: string): void =>
  problem(`Grid Engine's accounting is not followed, causes come with the next import: ${reason}`);
void keepAtWork(follow, abort.signal, failed).then(() => parentPort?.close());
