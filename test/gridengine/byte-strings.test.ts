import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { byteStrings, HASH_START, hashByte, internalised } from '../../src/gridengine/byte-strings';

describe('byteStrings', () => {
  it('returns the right string where several share a slot, and does not make a cached string again', () => {
    let made = 0;
    const cache = byteStrings(4, 8, (bytes, from, to) => {
      made++;
      return bytes.toString('latin1', from, to);
    });
    const ask = (text: string): string => {
      const bytes = Buffer.from(`.${text}.`, 'latin1');
      let hash = HASH_START;
      for (const byte of bytes.subarray(1, -1)) hash = hashByte(hash, byte);
      return cache(bytes, 1, bytes.length - 1, hash);
    };
    fc.assert(
      fc.property(fc.array(fc.string({ unit: 'grapheme-ascii', maxLength: 12 })), (texts) => {
        for (const text of texts) assert.equal(ask(text), text);
      }),
    );
    ask('again');
    const before = made;
    assert.equal(ask('again'), 'again');
    assert.equal(made, before);
    assert.equal(ask('longer than it keeps'), 'longer than it keeps');
    assert.equal(made, before + 1);
  });
});

describe('internalised', () => {
  it('returns the same text', () => {
    for (const text of ['JB_owner', '', '12', '__proto__', 'constructor', 'ü'])
      assert.equal(internalised(Buffer.from(text).toString()), text);
  });
});
