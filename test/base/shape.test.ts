import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  boolean,
  check,
  integer,
  list,
  map,
  name,
  nullable,
  number,
  object,
  oneOf,
  optional,
  refined,
  setOf,
  string,
  text,
  time,
  type Shape,
  type ValueOf,
} from '../../src/base/shape';

const person = object({
  name: string,
  age: nullable(number()),
  nick: optional(string),
  tags: list(string, 3),
});
const numbers = map(number(), { key: /^[a-z_]+$/, what: 'name', most: 2 });

function errorOf(shape: Shape<unknown>, value: unknown): string | null {
  const checked = check(shape, value, 'the thing');
  return checked.ok ? null : checked.error;
}

describe('a shape', () => {
  it('leaves out an optional member that is undefined or null', () => {
    const without: ValueOf<typeof person> = { name: 'a', age: null, tags: [] };
    for (const nick of [undefined, null]) assert.deepEqual(person.read({ ...without, nick }), without);
  });

  it('returns only the members that it describes, in their normal form', () => {
    assert.deepEqual(person.read({ name: 'a', age: 1, nick: 'b', tags: ['c'], more: 1 }), {
      name: 'a',
      age: 1,
      nick: 'b',
      tags: ['c'],
    });
    assert.deepEqual(person.read({ name: 'a', tags: [] }), { name: 'a', age: null, tags: [] });
    assert.ok(Object.is(number().read(-0), 0));
    assert.deepEqual(setOf(['x', 'y', 'z']).read(['y', 'x', 'y']), ['x', 'y']);
    assert.equal(text(10).read('a\0b'), 'a\ufffdb');
    assert.equal(time.read('2026-11-01T00:00:00Z'), '2026-11-01T00:00:00.000Z');
    assert.deepEqual(numbers.read(undefined), {});
    assert.equal(Object.hasOwn(numbers.read(JSON.parse('{"__proto__":1}')), '__proto__'), true);
    assert.equal(refined(number(), String).read(5), '5');
  });

  it('names the member that is wrong', () => {
    const cases: readonly (readonly [Shape<unknown>, unknown, string])[] = [
      [person, { name: 'a', tags: ['b', 3] }, 'tags[1] is not a string'],
      [list(person, 5), [{ name: 'a', tags: [] }, { tags: [] }], '[1].name is not a string'],
      [person, { name: 'a', age: '1', tags: [] }, 'age is not a number of'],
      [person, { name: 'a', tags: ['1', '2', '3', '4'] }, 'tags has more than 3 items'],
      [person, [], 'the thing is not an object'],
      [number(), NaN, 'the thing is not a number of'],
      [integer(0, 9), 1.5, 'the thing is not a whole number'],
      [boolean, 1, 'the thing is not true or false'],
      [list(string, 1), { length: 1 }, 'the thing is not a list'],
      [numbers, { a: { b: 1 } }, 'a is not a number of'],
      [numbers, { A: 1 }, 'the thing has a key that is no name'],
      [oneOf(['x', 'y']), 'z', 'the thing is none of x, y'],
      [name(10), '', 'the thing is empty'],
      [text(3), 'äö', 'the thing is longer than 3 bytes'],
      [time, '2026-02-30T00:00:00Z', 'the thing is not a date of the calendar'],
    ];
    for (const [shape, value, expected] of cases) {
      const error = errorOf(shape, value);
      assert.ok(error?.startsWith(expected), `${error ?? 'accepted'}, not ${expected}`);
    }
  });

  it('gives a value or an error for any input, and never throws', () => {
    fc.assert(
      fc.property(fc.anything({ withNullPrototype: true }), (value) => {
        const checked = check(person, value, 'it');
        if (checked.ok) assert.equal(typeof checked.value.name, 'string');
      }),
    );
    const hostile = new Proxy({}, { getOwnPropertyDescriptor: () => assert.fail('boom') });
    assert.match(errorOf(person, hostile) ?? '', /can't be checked/);
  });

  it('describes itself as a JSON Schema', () => {
    assert.deepEqual(nullable(oneOf(['x'])).schema, { type: ['string', 'null'], enum: ['x', null] });
    assert.deepEqual(person.schema.required, ['name', 'age', 'tags']);
  });
});
