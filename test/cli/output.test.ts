import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { outputFormat, screenOf, textOrJson, warn, writePieces } from '../../src/cli/output';
import type { Terminal } from '../../src/cli/terminal';
import { fakeTerminal } from './fake-terminal';

const coloured = (changes: Partial<Terminal>, color = true): boolean =>
  screenOf(fakeTerminal(changes), { color }).style.title('x') !== 'x';

describe('outputFormat', () => {
  it('is text, JSON or CSV, and refuses two at once', () => {
    assert.equal(outputFormat({}), 'text');
    assert.equal(outputFormat({ json: true }), 'json');
    assert.equal(outputFormat({ csv: true }), 'csv');
    assert.throws(() => outputFormat({ json: true, csv: true }), { status: 2 });
  });
});

describe('textOrJson', () => {
  it('is text or JSON, and refuses CSV', () => {
    assert.deepEqual([textOrJson({}, 'flush'), textOrJson({ json: true }, 'flush')], ['text', 'json']);
    assert.throws(() => textOrJson({ csv: true }, 'flush'), { status: 2, message: 'flush has no CSV: give --json' });
  });
});

describe('screenOf', () => {
  it('has colour on a terminal, unless --no-color, NO_COLOR or TERM=dumb forbids it', () => {
    assert.equal(coloured({ isTTY: true, env: {} }), true);
    assert.equal(coloured({ isTTY: false, env: {} }), false);
    assert.equal(coloured({ isTTY: true, env: {} }, false), false);
    assert.equal(coloured({ isTTY: true, env: { NO_COLOR: '1' } }), false);
    assert.equal(coloured({ isTTY: true, env: { NO_COLOR: '' } }), true);
    assert.equal(coloured({ isTTY: true, env: { TERM: 'dumb' } }), false);
  });

  it('has colour on a pipe with FORCE_COLOR, unless --no-color or NO_COLOR forbids it', () => {
    assert.equal(coloured({ isTTY: false, env: { FORCE_COLOR: '1' } }), true);
    assert.equal(coloured({ isTTY: false, env: { FORCE_COLOR: '0' } }), false);
    assert.equal(coloured({ isTTY: false, env: { FORCE_COLOR: '1', NO_COLOR: '1' } }), false);
    assert.equal(coloured({ isTTY: false, env: { FORCE_COLOR: '1' } }, false), false);
  });

  it('is as wide as the terminal, from 60 to 140 columns, or 100 where the width is unknown', () => {
    const width = (changes: Partial<Terminal>): number => screenOf(fakeTerminal(changes), { color: true }).width;
    assert.equal(width({ columns: 120 }), 120);
    assert.equal(width({ columns: 20 }), 60);
    assert.equal(width({ columns: 500 }), 140);
    assert.equal(width({ env: { COLUMNS: '90' } }), 90);
    assert.equal(width({ env: { COLUMNS: 'many' } }), 100);
    assert.equal(width({ env: {} }), 100);
  });

  it('uses non-ASCII signs only in a UTF-8 locale', () => {
    const sign = (env: Terminal['env']): string => screenOf(fakeTerminal({ env }), { color: true }).glyphs.atLeast;
    assert.equal(sign({ LANG: 'de_DE.UTF-8' }), '≥');
    assert.equal(sign({ LANG: 'de_DE.utf8' }), '≥');
    assert.equal(sign({ LC_ALL: 'C', LANG: 'de_DE.UTF-8' }), '>=');
    assert.equal(sign({ LC_ALL: '', LC_CTYPE: 'C.UTF-8', LANG: 'C' }), '≥');
    assert.equal(sign({}), '>=');
  });
});

describe('writePieces', () => {
  it('joins small pieces into few large writes, and loses none', () => {
    const sizes: number[] = [];
    const pieces = function* (): Generator<string, void> {
      for (let count = 0; count < 1000; count++) yield 'x'.repeat(1000);
    };
    writePieces({ write: (text) => void sizes.push(text.length) }, pieces());
    assert.equal(
      sizes.reduce((a, b) => a + b),
      1_000_000,
    );
    assert.ok(sizes.every((size) => size < 70_000) && sizes.length < 20, String(sizes));
  });
});

describe('warn', () => {
  it('prefixes every line and escapes control characters', () => {
    const terminal = fakeTerminal();
    warn(terminal, 'a\u001b[2J\nb');
    assert.equal(terminal.warnings(), 'qmemacct: a\\x1b[2J\nqmemacct: b\n');
  });
});
