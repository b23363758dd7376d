import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { packVarints, unpackVarints } from '../../../src/sampler/series/varints';

describe('varints', () => {
  it('unpack to what they were', () => {
    fc.assert(
      fc.property(fc.array(fc.maxSafeNat()), (values) => {
        assert.deepEqual(unpackVarints(packVarints(values)), values);
      }),
    );
  });

  it('take a byte for seven bits', () => {
    assert.deepEqual([...packVarints([0, 127, 128, 300])], [0, 127, 0x80, 1, 0xac, 2]);
  });

  it('are read from any bytes, without a truncated last one', () => {
    assert.deepEqual(unpackVarints(Buffer.from([5, 0x80])), [5]);
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        assert.ok(unpackVarints(Buffer.from(bytes)).every((value) => value >= 0));
      }),
    );
  });
});
