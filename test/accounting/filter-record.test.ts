import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parsePatterns, patternTest } from '../../src/accounting/filter-record';
import { cpuMs } from '../support/cpu-time';

describe('parsePatterns', () => {
  it('splits at commas', () => {
    assert.deepEqual(parsePatterns(' alice, bob* ,,'), ['alice', 'bob*']);
    assert.deepEqual(parsePatterns(' , '), []);
  });
});

describe('patternTest', () => {
  it('is fast on a pattern that would make backtracking slow', () => {
    const start = cpuMs();
    assert.equal(patternTest(`${'*?'.repeat(200)}x`)('n'.repeat(250)), false);
    assert.ok(cpuMs() - start < 2000);
  });
});
