import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parsePatterns } from '../../../src/accounting/filter-record';
import { matchesPattern } from '../../../src/report/live/filter';
import { oneOf } from '../../tries';

describe('matchesPattern', () => {
  it('knows * and ?, and nothing else', () => {
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
    ];
    for (const [text, pattern, matches] of cases)
      assert.equal(matchesPattern(text, pattern), matches, `${text} ${pattern}`);
  });

  it('agrees with a regular expression', () => {
    const word = fc.string({ unit: fc.constantFrom('a', 'b', '*', '?', '.'), maxLength: 8 });
    fc.assert(
      fc.property(word, word, (text, pattern) => {
        const source = pattern.replace(/[.]/g, '\\.').replaceAll('*', '[^]*').replaceAll('?', '[^]');
        assert.equal(matchesPattern(text, pattern), new RegExp(`^${source}$`).test(text));
      }),
    );
  });

  it('takes no time over a pattern made to take it', () =>
    oneOf(3, () => {
      const start = performance.now();
      assert.equal(matchesPattern('a'.repeat(20_000), `${'*a'.repeat(200)}*b`), false);
      assert.ok(performance.now() - start < 2000);
    }));
});

describe('parsePatterns', () => {
  it('splits at commas', () => {
    assert.deepEqual(parsePatterns(' alice, bob* ,,'), ['alice', 'bob*']);
    assert.deepEqual(parsePatterns(' , '), []);
  });
});
