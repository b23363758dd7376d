import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { largestOfKnown, sumOfAll, sumOfKnown } from '../../src/base/known';

const CASES = [[], [null], [undefined, null, 0], [1, null, 2], [-3, -1], [1, 2]];

describe('for figures that may be unknown', () => {
  it('sumOfKnown adds up the known ones', () => assert.deepEqual(CASES.map(sumOfKnown), [null, null, 0, 3, -4, 3]));

  it('largestOfKnown is the largest known one', () =>
    assert.deepEqual(CASES.map(largestOfKnown), [null, null, 0, 2, -1, 2]));

  it('sumOfAll is null unless every figure is known', () =>
    assert.deepEqual(CASES.map(sumOfAll), [null, null, null, null, -4, 3]));
});
