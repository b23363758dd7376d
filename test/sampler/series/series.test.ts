import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  addOthers,
  addToSeries,
  copyOfSeries,
  filled,
  filledSoFar,
  newSeries,
  othersOf,
  settleSeries,
  type OpenImage,
  type Series,
} from '../../../src/sampler/series/series';

const START = Date.UTC(2026, 10, 1);
const MOST_STEPS = 120;

function seriesOf(...samples: readonly (readonly [number, number])[]): Series {
  const series = newSeries(START);
  for (const [ms, bytes] of samples) addToSeries(series, START + ms, bytes);
  return series;
}

describe('a series', () => {
  it('is empty before the first sample', () => {
    assert.deepEqual(filled(newSeries(START)), []);
  });

  it('keeps the largest sum of each step', () => {
    assert.deepEqual(filled(seriesOf([0, 5], [10, 9], [20, 7], [60, 3])), [9, 3]);
  });

  it('ends, while the job runs, with the last sum, not the largest of its step', () => {
    const day = 86_400_000;
    const spike = seriesOf([0, 5], [day - 3000, 9], [day - 2000, 2]);
    assert.equal(filled(spike).at(-1), 9);
    assert.equal(filledSoFar(spike).at(-1), 2);
    assert.deepEqual(filledSoFar(newSeries(START)), []);
    const workers = seriesOf([0, 5]);
    const images = [1, 2].map((pid): OpenImage => ({ image: `${pid}/0`, bytes: 10 }));
    addToSeries(workers, START + 10, 3, images);
    const copy = copyOfSeries(workers);
    settleSeries(copy, new Map([['1/0', true]]));
    assert.deepEqual([filledSoFar(workers), filledSoFar(copy)], [[3], [13]]);
  });

  it('repeats the last sum in a step without a sample', () => {
    assert.deepEqual(filled(seriesOf([0, 5], [160, 7])), [5, 5, 5, 7]);
    assert.deepEqual(filled(seriesOf([110, 5])), [0, 0, 5]);
  });

  it('distinguishes a sum of zero from a missing sample', () => {
    assert.deepEqual(filled(seriesOf([0, 5], [60, 0], [160, 2])), [5, 0, 0, 2]);
  });

  it('counts a sample from before its start in the first step', () => {
    assert.deepEqual(filled(seriesOf([-500, 5], [0, 3])), [5]);
  });

  it('doubles its steps when it is full', () => {
    const series = seriesOf([0, 1], [50, 2], [5950, 3]);
    assert.equal(series.stepMs, 50);
    addToSeries(series, START + 6000, 4);
    assert.equal(series.stepMs, 100);
    const values = filled(series);
    assert.deepEqual([values[0], values[1], values[59], values[60]], [2, 2, 3, 4]);
  });

  it('covers a job of years in at most as many steps', () => {
    const series = seriesOf([0, 1], [3 * 365 * 86_400_000, 2]);
    assert.ok(series.values.length <= MOST_STEPS && series.values.length > MOST_STEPS / 2);
    assert.equal(filled(series).at(-1), 2);
    assert.equal(filled(series)[0], 1);
  });

  it('never loses its largest sum or the step in which that was', () => {
    const samples = fc.array(fc.tuple(fc.nat(10_000_000), fc.nat(1_000_000)), { minLength: 1, maxLength: 300 });
    fc.assert(
      fc.property(samples, (unordered) => {
        const ordered = [...unordered].sort(([a], [b]) => a - b);
        const series = seriesOf(...ordered);
        const values = filled(series);
        assert.ok(values.length <= MOST_STEPS);
        assert.equal(Math.max(...values), Math.max(...ordered.map(([, bytes]) => bytes)));
        for (const [ms, bytes] of ordered) assert.ok((values[Math.floor(ms / series.stepMs)] ?? -1) >= bytes);
      }),
    );
  });
});

describe('the other series of a job', () => {
  /** One sample a second: `cpu` seconds of CPU time so far, `swap` bytes. */
  function sampled(seconds: number, cpu: (second: number) => number, swap: (second: number) => number): Series {
    const series = newSeries(START);
    for (let second = 1; second <= seconds; second++) {
      addToSeries(series, START + second * 1000, 1);
      addOthers(series, START + second * 1000, {
        amounts: { swap_bytes: swap(second) },
        counters: { cpu_cores: cpu(second) },
      });
    }
    return series;
  }

  it('hold the rate of a counter at each step, and the largest amount', () => {
    for (const seconds of [3, 100, 777, 5000]) {
      const others = othersOf(
        sampled(
          seconds,
          (second) => 3 * second,
          (second) => (second === 2 ? 4096 : 1024),
        ),
      );
      assert.deepEqual([...new Set(others.cpu_cores)], [3], String(seconds));
      assert.ok(others.swap_bytes?.includes(4096));
    }
  });

  it('show when a counter grew, and add up to its growth', () => {
    const series = sampled(
      1000,
      (second) => Math.max(0, second - 500) * 2,
      () => 0,
    );
    const { cpu_cores: cores = [], ...others } = othersOf(series);
    assert.deepEqual(others, {});
    assert.equal(cores.length, series.values.length);
    const sum = cores.reduce((all, rate) => all + (rate * series.stepMs) / 1000, 0);
    assert.ok(Math.abs(sum - 1000) < 30, String(sum));
    assert.deepEqual([cores[10], cores.at(-1)], [0, 2]);
  });

  it('leave out what was never above 0, and have a value for each step', () => {
    const series = newSeries(START);
    assert.deepEqual(othersOf(series), {});
    addToSeries(series, START + 10_000, 5);
    addOthers(series, START, { amounts: { gpu_percent: 7 } });
    const { gpu_percent: percent = [] } = othersOf(series);
    assert.deepEqual(new Set(percent), new Set([7]));
    assert.equal(percent.length, series.values.length);
  });
});

describe('images that may still execute a program', () => {
  const images: readonly OpenImage[] = [
    { image: '101/0', bytes: 10 },
    { image: '102/0', bytes: 20 },
  ];

  it('count once it is known that they never ran another program', () => {
    const series = newSeries(START);
    addToSeries(series, START, 5, images);
    addToSeries(series, START + 10, 30);
    assert.deepEqual(filled(series), [30]);
    settleSeries(series, new Map([['101/0', false]]));
    assert.deepEqual(filled(series), [30]);
    settleSeries(series, new Map([['102/0', true]]));
    assert.deepEqual(filled(series), [30]);
    addToSeries(series, START + 60, 5, images);
    settleSeries(series, new Map(images.map(({ image }) => [image, true])));
    assert.deepEqual(filled(series), [30, 35]);
  });

  it('are never added up over samples of different times, however long the steps become', () => {
    const names: readonly string[] = ['a', 'b', 'c', 'd'];
    const looks = fc.array(
      fc.record({
        gap: fc.integer({ min: 1, max: 20_000 }),
        bytes: fc.nat({ max: 100 }),
        images: fc.array(fc.record({ image: fc.constantFrom(...names), bytes: fc.nat({ max: 100 }) }), {
          maxLength: 4,
        }),
      }),
      { minLength: 1, maxLength: 60 },
    );
    fc.assert(
      fc.property(looks, fc.uniqueArray(fc.constantFrom(...names)), (seen, own) => {
        const series = newSeries(START);
        let at = START;
        let most = 0;
        let least = 0;
        for (const { gap, bytes, images: open } of seen) {
          at += gap;
          addToSeries(series, at, bytes, open);
          least = Math.max(least, bytes);
          most = Math.max(
            most,
            open.reduce((sum, { image, bytes: more }) => sum + (own.includes(image) ? more : 0), bytes),
          );
        }
        settleSeries(series, new Map(names.map((image) => [image, own.includes(image)])));
        const drawn = Math.max(...filled(series));
        assert.ok(drawn >= least && drawn <= most, `${drawn} is not within ${least} and ${most}`);
        assert.equal(series.open.filter((sum) => sum !== null).length, 0);
      }),
    );
  });
});
