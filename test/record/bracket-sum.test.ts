import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { largestOfBrackets, sumOfBrackets, type Part } from '../../src/record/bracket-sum';
import type { Bracket } from '../../src/record/record';

const MIB = 1024 * 1024;

function part(lower: number, upper: number | null, more: Partial<Bracket> = {}, host = 'a'): Part {
  return {
    host,
    from: 0,
    to: 1000,
    bracket: {
      lower_bytes: lower,
      upper_bytes: upper,
      slack_bytes: 10,
      proved: upper !== null,
      exact: false,
      open: upper === null ? ['exec'] : [],
      sources: ['mark'],
      at: '2026-11-01T00:00:00.000Z',
      command: 'a.out',
      ...more,
    },
  };
}

describe('sumOfBrackets', () => {
  it('returns a single bracket itself, and null if no bracket is known', () => {
    const only = part(5, 9);
    assert.equal(sumOfBrackets([only], []), only.bracket);
    assert.equal(sumOfBrackets([], ['unseen-host']), null);
    assert.equal(sumOfBrackets([{ ...only, bracket: null }], []), null);
  });

  it('takes time and command from the part that held most, and adds up the slack of all parts', () => {
    const sum = sumOfBrackets(
      [part(5, 9), part(7, 8, { command: 'b.out', at: null, sources: ['exit-record', 'sample'] })],
      [],
    );
    assert.deepEqual(sum, {
      lower_bytes: 7,
      upper_bytes: 17,
      slack_bytes: 20,
      proved: true,
      exact: true,
      open: [],
      sources: ['sample', 'mark', 'exit-record'],
      at: null,
      command: 'b.out',
    });
  });

  it('is exact only if its own bounds are close, and proved only if every part is', () => {
    const wide = sumOfBrackets(
      [part(10 * MIB, 10 * MIB, { exact: true }), part(10 * MIB, 10 * MIB, { exact: true })],
      [],
    );
    assert.deepEqual([wide?.proved, wide?.exact], [true, false]);
    const guessed = sumOfBrackets([part(1, 2, { proved: false }), part(1, 2)], []);
    assert.deepEqual([guessed?.upper_bytes, guessed?.proved, guessed?.exact], [4, false, false]);
  });

  it('says why its upper bound is open', () => {
    assert.deepEqual(sumOfBrackets([part(1, null, { open: [] }), part(1, 2)], [])?.open, ['no-samples']);
    assert.deepEqual(sumOfBrackets([part(1, 2)], ['unseen-host'])?.open, ['unseen-host']);
    assert.deepEqual(sumOfBrackets([part(1, 2)], ['unseen-host'])?.proved, false);
  });
});

describe('largestOfBrackets', () => {
  it('takes the largest lower bound and the largest upper bound', () => {
    const largest = largestOfBrackets([part(5, 9), part(7, 8, {}, 'b')], []);
    assert.deepEqual([largest?.lower_bytes, largest?.upper_bytes, largest?.slack_bytes], [7, 9, 10]);
    assert.equal(largestOfBrackets([part(5, null), part(7, 8)], [])?.upper_bytes, null);
    assert.equal(largestOfBrackets([], []), null);
  });

  it('names the limit as a source only if no measured upper bound is larger', () => {
    const limited = part(5, 9, { sources: ['mark', 'limit'] });
    assert.ok(largestOfBrackets([limited, part(7, 8)], [])?.sources.includes('limit'));
    assert.ok(!largestOfBrackets([limited, part(7, 10)], [])?.sources.includes('limit'));
    assert.ok(sumOfBrackets([limited, part(7, 10)], [])?.sources.includes('limit'));
  });
});
