import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { sumSeries } from '../../src/live/sum-series';
import type { MemorySeries } from '../../src/sampler/record';
import { AT } from './snapshots';

const series = (offset: number, step: number, ...values: readonly number[]): MemorySeries => ({
  start: new Date(AT + offset * 1000).toISOString(),
  step_seconds: step,
  rss_bytes: values,
});

describe('sumSeries', () => {
  it('is the only one, as it is', () => {
    const one = series(0, 1, 3, 4);
    assert.equal(sumSeries([null, one]), one);
    assert.equal(sumSeries([null]), null);
    assert.equal(sumSeries([]), null);
  });

  it('adds series of equal steps', () => {
    assert.deepEqual(sumSeries([series(0, 1, 1, 2, 3), series(0, 1, 10, 20, 30)]), series(0, 1, 11, 22, 33));
  });

  it('lets one begin later, and keeps the last value of one that ends', () => {
    assert.deepEqual(sumSeries([series(0, 1, 1, 2, 3, 4), series(1, 1, 10, 20)]), series(0, 1, 1, 12, 23, 24));
  });

  it('goes by the longest step, with the largest value in it', () => {
    assert.deepEqual(sumSeries([series(0, 1, 1, 9, 3, 4), series(0, 2, 10, 20)]), series(0, 2, 19, 24));
  });

  it('leaves out what it can not read', () => {
    const good = series(0, 1, 1);
    const bad = [{ ...good, start: 'x' }, { ...good, step_seconds: 0 }, { ...good, step_seconds: NaN }, series(0, 1)];
    assert.equal(sumSeries([...bad, good]), good);
  });

  it('lies between the greatest and the sum of any series', () => {
    const any = fc.tuple(fc.nat(50), fc.constantFrom(1, 2, 5), fc.array(fc.nat(1000), { minLength: 1, maxLength: 20 }));
    fc.assert(
      fc.property(fc.array(any, { minLength: 1, maxLength: 4 }), (all) => {
        const sum = sumSeries(all.map(([offset, step, values]) => series(offset, step, ...values)));
        assert.ok(sum);
        const most = Math.max(...sum.rss_bytes);
        const peaks = all.map(([, , values]) => Math.max(...values));
        assert.ok(most >= Math.max(...peaks) && most <= peaks.reduce((a, b) => a + b));
      }),
    );
  });
});
