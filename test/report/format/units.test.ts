import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  formatBytes,
  formatCount,
  formatDuration,
  formatGibHours,
  formatMemoryTime,
  formatMemoryTimes,
  formatNumber,
  formatPercent,
  formatRequested,
  formatSlotTimes,
} from '../../../src/report/format/units';

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];

function bytesOf(text: string): number {
  const [number, unit] = text.split(' ');
  return Number(number) * 1024 ** UNITS.indexOf(unit ?? '');
}

const anyBytes = fc.oneof(fc.nat({ max: 2 ** 31 - 1 }), fc.maxSafeNat());

describe('formatBytes', () => {
  it('gives three significant digits and a binary unit', () => {
    assert.equal(formatBytes(0), '0 B');
    assert.equal(formatBytes(999), '999 B');
    assert.equal(formatBytes(1000), '0.977 KiB');
    assert.equal(formatBytes(1024), '1.00 KiB');
    assert.equal(formatBytes(1.53 * 1024 ** 3), '1.53 GiB');
    assert.equal(formatBytes(61 * 1024 ** 2), '61.0 MiB');
    assert.equal(formatBytes(480 * 1024 ** 2), '480 MiB');
    assert.equal(formatBytes(9.999 * 1024 ** 3), '10.0 GiB');
    assert.equal(formatBytes(99.96 * 1024 ** 3), '100 GiB');
    assert.equal(formatBytes(999.7 * 1024 ** 2), '0.976 GiB');
    assert.equal(formatBytes(16 * 1024 ** 4), '16.0 TiB');
  });

  it('is never wider than nine columns, whatever the size', () => {
    fc.assert(fc.property(anyBytes, (bytes) => formatBytes(bytes).length <= 9));
  });

  it('is within about half a percent of the value', () => {
    fc.assert(fc.property(anyBytes, (bytes) => Math.abs(bytesOf(formatBytes(bytes)) - bytes) <= bytes * 0.0052));
  });

  it('never overstates when rounding down, and never understates when rounding up', () => {
    fc.assert(
      fc.property(anyBytes, (bytes) => {
        assert.ok(bytesOf(formatBytes(bytes, 'down')) <= bytes * (1 + 1e-12));
        assert.ok(bytesOf(formatBytes(bytes, 'up')) >= bytes * (1 - 1e-12));
      }),
    );
  });
});

describe('formatRequested', () => {
  it('drops the zeros of a round size and nothing else', () => {
    assert.equal(formatRequested(4 * 1024 ** 3), '4 GiB');
    assert.equal(formatRequested(1.5 * 1024 ** 3), '1.5 GiB');
    assert.equal(formatRequested(100 * 1024 ** 2), '100 MiB');
    assert.equal(formatRequested(0), '0 B');
    fc.assert(fc.property(anyBytes, (bytes) => bytesOf(formatRequested(bytes)) === bytesOf(formatBytes(bytes))));
  });
});

describe('formatDuration', () => {
  it('writes durations up to a day like a clock', () => {
    assert.equal(formatDuration(0), '0 ms');
    assert.equal(formatDuration(0.05), '50 ms');
    assert.equal(formatDuration(0.9996), '1 s');
    assert.equal(formatDuration(4.2), '4.2 s');
    assert.equal(formatDuration(59.96), '0:01:00');
    assert.equal(formatDuration(5025), '1:23:45');
    assert.equal(formatDuration(86_399.6), '1d 0h');
    assert.equal(formatDuration(86_400 * 2 + 3 * 3600 + 1799), '2d 3h');
    assert.equal(formatDuration(86_400 * 2 + 23 * 3600 + 1800), '3d 0h');
  });
});

describe('formatPercent', () => {
  it('writes one decimal below ten', () => {
    assert.equal(formatPercent(0), '0 %');
    assert.equal(formatPercent(0.0001), '<0.1 %');
    assert.equal(formatPercent(0.096), '9.6 %');
    assert.equal(formatPercent(0.0996), '10 %');
    assert.equal(formatPercent(0.78), '78 %');
    assert.equal(formatPercent(12.34), '1,234 %');
  });

  it('writes 100 % only for all, so that 1 of 1,000 that failed is not forgotten', () => {
    assert.equal(formatPercent(0.9949), '99 %');
    assert.equal(formatPercent(0.995), '99.5 %');
    assert.equal(formatPercent(0.99999), '99.9 %');
    assert.equal(formatPercent(1), '100 %');
    assert.equal(formatPercent(1.004), '100 %');
  });
});

describe('formatCount, formatNumber, formatGibHours', () => {
  it('separate thousands with commas', () => {
    assert.equal(formatCount(999), '999');
    assert.equal(formatCount(12_345), '12,345');
    assert.equal(formatCount(1_234_567), '1,234,567');
    assert.equal(formatNumber(0), '0');
    assert.equal(formatNumber(0.0123), '0.012');
    assert.equal(formatNumber(3.1234), '3.12');
    assert.equal(formatNumber(1234.4), '1,234');
    assert.equal(formatGibHours(1024 ** 3 * 3600 * 15.25), '15.3');
  });
});

describe('amounts listed together', () => {
  it('have one unit, which follows the largest', () => {
    assert.deepEqual(formatMemoryTimes([12.3, 48], '·'), { texts: ['12.3', '48.0'], unit: 'GiB·h' });
    assert.deepEqual(formatMemoryTimes([0.0002, 0.00045], '·'), { texts: ['210', '472'], unit: 'KiB·h' });
    assert.deepEqual(formatMemoryTimes([0.02, 0.5], '·'), { texts: ['20.5', '512'], unit: 'MiB·h' });
    assert.deepEqual(formatMemoryTimes([0, 0], '·'), { texts: ['0', '0'], unit: 'GiB·h' });
    assert.equal(formatMemoryTime(1e-9, '·'), '0.001 KiB·h');
    assert.deepEqual(formatSlotTimes([0.3, 0.5], 'slot·'), { texts: ['0.300', '0.500'], unit: 'slot·h' });
    assert.deepEqual(formatSlotTimes([0.0005, 0.001], 'slot·'), { texts: ['1.80', '3.60'], unit: 'slot·s' });
  });

  it('are never shown as 0 unless they are', () => {
    const some = fc.double({ min: 1e-300, max: 1e9, noNaN: true });
    fc.assert(
      fc.property(some, some, (a, b) => {
        for (const text of [
          formatNumber(a),
          ...formatMemoryTimes([a, b], '·').texts,
          ...formatSlotTimes([a, b], '').texts,
        ])
          assert.doesNotMatch(text, /^0(\.0*)?$/);
      }),
    );
  });
});
