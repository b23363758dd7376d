import assert from 'node:assert/strict';
import { it } from 'node:test';
import { remembered } from '../../src/base/remembered';

it('makes each value once, and begins anew when they are too many', () => {
  const made: number[] = [];
  const square = remembered((key: number) => {
    made.push(key);
    return key * key;
  }, 2);
  assert.deepEqual([1, 2, 1, 2, 3, 3, 1].map(square), [1, 4, 1, 4, 9, 9, 1]);
  assert.deepEqual(made, [1, 2, 3, 1]);
});

it('keeps nothing of what could not be made', () => {
  let works = false;
  const once = remembered((key: string) => {
    if (!works) throw new Error('not yet');
    return key;
  }, 2);
  assert.throws(() => once('a'), /not yet/);
  works = true;
  assert.equal(once('a'), 'a');
});
