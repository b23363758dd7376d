import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { createByteReader, createByteWriter } from '../../../src/accounting/sqlite/byte-codec';
import { DamagedRecord } from '../../../src/accounting/sqlite/damaged-record';

function sizeOf(value: number | null): number {
  const writer = createByteWriter();
  writer.number(value);
  return writer.finish().length;
}

it('gives any number back', () => {
  const numbers = fc.oneof(
    fc.constant(null),
    fc.maxSafeInteger(),
    fc.maxSafeNat().map((value) => value / 1000),
    fc.nat().map((value) => value / 1e6),
    fc.nat().map((value) => value * 1024),
    fc.double({ noNaN: true }).map((value) => value + 0),
  );
  fc.assert(
    fc.property(fc.array(numbers), (values) => {
      const writer = createByteWriter();
      values.forEach(writer.number);
      const reader = createByteReader(writer.finish());
      assert.deepEqual(
        values.map(() => reader.number()),
        values,
      );
      assert.ok(reader.atEnd());
    }),
    { numRuns: 2000 },
  );
});

it('gives signed and unsigned whole numbers back', () => {
  fc.assert(
    fc.property(fc.maxSafeInteger(), fc.maxSafeNat(), (signed, unsigned) => {
      const writer = createByteWriter();
      writer.signed(signed);
      writer.unsigned(unsigned);
      const reader = createByteReader(writer.finish());
      assert.equal(reader.signed(), signed);
      assert.equal(reader.unsigned(), unsigned);
    }),
  );
});

it('is short for what is common', () => {
  const sizes = [null, 0, 31, 4096, 2 ** 20, 64 * 2 ** 30, 1, 0.12, 3600.25, Math.PI].map(sizeOf);
  assert.deepEqual(sizes, [1, 1, 1, 1, 2, 5, 1, 2, 4, 9]);
});

it('calls a blob that ends too early damaged', () => {
  const writer = createByteWriter();
  writer.number(Math.PI);
  const blob = writer.finish();
  for (let length = 0; length < blob.length; length++)
    assert.throws(() => createByteReader(blob.subarray(0, length)).number(), DamagedRecord);
});
