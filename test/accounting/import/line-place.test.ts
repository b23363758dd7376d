import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { beginOfFile, linePlacer, type LinePlace, type PlacedLine } from '../../../src/accounting/import/line-place';
import type { AccountingRecord } from '../../../src/gridengine/accounting-line';
import { arbitraryLine } from './arbitrary-line';

const BEGIN = beginOfFile('0123456789');

function placed(lines: readonly AccountingRecord[], begin = BEGIN): readonly PlacedLine[] {
  return lines.map(linePlacer(begin).next);
}

const lines = fc.array(arbitraryLine(5), { maxLength: 30 });

describe('linePlacer', () => {
  it('gives each line of a job that never started its own place, and leaves other lines unchanged', () => {
    fc.assert(
      fc.property(fc.uniqueArray(arbitraryLine(), { maxLength: 30, selector: ({ jobId }) => jobId }), (given) => {
        const made = placed(given);
        const places = made.flatMap(({ startTimeMs, place }) => (startTimeMs === null ? [place] : []));
        assert.equal(new Set(places).size, places.length);
        made.forEach((line, index) => line.startTimeMs === null || assert.equal(line, given[index]));
      }),
    );
  });

  it('goes on from the place of another placer', () => {
    fc.assert(
      fc.property(lines, lines, (before, after) => {
        const first = linePlacer(BEGIN);
        const made = before.map(first.next);
        assert.deepEqual([...made, ...placed(after, first.place())], placed([...before, ...after]));
      }),
    );
  });

  it('gives the same places after the first line of a job that started, whatever the file begins with', () => {
    fc.assert(
      fc.property(lines, (given) => {
        const from = given.findIndex(({ startTimeMs }) => startTimeMs !== null);
        const tail = from < 0 ? [] : given.slice(from);
        assert.deepEqual(placed(tail, beginOfFile('another')), placed(given).slice(given.length - tail.length));
      }),
    );
  });

  it('dates a line without an end by the line before it and by its submission', () => {
    const [usual] = fc.sample(arbitraryLine(), { numRuns: 1, seed: 3 });
    assert.ok(usual !== undefined);
    const never = (submissionTimeMs: number | null): AccountingRecord => ({
      ...{ ...usual, startTimeMs: null, endTimeMs: null, submissionTimeMs },
    });
    const started = { ...usual, startTimeMs: 1_700_000_000_000, endTimeMs: 1_700_000_060_400 };
    const ends = (begin: LinePlace): readonly (number | null)[] =>
      placed([never(5000), never(null), started, never(5000), never(1_800_000_000_000)], begin).map(
        ({ endTimeMs }) => endTimeMs,
      );
    const behind = [1_700_000_060_400, 1_700_000_060_000, 1_800_000_000_000];
    assert.deepEqual(ends(BEGIN), [5000, null, ...behind]);
    assert.deepEqual(ends(beginOfFile('', 1_700_000_060_000)), [1_700_000_060_000, 1_700_000_060_000, ...behind]);
    const withEnd = { ...never(5000), endTimeMs: 7000 };
    assert.equal(placed([started, withEnd])[1]?.endTimeMs, 7000);
  });

  it('ignores fractions of seconds, which only one format of the file has', () => {
    const [started] = fc.sample(arbitraryLine(), 20).filter(({ startTimeMs }) => startTimeMs !== null);
    assert.ok(started?.startTimeMs != null);
    const never = { ...started, startTimeMs: null, endTimeMs: null };
    const whole = Math.floor(started.startTimeMs / 1000) * 1000;
    const [a, b] = [whole, whole + 999].map((ms) => placed([{ ...started, startTimeMs: ms }, never])[1]?.place);
    assert.equal(a, b);
    assert.match(a ?? '', /^\d+\.[0-9a-f]{8}\.0$/);
  });
});
