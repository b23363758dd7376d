import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { bootId, TICKS_PER_SECOND, uptimeSeconds, wallClockOfTicks } from '../../../src/sources/proc/clock';
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

  it('turns ticks after boot into a time of day', () => {
    const now = Date.UTC(2026, 10, 1);
    assert.equal(wallClockOfTicks(100 * TICKS_PER_SECOND, 100, now), now);
    assert.equal(wallClockOfTicks(99.5 * TICKS_PER_SECOND, 100, now), now - 500);
  });

  it('finds the start of this very process', () => {
    const text = readFileSync('/proc/self/stat');
    const stat = parseStat(text, text.length);
    assert.ok(stat !== null);
    const start = wallClockOfTicks(stat.startTicks, uptimeSeconds(), Date.now());
    assert.ok(Math.abs(start - (Date.now() - process.uptime() * 1000)) < 2000);
  });
});
