import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadSettings } from '../../../src/record/settings';
import { ownStatus } from '../../../src/sampler/delivery/node-status';
import { NodeReadings } from '../../../src/sampler/listener/node-readings';
import { NodeStore } from '../../../src/sampler/node-store/node-store';
import { temporaryDirectory } from '../../support/temporary-directory';

/** Longer than the pause between two looks. */
const A_LOOK_MS = 1500;

it('heartbeats name the failing sources until they work again', async (t) => {
  const directory = temporaryDirectory();
  const path = join(directory, 'qmemacct.toml');
  const missing = join(directory, 'missing');
  const store = new NodeStore(directory);
  t.after(() => store.close());
  const readUntil = async (paths: string, enough: (failing: string) => boolean): Promise<void> => {
    writeFileSync(
      path,
      `state_dir = "${directory}"\nrun_dir = "${directory}"\n[sources.diskusage]\nenabled = true\npaths = ["${paths}"]\n`,
    );
    const settings = loadSettings(path);
    const readings = new NodeReadings(settings, path, () => undefined);
    try {
      do {
        readings.resume();
        await sleep(A_LOOK_MS);
        readings.pause();
      } while (!enough(JSON.stringify(ownStatus(store, settings)?.failing_sources)));
    } finally {
      await readings.close();
    }
  };
  assert.deepEqual(store.failing(), []);
  const failing = [{ source: 'diskusage', reason: `none of ${missing} exists` }];
  // Sources that this machine lacks, and that no setting asks for, are not among them.
  await readUntil(missing, (found) => found === JSON.stringify(failing));
  await readUntil('/', (found) => found === '[]');
});
