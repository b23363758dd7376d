import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseSlotRanges } from '../../../src/gridengine/qstat/slot-ranges';

describe('parseSlotRanges', () => {
  it('reads each form that Grid Engine writes', () => {
    assert.deepEqual(parseSlotRanges('16'), [{ least: 16, most: 16, step: 1 }]);
    assert.deepEqual(parseSlotRanges('4-8'), [{ least: 4, most: 8, step: 1 }]);
    assert.deepEqual(parseSlotRanges('2-10:2, 12'), [
      { least: 2, most: 10, step: 2 },
      { least: 12, most: 12, step: 1 },
    ]);
    assert.deepEqual(parseSlotRanges('1-'), [{ least: 1, most: 9_999_999, step: 1 }]);
    assert.deepEqual(parseSlotRanges('-8'), [{ least: 1, most: 8, step: 1 }]);
  });

  it('leaves out what is none', () => {
    for (const text of ['', '-', 'a', '1-2-3', '1:', ',,', '99999999999']) assert.deepEqual(parseSlotRanges(text), []);
    assert.deepEqual(parseSlotRanges('x,3'), [{ least: 3, most: 3, step: 1 }]);
  });

  it('reads back any ranges', () => {
    const range = fc.record(
      { least: fc.nat(9999), most: fc.nat(9999), step: fc.integer({ min: 1, max: 99 }) },
      { noNullPrototype: true },
    );
    fc.assert(
      fc.property(fc.array(range, { minLength: 1, maxLength: 5 }), (ranges) => {
        const text = ranges.map(({ least, most, step }) => `${least}-${most}:${step}`).join(',');
        assert.deepEqual(parseSlotRanges(text), ranges);
      }),
    );
  });
});
