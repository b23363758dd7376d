import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { withEarlierMetrics } from '../../../src/sampler/figures/earlier-metrics';
import { ALL_FACTS } from '../../../src/sampler/figures/job-facts';

const facts = ALL_FACTS.flatMap(({ metrics }) => metrics);
const nameOf = (kind: string): string => {
  const name = facts.find((metric) => metric.kind === kind)?.name;
  assert.ok(name !== undefined);
  return name;
};

const metrics = fc.dictionary(
  fc.constantFrom(...facts.slice(0, 40).map(({ name }) => name), 'unknown', 'constructor'),
  fc.nat({ max: 1e9 }),
  { noNullPrototype: true },
);

describe('metrics of two that watched one after the other', () => {
  it('add up what was counted, and keep the higher of the rest', () => {
    const counter = nameOf('counter');
    const gauge = nameOf('gauge');
    assert.deepEqual(withEarlierMetrics({ [counter]: 2, [gauge]: 5 }, { [counter]: 3, [gauge]: 9 }, new Set()), {
      [counter]: 5,
      [gauge]: 9,
    });
    // The kernel's own total goes on counting.
    assert.deepEqual(withEarlierMetrics({ [counter]: 7 }, { [counter]: 3 }, new Set([counter])), { [counter]: 7 });
  });

  it('lose no name and lower no figure', () => {
    fc.assert(
      fc.property(metrics, metrics, (now, earlier) => {
        const both = withEarlierMetrics(now, earlier, new Set());
        assert.deepEqual(new Set(Object.keys(both)), new Set([...Object.keys(now), ...Object.keys(earlier)]));
        for (const [name, value] of [...Object.entries(now), ...Object.entries(earlier)])
          assert.ok((both[name] as number) >= value, name);
      }),
    );
  });

  it('are those of the one, where the other has none', () => {
    fc.assert(
      fc.property(metrics, fc.boolean(), (some, absolute) => {
        const names = new Set(absolute ? Object.keys(some) : []);
        assert.deepEqual(withEarlierMetrics(some, {}, names), some);
        assert.deepEqual(withEarlierMetrics({}, some, names), some);
      }),
    );
  });
});
