import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import fc from 'fast-check';

import { parsePrintedCount, parsePrintedNumber } from '../../src/gridengine/printed-number';

describe('parsePrintedNumber', () => {
  it('reads numbers as Grid Engine prints them', () => {
    assert.equal(parsePrintedNumber("'0.005689'"), 0.005689);
    assert.equal(parsePrintedNumber('0.55500'), 0.555);
    assert.equal(parsePrintedNumber('1.23e+05'), 123_000);
    assert.equal(parsePrintedNumber('-1023'), -1023);
    assert.equal(parsePrintedNumber(' 4 '), 4);
  });

  it('returns null for other text', () => {
    for (const text of ['', '-', 'NA', 'inf', 'nan', "'", "''", '1e999', '0x10', '1 2', '.5', 'Infinity']) {
      assert.equal(parsePrintedNumber(text), null, text);
    }
  });

  it('returns a finite number or null for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...Array.from("0123456789.eE+-' nai")) }), (text) => {
        const value = parsePrintedNumber(text);
        assert.ok(value === null || Number.isFinite(value));
      }),
    );
  });
});

describe('parsePrintedCount', () => {
  it('reads whole numbers from 0, and nothing else', () => {
    assert.equal(parsePrintedCount('16'), 16);
    assert.equal(parsePrintedCount('16.000000'), 16);
    assert.equal(parsePrintedCount('0'), 0);
    for (const text of ['-1', '1.5', '1e300', '-']) assert.equal(parsePrintedCount(text), null, text);
  });
});
