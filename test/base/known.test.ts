import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { largestOfKnown, sumOfAll, sumOfKnown } from '../../src/base/known';

const CASES = [[], [null], [undefined, null, 0], [1, null, 2], [-3, -1], [1, 2]];

describe('figures that may be unknown', () => {
  it('have a sum where any is known', () => assert.deepEqual(CASES.map(sumOfKnown), [null, null, 0, 3, -4, 3]));

  it('have a largest where any is known', () => assert.deepEqual(CASES.map(largestOfKnown), [null, null, 0, 2, -1, 2]));

  it('have a sum of all where all are known', () =>
    assert.deepEqual(CASES.map(sumOfAll), [null, null, null, null, -4, 3]));
});
