import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { bytesToNumber, textToNumber } from '../../src/gridengine/bytes-to-number';
import { anyCharacter } from '../support/any-character';

const read = (text: string): number => bytesToNumber(Buffer.from(`9${text}9`, 'latin1'), 1, 1 + text.length);

describe('bytesToNumber', () => {
  it('reads printed numbers to the last bit', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e15, max: 1e15 }), (value) => {
        for (const text of [value.toFixed(6), value.toFixed(2), value.toExponential(3), String(Math.trunc(value))])
          assert.equal(read(text), Number(text), text);
      }),
    );
    assert.equal(read('5.'), 5);
    assert.equal(read(`1${'0'.repeat(308)}.000000`), 1e308);
  });

  it('returns NaN for text that is no number, as textToNumber does', () => {
    for (const text of ['', '.', '-', '--1', '1 2', '1.2.3', '0x10', 'NaN', 'inf', '1e', '1G', '\xff', '9'.repeat(401)])
      assert.ok(Number.isNaN(read(text)), text);
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter, maxLength: 8 }), (text) => {
        assert.deepEqual(read(text), textToNumber(Buffer.from(text, 'latin1').toString('latin1')));
      }),
    );
  });
});
