import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { afterByte, readNumber } from '../../../src/sources/proc/scan';

const text = Buffer.from('ab  \t12 x34');

describe('readNumber', () => {
  it('skips blanks and stops at the first other byte', () => {
    assert.equal(readNumber(text, 2, text.length), 12);
    assert.equal(readNumber(text, 9, text.length), 34);
  });

  it('returns 0 where there is no digit', () => {
    assert.equal(readNumber(text, 0, text.length), 0);
    assert.equal(readNumber(text, text.length, text.length), 0);
  });

  it('does not read beyond the end', () => {
    assert.equal(readNumber(text, 5, 6), 1);
    assert.equal(readNumber(text, 2, 4), 0);
  });

  it('reads numbers of 64 bits as nearly as a double can', () => {
    const largest = Buffer.from('18446744073709551615');
    assert.equal(readNumber(largest, 0, largest.length), 2 ** 64);
  });
});

describe('afterByte', () => {
  it('returns the offset after the next such byte', () => {
    assert.equal(afterByte(text, 0x20, 0, text.length), 3);
    assert.equal(afterByte(text, 0x20, 3, text.length), 4);
    assert.equal(afterByte(text, 0x62, 0, text.length), 2);
  });

  it('returns -1 where there is no such byte before the end', () => {
    assert.equal(afterByte(text, 0x78, 0, 5), -1);
    assert.equal(afterByte(text, 0x5a, 0, text.length), -1);
  });
});
