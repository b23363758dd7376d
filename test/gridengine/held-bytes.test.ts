import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { heldBytes } from '../../src/gridengine/held-bytes';

describe('heldBytes', () => {
  it('keeps the first bytes up to the limit and counts all', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 12 }), fc.nat(900), (pieces, limit) => {
        const held = heldBytes(limit);
        held.add(Buffer.from('to be forgotten'), 0, 5);
        held.clear();
        for (const piece of pieces) {
          held.add(piece, 0, piece.length);
          piece.fill(0);
        }
        assert.equal(
          held.total(),
          pieces.reduce((total, { length }) => total + length, 0),
        );
        assert.equal(held.kept(), Math.min(limit, held.total()));
        assert.ok(held.bytes().length <= Math.max(limit, 256));
      }),
    );
    const held = heldBytes(4);
    held.add(Buffer.from('abc'), 1, 3);
    held.add(Buffer.from('defg'), 0, 4);
    assert.equal(held.bytes().toString('latin1', 0, held.kept()), 'bcde');
    held.drop(3);
    assert.equal(held.bytes().toString('latin1', 0, held.kept()), 'bcd');
  });
});
