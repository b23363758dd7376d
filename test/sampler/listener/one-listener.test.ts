import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectListener } from '../../../src/sampler/listener/client';
import { retireListener } from '../../../src/sampler/listener/retire';
import { listenerPaths } from '../../../src/sampler/listener/socket-path';
import { DEFAULT_SETTINGS } from '../../../src/sampler/settings';
import { oneOf } from '../../tries';
import { temporaryDirectory } from '../temporary-directory';

const IGNORE = { take: () => undefined, lost: () => undefined };

function listenersOf(settingsPath: string): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
        return words.includes(settingsPath) && words.some((word) => word.endsWith('/listener/main.js'));
      } catch {
        return false;
      }
    })
    .map(Number);
}

describe('the listener of a node', () => {
  it('is one, however many samplers start at once; told to retire it stays for those it has, and no longer', (t) =>
    // Each has 5 s to come up and 2 s to greet: a machine that stands still for so long may try again.
    oneOf(3, async () => {
      const directory = temporaryDirectory(t);
      const settings = { ...DEFAULT_SETTINGS, run_dir: directory, listener_linger: 600 };
      const settingsPath = join(directory, 'qmemacct.toml');
      writeFileSync(settingsPath, `run_dir = "${directory}"\nlistener_linger = 600\n`);
      let most = 0;
      const watch = setInterval(() => (most = Math.max(most, listenersOf(settingsPath).length)), 5);
      const links = await Promise.all(Array.from({ length: 12 }, () => connectListener(settingsPath, settings, IGNORE)));
      clearInterval(watch);
      assert.ok(links.every((link) => link !== null));
      assert.equal(most, 1);
      for (const link of links.slice(1)) link.close();
      await retireListener(settings);
      await sleep(500);
      assert.ok(await links[0]?.sync(60_000), 'it left a sampler alone');
      links[0]?.close();
      for (let tries = 0; listenersOf(settingsPath).length > 0; tries++) {
        assert.ok(tries < 1200, 'it lingers');
        await sleep(50);
      }
      assert.ok(!existsSync(listenerPaths(settings).socket));
      await retireListener(settings);
    }));
});
