import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { isoTime } from '../../src/base/iso-time';

const MAX_TIME_MS = 8.64e15;

describe('isoTime', () => {
  it('writes any time as toISOString of a Date does', () => {
    const usual = fc.integer({ min: 0, max: 4e12 });
    const any = fc.oneof(
      usual,
      fc.maxSafeInteger(),
      fc.double(),
      fc.constantFrom(-1, -0, MAX_TIME_MS, -MAX_TIME_MS, MAX_TIME_MS + 1),
    );
    fc.assert(
      fc.property(any, (ms) => {
        const date = new Date(ms);
        if (Number.isNaN(date.getTime())) assert.throws(() => isoTime(ms), RangeError);
        else assert.equal(isoTime(ms), date.toISOString());
      }),
      { numRuns: 2000 },
    );
  });
});
