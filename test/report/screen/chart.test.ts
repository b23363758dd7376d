import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { renderChart } from '../../../src/report/screen/chart';
import { displayWidth } from '../../../src/report/screen/text-width';
import { testScreen } from '../screens';

const GIB = 1024 ** 3;
const screen = testScreen();
const seriesOf = (values: readonly number[], step = 1) => ({
  start: '2026-11-20T13:02:11Z',
  step_seconds: step,
  others: {},
  rss_bytes: values,
});

describe('renderChart', () => {
  it('draws the curve below the limit', () => {
    const lines = renderChart(seriesOf([1, 2, 3, 4].map((n) => (n * GIB) / 4)), 2 * GIB, 40, screen);
    assert.deepEqual(lines, [
      'limit 2 GiB ┤┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄┄',
      '            │',
      '            │',
      '            │',
      '   1.00 GiB ┤                     ██████',
      '            │              █████████████',
      '            │       ████████████████████',
      '            │███████████████████████████',
      '          0 └┴─────────────┴────────────',
      '             0             2s',
    ]);
  });

  it('labels the highest value as peaks are shown, rounded down', () => {
    const lines = renderChart(seriesOf([GIB, 2.7185 * GIB]), null, 60, screen);
    assert.match(lines[0] ?? '', /^2\.71 GiB ┤/);
  });

  it('labels parts of minutes by their seconds', () => {
    const [axis] = renderChart(seriesOf([1, 2], 48), 2, 110, screen).slice(-1);
    assert.match(axis ?? '', /^ *0 +15s +30s +45s +1m +1m 15s +1m 30s$/);
  });

  it('breaks the axis where the limit is far above', () => {
    const lines = renderChart(seriesOf([GIB, GIB]), 100 * GIB, 60, screen);
    assert.match(lines[0] ?? '', /^limit 100 GiB ┤┄+$/);
    assert.match(lines[1] ?? '', /≈$/);
    assert.match(lines[2] ?? '', /1\.00 GiB ┤█+$/);
  });

  it("draws memory beyond the limit above the limit's line", () => {
    const lines = renderChart(seriesOf([GIB, 3 * GIB, GIB, GIB]), 2 * GIB, 60, screen);
    assert.match(lines[2] ?? '', /^limit 2 GiB ┤┄+█+┄+$/);
  });

  it('draws nothing for a single value, for zeros only, or for steps of 0 s', () => {
    assert.deepEqual(renderChart(seriesOf([GIB]), null, 60, screen), []);
    assert.deepEqual(renderChart(seriesOf([0, 0, 0]), null, 60, screen), []);
    assert.deepEqual(renderChart(seriesOf([GIB, GIB], 0), null, 60, screen), []);
  });

  it('keeps to its width, to ASCII on ASCII screens, and draws every value above 0', () => {
    const values = fc.array(fc.integer({ min: 0, max: 2 ** 40 }), { minLength: 2, maxLength: 300 });
    fc.assert(
      fc.property(
        values,
        fc.option(fc.integer({ min: 1, max: 2 ** 41 })),
        fc.integer({ min: 40, max: 140 }),
        fc.boolean(),
        (list, limit, width, unicode) => {
          const lines = renderChart(seriesOf(list, 0.7), limit, width, testScreen({ unicode }));
          for (const line of lines) {
            assert.ok(displayWidth(line) <= width, line);
            if (!unicode) assert.match(line, /^[ -~]*$/);
          }
          if (list.every((value) => value > 0))
            assert.doesNotMatch(lines.at(-3)?.split(unicode ? /[│┤]/ : /[|+]/)[1] ?? '', / /);
        },
      ),
      { numRuns: 300 },
    );
  });
});
