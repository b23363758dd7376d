import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Latest } from '../../src/base/latest';

test('Latest keeps the most recently used values', () => {
  const latest = new Latest<string, number>(2);
  latest.set('a', 1);
  latest.set('b', 2);
  assert.equal(latest.get('a'), 1);
  latest.set('c', 3);
  assert.deepEqual(
    ['a', 'b', 'c'].map((key) => latest.get(key)),
    [1, undefined, 3],
  );
  assert.equal(
    latest.getOrMake('a', () => 9),
    1,
  );
  assert.equal(
    latest.getOrMake('b', () => 9),
    9,
  );
  assert.equal(latest.get('c'), undefined);
});

test('Latest keeps values up to a total size, and always the newest', () => {
  const latest = new Latest<string, string>(5, (text) => text.length);
  latest.set('a', 'xxx');
  latest.set('b', 'xx');
  latest.set('a', 'x');
  latest.set('c', 'xx');
  assert.deepEqual([latest.get('a'), latest.get('b'), latest.get('c')], ['x', 'xx', 'xx']);
  latest.set('large', 'xxxxxxxxx');
  assert.deepEqual([latest.get('a'), latest.get('b'), latest.get('c')], [undefined, undefined, undefined]);
  assert.equal(latest.get('large'), 'xxxxxxxxx');
});
