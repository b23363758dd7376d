import assert from 'node:assert/strict';
import { it } from 'node:test';
import { remembered } from '../../src/base/remembered';

it('remembered makes each value once, until the cache is full and is emptied', () => {
  const made: number[] = [];
  const square = remembered((key: number) => {
    made.push(key);
    return key * key;
  }, 2);
  assert.deepEqual([1, 2, 1, 2, 3, 3, 1].map(square), [1, 4, 1, 4, 9, 9, 1]);
  assert.deepEqual(made, [1, 2, 3, 1]);
});

it('remembered does not cache an error', () => {
  let works = false;
  const once = remembered((key: string) => {
    if (!works) throw new Error('not yet');
    return key;
  }, 2);
  assert.throws(() => once('a'), /not yet/);
  works = true;
  assert.equal(once('a'), 'a');
});
