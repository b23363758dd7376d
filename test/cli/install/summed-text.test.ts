import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { isAsWritten, withSum } from '../../../src/cli/install/kept-files';

const texts = fc.array(fc.string({ unit: 'grapheme' })).map((lines) => lines.map((line) => `${line}\n`).join(''));

describe('a text with its sum', () => {
  it('is recognised as written, and begins with the text itself', () =>
    fc.assert(
      fc.property(texts, (text) => {
        const written = withSum(text);
        assert.ok(written.startsWith(text) && isAsWritten(written));
      }),
    ));

  it('is recognised as changed, wherever a letter was inserted', () =>
    fc.assert(
      fc.property(texts, fc.nat(), fc.nat(25), (text, at, letter) => {
        const written = withSum(text);
        const place = at % written.length;
        const changed = `${written.slice(0, place)}${String.fromCharCode(97 + letter)}${written.slice(place)}`;
        // The words behind the sum are not checked.
        fc.pre(place <= written.indexOf('. Where it is not'));
        assert.ok(!isAsWritten(changed), JSON.stringify(changed));
        assert.ok(!isAsWritten(`${written}more\n`) && !isAsWritten(text));
      }),
    ));
});
