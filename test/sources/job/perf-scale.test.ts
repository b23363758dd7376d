import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { PerfCount } from '../../../src/native/perf-event';
import { advance, combine, NOTHING_COUNTED, type Scaled } from '../../../src/sources/job/perf-scale';

const count = (raw: number, enabledNs: number, runningNs: number): PerfCount => ({ raw, enabledNs, runningNs });
const after = (...counts: readonly (PerfCount | null)[]): Scaled => counts.reduce(advance, NOTHING_COUNTED);

describe('advance', () => {
  it('does not scale an event that ran all the time', () => {
    assert.equal(after(count(10, 5, 5), count(25, 9, 9)).value, 25);
  });

  it('scales each stretch of time by its own share', () => {
    // 100 in all of the first 10 ns, then 100 in a quarter of the next 40.
    assert.equal(after(count(100, 10, 10), count(200, 50, 20)).value, 100 + 400);
  });

  it('makes up for time without a counter once the event has one again', () => {
    const waiting = after(count(100, 10, 10), count(100, 30, 10));
    assert.equal(waiting.value, 100);
    assert.equal(advance(waiting, count(200, 50, 30)).value, 100 + 200);
  });

  it('keeps counts of 0 ns', () => {
    assert.equal(after(count(1, 0, 0), count(2, 10, 10)).value, 2);
  });

  it('goes on where a counter wraps at 64 bits', () => {
    const full = 2 ** 64 - 4096;
    assert.equal(after(count(full, 10, 10), count(4096, 20, 20)).value, full + 8192);
  });

  it('leaves out readings that fail or go back', () => {
    const good = after(count(10, 5, 5));
    assert.deepEqual(advance(good, null), good);
    assert.deepEqual(advance(good, count(9, 6, 6)), good);
    assert.deepEqual(advance(good, count(11, 4, 4)), good);
    assert.deepEqual(advance(good, count(NaN, 6, 6)), good);
  });

  it('never shrinks, whatever is read', () => {
    const number = fc.oneof(fc.nat(1000), fc.constantFrom(0, 2 ** 53, 2 ** 63, 2 ** 64 - 1, NaN, -1));
    const reading = fc.option(fc.tuple(number, number, number).map(([a, b, c]) => count(a, b, c)));
    fc.assert(
      fc.property(fc.array(reading, { maxLength: 20 }), (readings) => {
        let before = NOTHING_COUNTED;
        for (const next of readings) {
          const now = advance(before, next);
          assert.ok(now.value >= before.value, `${before.value} -> ${now.value}`);
          before = now;
        }
      }),
    );
  });

  it('arrives at the true count of an even stream, however it is multiplexed', () => {
    const stretch = fc.tuple(fc.integer({ min: 1, max: 1000 }), fc.double({ min: 0.05, max: 1, noNaN: true }));
    fc.assert(
      fc.property(fc.array(stretch, { minLength: 1, maxLength: 30 }), (stretches) => {
        let now = count(0, 0, 0);
        let sum = NOTHING_COUNTED;
        for (const [length, share] of stretches) {
          now = count(now.raw + 7 * length * share, now.enabledNs + length, now.runningNs + length * share);
          sum = advance(sum, now);
        }
        assert.ok(Math.abs(sum.value - 7 * now.enabledNs) < 1e-6 * sum.value);
      }),
    );
  });
});

describe('combine', () => {
  it('adds the counts of two kinds of cores that ran in turn', () => {
    assert.deepEqual(combine([count(100, 10, 6), count(30, 10, 4)]), count(130, 10, 10));
  });

  it('returns null where a count is missing', () => {
    assert.equal(combine([count(1, 1, 1), null]), null);
    assert.equal(combine([]), null);
  });
});
