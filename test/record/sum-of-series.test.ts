import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { sumOfSeries, type PartSeries } from '../../src/record/sum-of-series';

const T0 = Date.UTC(2026, 10, 1);
const iso = (ms: number): string => new Date(T0 + ms).toISOString();

function part(startMs: number, stepSeconds: number, rss: readonly number[], toMs = Infinity): PartSeries {
  return { series: { start: iso(startMs), step_seconds: stepSeconds, rss_bytes: rss, others: {} }, to: T0 + toMs };
}

describe('sumOfSeries', () => {
  it('is null without series, and the series itself if there is only one', () => {
    assert.equal(sumOfSeries([]), null);
    assert.equal(sumOfSeries([{ series: null, to: 0 }, part(0, 1, []), part(0, 0, [1])]), null);
    assert.deepEqual(sumOfSeries([part(0, 2, [5, 9, 3])]), {
      highest: 9,
      series: { start: iso(0), step_seconds: 2, rss_bytes: [5, 9, 3], others: {} },
    });
  });

  it('adds overlapping series at the coarser step', () => {
    assert.deepEqual(sumOfSeries([part(0, 1, [1, 2, 3, 4], 4000), part(2000, 2, [10, 20])]), {
      highest: 20,
      series: { start: iso(0), step_seconds: 2, rss_bytes: [2, 14, 20], others: {} },
    });
  });

  it('adds a part that begins later, and keeps the last value of a part that still lives', () => {
    const sum = sumOfSeries([part(0, 1, [1, 2, 3, 4]), part(1000, 1, [10, 20])]);
    assert.deepEqual(sum?.series.rss_bytes, [1, 12, 23, 24]);
    const late = sumOfSeries([part(0, 1, [5]), part(0, 1, [1, 1, 1, 1]), part(0, 1, [7], 1000)]);
    assert.deepEqual(late?.series.rss_bytes, [13, 6, 6, 6]);
  });

  it('adds up every other series, each where a part has it', () => {
    const including = (one: PartSeries, others: Readonly<Record<string, readonly number[]>>): PartSeries => ({
      ...one,
      series: one.series && { ...one.series, others },
    });
    const sum = sumOfSeries([
      including(part(0, 1, [1, 1, 1, 1]), { cpu_cores: [0.1, 0.2, 0.3, 0.4], swap_bytes: [0, 7, 7, 0] }),
      including(part(2000, 1, [1, 1]), { cpu_cores: [2, 3] }),
    ]);
    assert.deepEqual(sum?.series.others, { cpu_cores: [0.1, 0.2, 2.3, 3.4], swap_bytes: [0, 7, 7, 0] });
  });

  it('leaves out a series with an invalid start or step', () => {
    const [good, bad] = [part(0, 1, [1]), part(0, 1, [9])];
    const series = { step_seconds: 1, rss_bytes: [9], others: {}, start: 'x' };
    assert.deepEqual(sumOfSeries([{ ...bad, series }, part(0, NaN, [9]), good])?.series, good.series);
  });

  it('counts a part until its end, not until the end of its last step', () => {
    assert.equal(sumOfSeries([part(0, 10, [5], 4000), part(10_000, 10, [7])])?.highest, 7);
    assert.equal(sumOfSeries([part(0, 10, [5, 5], 12_000), part(13_000, 10, [7])])?.highest, 7);
    assert.equal(sumOfSeries([part(0, 10, [5, 5], 12_000), part(11_000, 10, [7])])?.highest, 12);
  });

  it('includes the time in which a part holds nothing yet', () => {
    const sum = sumOfSeries([part(1000, 1, [0, 0, 5])]);
    assert.deepEqual(sum?.series.rss_bytes, [0, 0, 5]);
    assert.equal(sumOfSeries([part(0, 1, [0])])?.highest, 0);
  });

  it('stays within 120 steps and between the largest value and the sum of the largest', () => {
    const series = fc
      .tuple(
        fc.nat({ max: 1e6 }),
        fc.integer({ min: 1, max: 5000 }),
        fc.array(fc.nat({ max: 1000 }), { maxLength: 240 }),
      )
      .map(([start, step, rss]) => part(start, step / 10, rss));
    fc.assert(
      fc.property(fc.array(series, { maxLength: 6 }), (parts) => {
        const sum = sumOfSeries(parts);
        const tops = parts.map((one) => Math.max(0, ...(one.series?.rss_bytes ?? [])));
        if (sum === null) {
          assert.ok(parts.every((one) => one.series?.rss_bytes.length === 0));
          return;
        }
        assert.ok(sum.series.rss_bytes.length <= 120);
        assert.equal(Math.max(...sum.series.rss_bytes), sum.highest);
        assert.ok(sum.highest >= Math.max(...tops) && sum.highest <= tops.reduce((a, b) => a + b, 0));
      }),
    );
  });
});
