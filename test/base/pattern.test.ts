import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { matchesPattern } from '../../src/base/pattern';
import { oneOf } from '../tries';
import { cpuMs } from '../support/cpu-time';

describe('matchesPattern', () => {
  it('treats only * and ? as wildcards', () => {
    const cases: readonly (readonly [text: string, pattern: string, matches: boolean])[] = [
      ['bob', 'bob', true],
      ['bobby', 'bob', false],
      ['bobby', 'bob*', true],
      ['bob', 'bob*', true],
      ['xbob', '*bob', true],
      ['node12', 'node?2', true],
      ['node2', 'node?2', false],
      ['a.b', 'a?b', true],
      ['axb', 'a.b', false],
      ['[x]', '[x]', true],
      ['x', '[x]', false],
      ['', '*', true],
      ['', '', true],
      ['', '?', false],
      ['abcabd', '*ab?', true],
      ['abcabd', '*abc', false],
      ['a\u{1f600}b', 'a?b', true],
      ['\u{1f600}', '??', false],
    ];
    for (const [text, pattern, matches] of cases)
      assert.equal(matchesPattern(text, pattern), matches, `${text} ${pattern}`);
  });

  it('agrees with a regular expression', () => {
    const word = fc.string({
      unit: fc.constantFrom('a', 'A', 'b', '*', '?', '.', '[', '^', '\\', '\n', '\u{1f600}', '\u{1f601}'),
      maxLength: 8,
    });
    fc.assert(
      fc.property(word, word, (text, pattern) => {
        const escaped = pattern.replace(/[.+^${}()|[\]\\]/g, '\\$&');
        const expression = new RegExp(`^${escaped.replaceAll('*', '.*').replaceAll('?', '.')}$`, 'su');
        assert.equal(matchesPattern(text, pattern), expression.test(text));
      }),
    );
  });

  it('is fast on a pattern that would make backtracking slow', () =>
    oneOf(3, () => {
      const start = cpuMs();
      assert.equal(matchesPattern('a'.repeat(20_000), `${'*a'.repeat(200)}*b`), false);
      assert.ok(cpuMs() - start < 2000);
    }));
});
