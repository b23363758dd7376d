import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { displayWidth, padEnd, padStart, truncate, widest } from '../../../src/report/screen/text-width';
import { escapeForTerminal } from '../../../src/report/format/escape';
import { anyCharacter } from '../../support/any-character';

const text = fc.string({ unit: anyCharacter }).map((raw) => escapeForTerminal(raw));

describe('displayWidth', () => {
  it('counts columns, not characters', () => {
    assert.equal(displayWidth('abc'), 3);
    assert.equal(displayWidth('日本語'), 6);
    assert.equal(displayWidth('e\u0301'), 1);
    assert.equal(displayWidth('🙂'), 2);
    assert.equal(displayWidth('\u001b[31mred\u001b[39m'), 3);
    assert.equal(displayWidth('≥ 1.50 – 2 ×█▏'), 14);
    assert.equal(displayWidth('\u263a\ufe0f'), 2);
    assert.equal(displayWidth('1\ufe0f\u20e3'), 2);
    assert.equal(widest(['a', '日', 'abc']), 3);
    assert.equal(widest([]), 0);
  });
});

describe('truncate', () => {
  it('marks the cut and never splits a wide character', () => {
    assert.equal(truncate('abcdef', 6, '…'), 'abcdef');
    assert.equal(truncate('abcdef', 5, '…'), 'abcd…');
    assert.equal(truncate('日本語', 4, '…'), '日…');
    assert.equal(truncate('abcdef', 2, '...'), '..');
  });

  it('never exceeds the given width', () => {
    fc.assert(fc.property(text, fc.nat({ max: 40 }), (any, width) => displayWidth(truncate(any, width, '…')) <= width));
  });
});

describe('padEnd, padStart', () => {
  it('fill up to the width in columns', () => {
    fc.assert(
      fc.property(text, fc.nat({ max: 40 }), (any, width) => {
        assert.equal(displayWidth(padEnd(any, width)), Math.max(width, displayWidth(any)));
        assert.equal(displayWidth(padStart(any, width)), Math.max(width, displayWidth(any)));
      }),
    );
  });
});
