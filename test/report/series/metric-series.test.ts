import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { resample, summarize, toReadable, type MetricSeries } from '../../../src/report/series/metric-series';
import { renderSeriesCharts } from '../../../src/report/series/chart';
import { renderSeriesCsv, renderSeriesJson } from '../../../src/report/series/output';
import { displayWidth } from '../../../src/report/screen/text-width';
import { testScreen } from '../screens';

const START = Date.UTC(2026, 10, 20);

function series(kind: MetricSeries['kind'], values: readonly number[], instance = ''): MetricSeries {
  const at = values.map((_, index) => START + index * 10_000);
  return { metric: kind === 'counter' ? 'a_bytes' : 'b_celsius', instance, unit: '', kind, at, values };
}

describe('a series shown to people', () => {
  it('is a rate for a counter, without the interval in which the counter restarted', () => {
    assert.deepEqual(toReadable(series('counter', [0, 100, 100, 5, 25])), {
      at: [START + 10_000, START + 20_000, START + 40_000],
      values: [10, 0, 2],
      since: [START, START + 10_000, START + 30_000],
    });
  });

  it('is no rate of the moment between the last two readings of a job', () => {
    const ended = { ...series('counter', [0, 10, 20, 60]), at: [0, 10_000, 20_000, 20_022] };
    assert.deepEqual(toReadable(ended), { at: [10_000, 20_022], values: [1, 50 / 10.022], since: [0, 10_000] });
  });

  it('has a latest, a mean and a largest value', () => {
    assert.deepEqual(summarize(series('counter', [0, 100, 200, 600])), { latest: 40, mean: 20, max: 40 });
    const gauge = summarize({ ...series('gauge', [5, 1, 4]), at: [0, 1000, 4000] });
    assert.equal(gauge?.latest, 4);
    assert.equal(gauge.max, 5);
    assert.ok(Math.abs(gauge.mean - (5 * 1 + 1 * 1000 + 4 * 3000) / 4001) < 1e-9);
    assert.equal(summarize(series('counter', [7])), null);
    // The interval in which the counter restarted counts for neither of its neighbours.
    assert.deepEqual(summarize(series('counter', [0, 10, 0, 100])), { latest: 10, mean: 5.5, max: 10 });
  });

  it('keeps its peaks when resampled to fewer steps', () => {
    assert.deepEqual(resample(series('gauge', [1, 9, 2, 3]), 2), { values: [9, 3], stepSeconds: 15 });
    fc.assert(
      fc.property(
        fc.array(fc.nat(), { minLength: 1, maxLength: 50 }),
        fc.integer({ min: 1, max: 60 }),
        (list, steps) => {
          const { values } = resample(series('gauge', list), steps);
          assert.ok(values.length <= steps);
          assert.equal(Math.max(...values), Math.max(...list));
        },
      ),
    );
  });

  it('is drawn, the instance with the highest values first', () => {
    const lines = renderSeriesCharts(
      [series('counter', [0, 1, 2], 'sda'), series('counter', [0, 900, 5000], 'sdb')],
      60,
      testScreen(),
    );
    assert.equal(lines[0], 'a_bytes sdb');
    assert.match(lines.find((line) => line.includes('┤')) ?? '', /410 B\/s ┤/);
    assert.ok(lines.every((line) => displayWidth(line) <= 60));
    const many = Array.from({ length: 9 }, (_, index) => series('gauge', [1, 2, 3], `chip${index}`));
    assert.match(renderSeriesCharts(many, 60, testScreen()).at(-1) ?? '', /and 3 more/);
    assert.match(renderSeriesCharts([series('gauge', [4])], 60, testScreen()).join(''), /4 °C at most/);
  });

  it('is a line per value, or a line of JSON', () => {
    const all = [{ context: [['host', '=node1']] as const, series: [series('gauge', [1, 2.5], 'a,b')] }];
    assert.equal(
      renderSeriesCsv(all, ['host']),
      [
        'host,metric,instance,unit,kind,at,value\n',
        `'=node1,b_celsius,"a,b",,gauge,2026-11-20T00:00:00.000Z,1\n`,
        `'=node1,b_celsius,"a,b",,gauge,2026-11-20T00:00:10.000Z,2.5\n`,
      ].join(''),
    );
    assert.deepEqual(JSON.parse(renderSeriesJson(all, { host: 'h' })), {
      schema: 1,
      host: 'h',
      series: [
        {
          host: '=node1',
          metric: 'b_celsius',
          instance: 'a,b',
          unit: '',
          kind: 'gauge',
          at: ['2026-11-20T00:00:00.000Z', '2026-11-20T00:00:10.000Z'],
          values: [1, 2.5],
        },
      ],
    });
    assert.deepEqual(JSON.parse(renderSeriesJson([])), { schema: 1, series: [] });
  });
});
