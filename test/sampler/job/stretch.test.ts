import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newStretch } from '../../../src/sampler/job/stretch';

/** Intervals after ticks of these costs, in ms. */
function intervals(costs: readonly number[], intervalMs = 1000, budget = 2): readonly number[] {
  const stretch = newStretch(intervalMs, budget);
  let cpu = 100;
  return [0, ...costs].map((cost) => stretch.afterTick((cpu += cost)));
}

describe('stretching', () => {
  it('leaves a cheap sampler alone', () => {
    assert.ok(intervals([10, 5, 5, 5, 5, 5, 5]).every((interval) => interval === 1000));
  });

  it('does not mind one dear tick', () => {
    assert.equal(intervals([5, 5, 5, 5, 5, 30, 5, 5]).at(-1), 1000);
  });

  it('keeps to the share where ticks are dear, at once, and goes back when they are not', () => {
    const dear = intervals([5, 5, 5, 5, 400, 400, 400, 400, 400, 400, 400]);
    assert.ok(Math.abs((dear.at(-1) ?? 0) - 20_000) < 1000, String(dear.at(-1)));
    assert.ok((intervals([500])[1] ?? 0) >= 20_000, 'a large job from its first tick on');
    const back = intervals([400, 400, 400, 400, 400, ...Array.from({ length: 12 }, () => 4)]);
    assert.equal(back.at(-1), 1000);
  });

  it('never waits longer than a minute', () => {
    assert.equal(intervals([90_000, 90_000, 90_000, 90_000, 90_000]).at(-1), 60_000);
  });
});
