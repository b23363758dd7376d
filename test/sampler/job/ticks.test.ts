import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { nextTick } from '../../../src/sampler/job/ticks';

function ticks(count: number, interval: number): readonly number[] {
  const ages: number[] = [];
  for (let age = 0; ages.length < count; ages.push(age)) age = nextTick(age, interval);
  return ages;
}

describe('nextTick', () => {
  it('looks often at first, then at every interval', () => {
    assert.deepEqual(ticks(8, 1000), [50, 100, 200, 400, 800, 1000, 2000, 3000]);
  });

  it('does not look less often at first than later', () => {
    assert.deepEqual(ticks(5, 300), [50, 100, 200, 300, 600]);
    assert.deepEqual(ticks(3, 20), [20, 40, 60]);
  });

  it('takes a long interval', () => {
    assert.deepEqual(ticks(7, 60_000), [50, 100, 200, 400, 800, 60_000, 120_000]);
  });

  it('does not fall behind: what was missed is left out', () => {
    assert.equal(nextTick(1003, 1000), 2000);
    assert.equal(nextTick(7999, 1000), 8000);
    assert.equal(nextTick(420, 1000), 800);
  });

  it('looks at once into a job that has not begun by this clock', () => {
    assert.equal(nextTick(-500, 1000), 50);
  });

  it('is always later, by no more than the interval', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 1e10, noNaN: true }),
        fc.integer({ min: 50, max: 3_600_000 }),
        (age, interval) => {
          const next = nextTick(age, interval);
          assert.ok(next > age && next <= age + interval);
        },
      ),
    );
  });
});
