import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { bytesToText, wholeCharacters } from '../../src/gridengine/bytes-to-text';

describe('bytesToText', () => {
  it('decodes bytes as UTF-8 where they are valid UTF-8, else as Latin-1', () => {
    const bytes = Buffer.concat([Buffer.from('Ä€😀'), Buffer.from('Ä', 'latin1')]);
    assert.equal(bytesToText(bytes, 0, 9), 'Ä€😀');
    assert.equal(bytesToText(bytes, 9, 10), 'Ä');
    assert.equal(bytesToText(bytes, 0, 10), bytes.toString('latin1'));
  });

  it('loses no byte, whatever the bytes are', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 20 }), (bytes) => {
        const text = bytesToText(Buffer.from(bytes), 0, bytes.length);
        assert.ok((['utf8', 'latin1'] as const).some((encoding) => Buffer.from(text, encoding).equals(bytes)));
        assert.equal(text === '', bytes.length === 0);
      }),
    );
  });
});

describe('wholeCharacters', () => {
  it('ends before a character that is cut', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 20 }), fc.nat(), (text, random) => {
        const bytes = Buffer.from(text);
        const to = random % (bytes.length + 1);
        const whole = wholeCharacters(bytes, 0, to);
        assert.ok(whole <= to && to - whole < 4);
        assert.ok(text.startsWith(bytes.toString('utf8', 0, whole)));
        if (text.startsWith(bytes.toString('utf8', 0, to))) assert.equal(whole, to);
      }),
    );
    assert.equal(wholeCharacters(Buffer.from([0x80, 0x80, 0x80, 0x80, 0x80]), 0, 5), 5, 'no UTF-8 at all');
  });
});
