import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  list,
  nullable,
  number,
  numbersByName,
  oneOf,
  optional,
  record,
  text,
  truth,
  Unusable,
} from '../../src/live/checks';

const person = record<{ name: string; age: number | null; nick?: string; tags: readonly string[] }>({
  name: text,
  age: nullable(number),
  nick: optional(text),
  tags: list(text),
});

describe('a check', () => {
  it('gives back what was asked for and nothing else', () => {
    assert.deepEqual(person({ name: 'a', age: 1, nick: 'b', tags: ['c'], more: 1 }), {
      name: 'a',
      age: 1,
      nick: 'b',
      tags: ['c'],
    });
    assert.deepEqual(person({ name: 'a', tags: [] }), { name: 'a', age: null, tags: [] });
    assert.equal(truth(false), false);
    assert.equal(oneOf(['x', 'y'])('y'), 'y');
    assert.deepEqual(numbersByName(JSON.parse('{"__proto__":1}')), new Map([['__proto__', 1]]));
  });

  it('tells the place of what it can not take', () => {
    const cases: readonly (readonly [() => unknown, string])[] = [
      [() => person({ name: 'a', tags: ['b', 3] }), 'tags[1] is no string'],
      [() => list(person)([{ name: 'a', tags: [] }, { tags: [] }]), '[1].name is no string'],
      [() => person({ name: 'a', age: '1', tags: [] }), 'age is no number'],
      [() => number(NaN), 'is no number'],
      [() => truth(1), 'is neither true nor false'],
      [() => list(text)({ length: 1 }), 'is no list'],
      [() => person([]), 'is no object'],
      [() => numbersByName({ a: { b: 1 } }), 'a is no number'],
      [() => oneOf(['x', 'y'])('z'), 'is none of "x", "y"'],
    ];
    for (const [check, message] of cases) assert.throws(check, { name: 'Unusable', message });
  });

  it('of anything gives a value or Unusable', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        try {
          const found = person(value);
          assert.equal(typeof found.name, 'string');
        } catch (error) {
          assert.ok(error instanceof Unusable, String(error));
        }
      }),
    );
  });
});
