import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { compareValues } from '../../src/record/compare-values';

const value = fc.jsonValue({ maxDepth: 3 }).map((json) => JSON.parse(JSON.stringify(json)) as unknown);

describe('compareValues', () => {
  it('is a total order in which only identical values are equal', () => {
    fc.assert(
      fc.property(value, value, value, (a, b, c) => {
        const [ab, ba] = [compareValues(a, b), compareValues(b, a)];
        assert.equal(Math.sign(ab), 0 - Math.sign(ba));
        if (ab <= 0 && compareValues(b, c) <= 0) assert.ok(compareValues(a, c) <= 0);
        if (ab === 0) assert.deepEqual(a, b);
        assert.equal(compareValues(a, structuredClone(a)), 0);
      }),
      { numRuns: 1000 },
    );
  });

  it('compares types first, then items one by one, keys in their order and text by its UTF-8', () => {
    const ascending = [
      null,
      false,
      true,
      -1,
      0.5,
      1e21,
      '',
      'Z',
      'a',
      '\uFFFD',
      '\u{1F600}',
      [],
      [1],
      [1, 2],
      [2],
      {},
      { a: 1 },
      { a: 1, b: 1 },
      { a: 2 },
      { b: 0 },
    ];
    for (const [index, item] of ascending.entries())
      for (const [other, against] of ascending.entries())
        assert.equal(
          Math.sign(compareValues(item, against)),
          Math.sign(index - other),
          JSON.stringify([item, against]),
        );
  });
});
