import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { escapeForCsv, escapeForHtml, escapeForTerminal, escapeJson } from '../../../src/report/format/escape';
import { anyCharacter } from '../../support/any-character';

const anyText = fc.string({ unit: anyCharacter });
/** Any UTF-16 code units, lone surrogates included. */
const anyUnits = fc.array(fc.nat({ max: 0xffff })).map((units) => String.fromCharCode(...units));
const hostileText = fc.oneof(
  anyText,
  anyUnits,
  fc
    .array(
      fc.constantFrom('\u001b', '[31m', '\u009b', '\u202e', '\u2066', '\ud800', '\n', '\r', 'é', '日', '\u0301', ' '),
    )
    .map((parts) => parts.join('')),
);

describe('escapeForTerminal', () => {
  it('keeps ordinary text as it is', () => {
    for (const text of ['align_reads', "<&\"> 'x'", 'ünïcödé 日本語 🙂', 'a\\b', 'e\u0301'])
      assert.equal(escapeForTerminal(text), text);
  });

  it('shows control characters, escape codes and bidi overrides as escapes', () => {
    assert.equal(escapeForTerminal('\u001b[31mred\u001b[0m\u0007\n'), '\\x1b[31mred\\x1b[0m\\x07\\x0a');
    assert.equal(escapeForTerminal('\u009b2J'), '\\x9b2J');
    assert.equal(escapeForTerminal('a\u202egnp.exe'), 'a\\u202egnp.exe');
    assert.equal(escapeForTerminal('\u2066x\u2069\u200b'), '\\u2066x\\u2069\\u200b');
    assert.equal(escapeForTerminal('\u{e0001}'), '\\u{e0001}');
    assert.equal(escapeForTerminal('a\u00a0b\u2028c'), 'a\\xa0b\\u2028c');
  });

  it('shows lone surrogates as escapes', () => {
    assert.equal(escapeForTerminal('\ud800lone\udc00'), '\\ud800lone\\udc00');
    assert.equal(escapeForTerminal('\ud83d\ude42'), '\ud83d\ude42');
  });

  it('bounds stacks of combining marks', () => {
    assert.equal(escapeForTerminal('a\u0301\u0302\u0303\u0304'), 'a\u0301\u0302\u0303\\u0304');
  });

  it('lets only printable characters through, and changes nothing when applied again', () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        const shown = escapeForTerminal(text);
        assert.doesNotMatch(shown, /[\p{C}\p{Zl}\p{Zp}]/u);
        assert.equal(escapeForTerminal(shown), shown);
      }),
      { numRuns: 2000 },
    );
  });

  it('leaves only ASCII on an ASCII terminal', () => {
    assert.equal(escapeForTerminal('ünï\u001b', false), '\\xfcn\\xef\\x1b');
    fc.assert(fc.property(hostileText, (text) => /^[ -~]*$/.test(escapeForTerminal(text, false))));
  });
});

/** A cell as a reader following RFC 4180 sees it. */
function readCell(cell: string): string {
  return cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell;
}

describe('escapeForCsv', () => {
  it('quotes cells only where needed', () => {
    assert.equal(escapeForCsv('plain'), 'plain');
    assert.equal(escapeForCsv('a,b'), '"a,b"');
    assert.equal(escapeForCsv('say "hi"'), '"say ""hi"""');
    assert.equal(escapeForCsv(' x'), '" x"');
    assert.equal(escapeForCsv(''), '');
  });

  it('disarms formulas', () => {
    assert.equal(escapeForCsv("=cmd()|' /C calc'!A0"), "'=cmd()|' /C calc'!A0");
    assert.equal(escapeForCsv('+1'), "'+1");
    assert.equal(escapeForCsv('-1'), "'-1");
    assert.equal(escapeForCsv('@SUM(A1,B1)'), '"\'@SUM(A1,B1)"');
    assert.equal(escapeForCsv('\t=1'), "'\\x09=1");
    assert.equal(escapeForCsv('\r=1'), "'\\x0d=1");
    assert.equal(escapeForCsv(' =1'), "' =1");
    assert.equal(escapeForCsv('\uff1d1'), "'\uff1d1");
  });

  it('gives one line and one cell that never starts a formula', () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        const cell = escapeForCsv(text);
        assert.doesNotMatch(cell, /[\p{C}]/u);
        assert.match(cell, /^(?:[^",]*|"(?:[^"]|"")*")$/u);
        assert.doesNotMatch(readCell(cell), /^(?:[\t\r]| *[=+\-@\uff1d])/);
        if (/^[ -~]*$/.test(text) && !/^ *[=+\-@]/.test(text)) assert.equal(readCell(cell), text);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('escapeJson', () => {
  it('keeps the meaning and lets no control or bidi character through', () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        const json = escapeJson(JSON.stringify({ text }));
        assert.deepEqual(JSON.parse(json), { text });
        assert.doesNotMatch(json, /[\p{Cc}\u202a-\u202e\u2066-\u2069\u200b-\u200f]/u);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('escapeForHtml', () => {
  it('leaves no markup, no quote, and no character that hides or reorders text', () => {
    assert.equal(escapeForHtml(`<a href="x">'&\u202e</a>`), '&lt;a href=&quot;x&quot;&gt;&#39;&amp;\\u202e&lt;/a&gt;');
    fc.assert(
      fc.property(hostileText, (text) => {
        const html = escapeForHtml(text);
        assert.doesNotMatch(html, /[<>"'\p{C}]|&(?!(?:amp|lt|gt|quot|#39);)/u);
      }),
      { numRuns: 1000 },
    );
  });
});
