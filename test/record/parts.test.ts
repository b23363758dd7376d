import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { asStored, mergeRecords } from '../../src/record/merge';
import { partsOf } from '../../src/record/parts';
import { arbitraryRecord } from '../accounting/arbitrary-record';

describe('partsOf', () => {
  it('gives what merges to the same record again, in any order', () => {
    fc.assert(
      fc.property(
        fc.array(arbitraryRecord({ keys: 1 }), { minLength: 1, maxLength: 6 }),
        fc.boolean(),
        (made, turn) => {
          const stored = made.map(asStored).reduce((a, b) => mergeRecords(a, b));
          const parts = partsOf(stored).map(asStored);
          const again = (turn ? parts.toReversed() : parts).reduce((a, b) => mergeRecords(a, b));
          assert.deepEqual(again, stored);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('is the record itself where nobody else has added to it', () => {
    fc.assert(
      fc.property(arbitraryRecord(), (record) => {
        assert.deepEqual(partsOf(asStored(record)), [asStored(record).record]);
      }),
    );
  });
});
