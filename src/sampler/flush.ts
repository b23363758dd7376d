import { destinationNow } from './destination';
import { reasonOf, warn } from './log';
import { openNodeStore } from './node-store';
import { loadSettings } from './settings';
import { tidyNode } from './storage';

/** `node flush.js SETTINGS`: what the epilog starts when no sampler was there to finish the job. */
async function main(): Promise<void> {
  process.umask(0o077);
  process.chdir('/');
  process.on('SIGXFSZ', () => undefined);
  const path = process.argv[2] ?? '';
  const settings = loadSettings(path);
  const store = openNodeStore(settings.state_dir);
  try {
    await tidyNode(store, settings, settings.delivery_patience, () => destinationNow(path, settings));
  } finally {
    store.close();
  }
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    warn(`flush: ${reasonOf(error)}`);
    process.exit(1);
  },
);
