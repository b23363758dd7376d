import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { bootId, monotonicUs, ticksAt, uptimeSeconds, wallClockOfTicks } from '../../../src/sources/proc/clock';
import { parseStat } from '../../../src/sources/proc/stat';
import { fixtureRoot } from './fixtures';

describe('clock', () => {
  it('reads a fixture tree', () => {
    assert.equal(bootId(fixtureRoot('5.14')), '0badcafe-1234-4567-89ab-0123456789ab');
    assert.equal(uptimeSeconds(fixtureRoot('5.14')), 123456.78);
  });

  it('reads this machine', () => {
    assert.match(bootId(), /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    assert.ok(uptimeSeconds() > 0);
  });

  it('finds the start of a process, by wall clock and in ticks', async (t) => {
    const before = Date.now();
    const beforeUs = monotonicUs();
    const child = spawn('cat');
    t.after(() => child.kill('SIGKILL'));
    await once(child, 'spawn');
    const after = Date.now();
    const afterUs = monotonicUs();
    const text = readFileSync(`/proc/${child.pid ?? 0}/stat`);
    const stat = parseStat(text, text.length);
    assert.ok(stat !== null);
    const start = wallClockOfTicks(stat.startTicks);
    assert.ok(start > before - 200 && start < after + 200, `${start} is not in [${before}, ${after}]`);
    assert.ok(
      stat.startTicks >= ticksAt(beforeUs) - 20 && stat.startTicks <= ticksAt(afterUs),
      String(stat.startTicks),
    );
  });
});
