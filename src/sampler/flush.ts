import { destinationNow, type Destination } from './delivery/destination';
import { runMain } from './run-main';
import { openNodeStore } from './node-store/node-store';
import { loadSettings } from '../record/settings';
import { HANDED_PAUSE_MS, tidyNode } from './node-store/storage';

/** `node flush.js SETTINGS`: what the epilog starts when no sampler was there to finish the job. */
runMain('flush', async () => {
  const path = process.argv[2] ?? '';
  const settings = loadSettings(path);
  const store = openNodeStore(settings.state_dir);
  try {
    const destination = (): Destination => destinationNow(path, settings);
    await tidyNode(store, settings, settings.delivery_patience, destination, HANDED_PAUSE_MS);
  } finally {
    store.close();
  }
});
