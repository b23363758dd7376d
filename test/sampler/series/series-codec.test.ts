import assert from 'node:assert/strict';
import { describe, it, mock } from 'node:test';
import fc from 'fast-check';
import { mergeSeries, packSeries, unpackSeries, type NumberedSource } from '../../../src/sampler/series/series-codec';

const BASE = Date.UTC(2026, 10, 20);

const value = fc.option(
  fc.oneof(
    fc.integer(),
    fc.maxSafeInteger().map((number) => number + 0),
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
  ),
  { freq: 5 },
);

function columnOf(ticks: number): fc.Arbitrary<NumberedSource['columns'][number]> {
  return fc.record(
    {
      id: fc.nat({ max: 100_000 }),
      values: fc.oneof(
        fc.array(value, { minLength: ticks, maxLength: ticks }),
        fc.array(fc.integer({ min: -100, max: 1e6 }), { minLength: ticks, maxLength: ticks }),
        value.map((same) => new Array<number | null>(ticks).fill(same)),
      ),
    },
    { noNullPrototype: true },
  );
}

const source = fc.integer({ min: 0, max: 20 }).chain((ticks) =>
  fc.record(
    {
      id: fc.nat({ max: 1000 }),
      at: fc.array(
        fc.integer({ min: -1e7, max: 1e9 }).map((after) => BASE + after),
        { minLength: ticks, maxLength: ticks },
      ),
      columns: fc.array(columnOf(ticks), { maxLength: 5 }),
    },
    { noNullPrototype: true },
  ),
);
const sources = fc.array(source, { maxLength: 4 });

describe('packed series', () => {
  it('unpack to what they were, compressed or not', () => {
    fc.assert(
      fc.property(sources, fc.boolean(), (batch, further) => {
        assert.deepEqual(unpackSeries(BASE, packSeries(BASE, batch, further)), batch);
      }),
      { numRuns: 1000 },
    );
  });

  it('take a byte for a small change and none for no change', () => {
    const at = Array.from({ length: 100 }, (_, second) => BASE + second * 1000);
    const bytes = (values: readonly number[]): number =>
      packSeries(BASE, [{ id: 1, at, columns: [{ id: 2, values }] }]).length;
    assert.ok(bytes(at.map((_, index) => 5e9 + (index % 7) * 9)) <= 100 + 100 + 16);
    assert.ok(bytes(at.map(() => 5e9)) <= 100 + 16);
  });

  it('are refused where bytes are missing or too many', () => {
    fc.assert(
      fc.property(sources, fc.nat(), (batch, cut) => {
        const packed = packSeries(BASE, batch);
        assert.equal(unpackSeries(BASE, packed.subarray(0, cut % packed.length)), null);
        assert.equal(unpackSeries(BASE, Buffer.concat([packed, Buffer.of(7)])), null);
        const further = packSeries(BASE, batch, true);
        assert.equal(unpackSeries(BASE, further.subarray(0, cut % further.length)), null);
      }),
    );
  });

  it('of any bytes unpack without an exception, to as many values as times', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.constantFrom(1, 2, 3), (bytes, form) => {
        for (const unpacked of [unpackSeries(BASE, Uint8Array.of(form, ...bytes)), unpackSeries(BASE, bytes)])
          for (const { at, columns } of unpacked ?? [])
            for (const { values } of columns) assert.equal(values.length, at.length);
      }),
      { numRuns: 2000 },
    );
    assert.equal(unpackSeries(BASE, Buffer.of()), null);
    assert.equal(unpackSeries(BASE, Buffer.of(1, 1, 1, ...new Array<number>(60).fill(0x80))), null);
  });

  it('are refused where a small input claims too many values', () => {
    // 4,000 times and 10,000 columns, each constant over all times.
    const times = new Array<number>(4000).fill(0);
    const columns = new Array<number>(30_000).fill(1);
    const packed = Buffer.of(1, 1, 1, 0xa0, 0x1f, ...times, 0x90, 0x4e, ...columns);
    const { fill } = Array.prototype;
    const counted = mock.fn(fill);
    Array.prototype.fill = counted;
    const unpacked = unpackSeries(BASE, packed);
    Array.prototype.fill = fill;
    assert.deepEqual([unpacked, counted.mock.callCount()], [null, 0]);
  });
});

describe('mergeSeries', () => {
  it('sorts the readings of a source by time, with null where a metric was not read', () => {
    const later = { id: 1, at: [30, 40], columns: [{ id: 10, values: [3, 4] }] };
    const other = { id: 2, at: [15], columns: [{ id: 20, values: [7] }] };
    const earlier = {
      id: 1,
      at: [10],
      columns: [
        { id: 10, values: [1] },
        { id: 11, values: [9] },
      ],
    };
    assert.deepEqual(mergeSeries([[later, other], [earlier]]), [
      {
        id: 1,
        at: [10, 30, 40],
        columns: [
          { id: 10, values: [1, 3, 4] },
          { id: 11, values: [9, null, null] },
        ],
      },
      other,
    ]);
  });
});
