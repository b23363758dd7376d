import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { packSeries, unpackSeries } from '../../../src/accounting/sqlite/series-codec';

const START = '2026-11-01T00:00:00.000Z';

it('gives any series back', () => {
  const point = fc.oneof(
    fc.nat().map((pages) => pages * 4096),
    fc.maxSafeNat(),
  );
  fc.assert(
    fc.property(fc.array(point, { maxLength: 240 }), fc.double({ min: 0, max: 1e12, noNaN: true }), (points, step) => {
      const series = { start: START, step_seconds: step + 0, rss_bytes: points };
      assert.deepEqual(unpackSeries(START, packSeries(series)), series);
    }),
  );
});

it('costs some 2 bytes a point', () => {
  const points = Array.from({ length: 240 }, (_unused, index) => 2 ** 30 + 4096 * ((index * 7919) % 500));
  assert.ok(packSeries({ start: START, step_seconds: 15, rss_bytes: points }).length < 500);
});
