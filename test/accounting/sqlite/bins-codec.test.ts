import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { addPackedBins, packBins } from '../../../src/accounting/sqlite/bins-codec';
import { newSums } from '../../../src/accounting/sums';

it('gives bins back, the hours in thousandths, and adds them to what is there', () => {
  const value = fc.oneof(fc.constant(0), fc.nat({ max: 1e9 }));
  const { hours, shares, coverage } = newSums();
  const length = hours.length + shares.length + coverage.length;
  fc.assert(
    fc.property(fc.array(value, { minLength: length, maxLength: length }), (values) => {
      const bins = newSums();
      let at = 0;
      for (const part of [bins.hours, bins.shares, bins.coverage])
        for (let index = 0; index < part.length; index++)
          part[index] = (values[at++] ?? 0) / (part === bins.hours ? 1000 : 1);
      const packed = packBins(bins);
      const twice = newSums();
      addPackedBins(twice, packed);
      assert.deepEqual([twice.hours, twice.shares, twice.coverage], [bins.hours, bins.shares, bins.coverage]);
      addPackedBins(twice, packed);
      assert.deepEqual(
        twice.shares,
        bins.shares.map((count) => 2 * count),
      );
    }),
  );
});

it('writes nothing for nothing', () => {
  assert.equal(packBins(newSums()).length, 0);
});
