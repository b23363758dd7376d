import { destinationNow, type Destination } from './delivery/destination';
import { shareLogLimit } from '../base/log';
import { runMain } from './run-main';
import { NodeStore } from './node-store/node-store';
import { loadHostSettings } from '../record/settings';
import { HANDED_PAUSE_MS, tidyNode } from './node-store/storage';

/** `node flush.js SETTINGS`: what the epilog starts when no sampler was there to finish the job. */
runMain('flush', async () => {
  const path = process.argv[2] ?? '';
  const settings = loadHostSettings(path);
  shareLogLimit(settings.run_dir);
  const store = new NodeStore(settings.state_dir);
  try {
    const destination = (): Destination => destinationNow(path, settings);
    await tidyNode(store, settings, settings.delivery_patience, destination, HANDED_PAUSE_MS);
  } finally {
    store.close();
  }
});
