import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Bracket, MemorySeries } from '../../../src/record/record';
import { bracketBar, shareBar } from '../../../src/server/web/charts/bar';
import { hostMap } from '../../../src/server/web/charts/host-map';
import { curveChart } from '../../../src/server/web/charts/curve';
import { distribution } from '../../../src/server/web/charts/quantiles';
import type { ClassRun } from '../../../src/server/accounting/class-shape';
import { compareChart } from '../../../src/server/web/charts/compare';
import { runsChart } from '../../../src/server/web/charts/runs';
import { courseChart } from '../../../src/server/web/charts/course';
import { courseOf } from '../../../src/report/series/course';
import { formatRequested } from '../../../src/report/format/units';
import type { Html } from '../../../src/server/web/html';
import { unlistedHost } from '../../../src/live/host-view';
import { GIB } from '../../live/snapshots';
import { bracketOf } from '../../support/records';

/** Checks that all attributes are valid numbers, and shares of the width at most 100 %. */
function checkNumbers(chart: Html | null): void {
  const text = chart?.toString() ?? '';
  // Amounts are 8 px to the left of a chart.
  assert.doesNotMatch(text, /NaN|Infinity|undefined|"-(?!8")\d/);
  for (const [, share = ''] of text.matchAll(/(?:x|x1|x2|width)="([\d.]+)%"/g)) assert.ok(Number(share) <= 100, share);
}

const bytes = fc.oneof(fc.integer({ min: 0, max: 2 ** 45 }), fc.constantFrom(0, 1));
const peakOf = (lower: number, more: number | null): Bracket => bracketOf(lower, more === null ? null : lower + more);

const runOf =
  (limit: number | null) =>
  (needed: number, index: number): ClassRun => ({
    ...{ cluster: 'c', job_id: index + 1, task_id: null, seconds: 60, needed_bytes: needed, requested_bytes: limit },
    submitted_at: '2026-11-20T13:00:00.000Z',
    ended_at: new Date(1.7e12 + index ** 3 * 1e6).toISOString(),
    stopped: limit !== null && needed > limit,
  });

const memoryChart = (series: MemorySeries, limit: number | null, peak: Bracket | null): Html | null =>
  curveChart({
    ...{ series: 'rss_bytes', values: series.rss_bytes, stepSeconds: series.step_seconds, peak },
    limit: limit === null ? null : { at: limit, text: `limit ${formatRequested(limit)}` },
  });

describe('charts', () => {
  it('stay within their bounds for any values', () => {
    fc.assert(
      fc.property(
        fc.array(bytes, { maxLength: 50 }),
        fc.option(bytes.map((limit) => limit + 1)),
        fc.double({ min: 0.001, max: 1e7, noNaN: true }),
        bytes,
        fc.option(bytes),
        (values, limit, step, lower, more) => {
          const series = { start: '2026-11-20T13:00:00.000Z', step_seconds: step, rss_bytes: values, others: {} };
          const curve = memoryChart(series, limit, peakOf(lower, more));
          checkNumbers(curve);
          for (const [, y = ''] of (curve?.toString() ?? '').matchAll(/[\dH.]+ ([\d.]+)H/g))
            assert.ok(Number(y) >= 22 && Number(y) <= 208, y);
          const course = courseOf([series, { ...series, step_seconds: step * 3 }, series]);
          checkNumbers(course && courseChart(course, limit, 'tasks'));
          checkNumbers(
            compareChart(
              [
                { name: '1', series },
                { name: '2', series: { ...series, step_seconds: 1 } },
              ],
              'rss_bytes',
              course,
            ),
          );
          checkNumbers(runsChart(values.map(runOf(limit)), { bytes: lower + 1, text: 'h_vmem=1G' }));
          checkNumbers(distribution(values, limit, 'peaks'));
          checkNumbers(bracketBar(lower, more === null ? null : lower + more, limit, 'peak'));
        },
      ),
    );
  });

  it('fill a bar up to its share', () => {
    assert.match(shareBar(0.5).toString(), /class="fill-good" width="50%"/);
    assert.match(shareBar(7).toString(), /class="fill-bad" width="100%"/);
    const bar = bracketBar(GIB, 2 * GIB, 4 * GIB, 'words').toString();
    assert.match(bar, /class="used" width="24\.51%"/);
    assert.match(bar, /class="band"\s+x="24\.51%"\s+width="24\.51%"/);
    assert.match(bar, /class="limit" x1="98\.04%"/);
  });

  it('round memory held down and needs of runs up, as screens do', () => {
    const [low, high] = [1.0077 * GIB, 2.7185 * GIB];
    const tasks = distribution([low, high], 4 * GIB, 'peaks')?.toString() ?? '';
    assert.match(tasks, /aria-label="peaks: smallest 1\.00 GiB, median 1\.86 GiB, largest 2\.71 GiB"/);
    assert.match(tasks, />2\.71 GiB<\/text>/);
    const runs = runsChart([low, 2.712 * GIB].map(runOf(null)), null)?.toString() ?? '';
    assert.match(runs, /aria-label="Peaks of 2 runs: at most 2\.72 GiB"/);
    assert.match(runs, /<title>1: 1\.01 GiB, no request<\/title>/);
    const series = { start: '2026-11-20T13:00:00.000Z', step_seconds: 60, rss_bytes: [low, high], others: {} };
    assert.match(memoryChart(series, null, null)?.toString() ?? '', /over 2m: highest 2\.71 GiB/);
    const course = courseOf([series, series]);
    assert.match((course && courseChart(course, null, 'tasks'))?.toString() ?? '', /over 2m: highest 2\.71 GiB/);
  });

  it('show a near limit to scale, and a distant one at the upper edge', () => {
    const series = { start: '2026-11-20T13:00:00.000Z', step_seconds: 60, rss_bytes: [GIB, 2 * GIB, GIB], others: {} };
    assert.match(memoryChart(series, 3 * GIB, null)?.toString() ?? '', /limit 3 GiB<\/text>/);
    assert.match(memoryChart(series, 64 * GIB, null)?.toString() ?? '', /limit 64 GiB, farther up<\/text>/);
    assert.equal(memoryChart({ ...series, rss_bytes: [0, 0] }, GIB, null), null);
  });

  it('show other series in their own units', () => {
    const cores = { series: 'cpu_cores', values: [1, 3.9, 2], stepSeconds: 60, peak: null };
    const text = curveChart({ ...cores, limit: { at: 4, text: '4 slots' } })?.toString() ?? '';
    const ticks = [...text.matchAll(/<text x="-8"[^>]*>([^<]*)</g)].map(([, tick]) => tick);
    assert.deepEqual(ticks, ['1 core', '2 cores', '3 cores', '4 cores']);
    assert.match(text, /aria-label="CPU over 3m: highest 3\.90 cores, 4 slots"/);
    const read = { ...cores, series: 'read_bytes_per_second', values: [0, 3 * 1024 ** 2], limit: null };
    assert.match(curveChart(read)?.toString() ?? '', />3 MiB\/s</);
    const unheard = { ...cores, series: 'rack_percent', values: [0, 40], limit: null };
    assert.match(curveChart(unheard)?.toString() ?? '', />20 %</);
  });

  it('show the median of many tasks, and the range of the others', () => {
    const flat = (gib: number, length: number): MemorySeries => ({
      start: '2026-11-20T13:00:00.000Z',
      step_seconds: 60,
      rss_bytes: Array.from({ length }, () => gib * GIB),
      others: {},
    });
    const nine = Array.from({ length: 9 }, (_, index) => flat(index + 1, 10));
    const course = courseOf([...nine, flat(20, 5)]);
    const text = (course && courseChart(course, null, 'tasks'))?.toString() ?? '';
    const levels = (name: string): readonly string[] => {
      const [, path = ''] = new RegExp(`class="${name}"[^>]*\\sd="M([^"]*)"`).exec(text) ?? [];
      return [...new Set([...path.matchAll(/[\d.]+ ([\d.]+)/g)].map(([, y = '']) => y))];
    };
    const y = (gib: number): string => String(Math.round((208 - (gib / 21) * 186) * 10) / 10);
    // The tenth and largest task ran half as long.
    assert.deepEqual(levels('curve'), [y(6), y(5)]);
    assert.deepEqual(levels('rest'), ['208', y(20), y(9)]);
  });

  it('have a square for each host, whatever its name is', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 1, maxLength: 120 }), (names) => {
        const map = hostMap(
          names.map((name) => unlistedHost(name, [], 'h_vmem')),
          'used',
        );
        const text = map?.toString() ?? '';
        assert.equal([...text.matchAll(/<title>[^<>]*: not known<\/title>/g)].length, names.length);
        checkNumbers(map);
      }),
    );
  });
});
