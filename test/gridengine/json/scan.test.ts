import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { DEPTH_LIMIT, JsonScanner, TEXT_LIMIT } from '../../../src/gridengine/json/scan';

/** Everything that a handler can learn, in order. */
function told(input: string | Uint8Array, cuts: readonly number[] = []): readonly string[] {
  const lines: string[] = [];
  const scanner = new JsonScanner({
    open: (key) => lines.push(`open ${key}`),
    close: (key) => lines.push(`close ${key}`),
    value: (key, value) => lines.push(`${key}=${JSON.stringify(value.text())} ${value.number()} ${value.isString}`),
  });
  const bytes = typeof input === 'string' ? Buffer.from(input) : input;
  const places = [0, ...[...cuts].sort((a, b) => a - b), bytes.length];
  for (const [index, to] of places.slice(1).entries()) {
    const piece = Buffer.from(bytes.subarray(places[index], to));
    scanner.write(piece);
    piece.fill(0x22);
  }
  scanner.end();
  return lines;
}

/** The value that a document is, from what the scanner tells; keys that come twice hold the last. */
function built(text: string, cuts?: readonly number[]): unknown {
  const stack: unknown[] = [[]];
  const put = (key: string, value: unknown): void => {
    const top = stack.at(-1);
    if (Array.isArray(top)) top.push(value);
    else (top as Map<string, unknown>).set(key, value);
  };
  let opening = 0;
  const kinds = [...text.replace(/"(?:[^"\\]|\\.)*"/g, '').matchAll(/[{[]/g)].map(([sign]) => sign);
  const scanner = new JsonScanner({
    open: (key) => {
      const value = kinds[opening++] === '[' ? [] : new Map<string, unknown>();
      put(key, value);
      stack.push(value);
    },
    close: () => stack.pop(),
    value: (key, value) => {
      const own = value.text();
      put(
        key,
        value.isString ? own : own === 'null' ? null : own === 'true' ? true : own === 'false' ? false : value.number(),
      );
    },
  });
  const bytes = Buffer.from(text);
  let from = 0;
  for (const cut of [...(cuts ?? [])].sort((a, b) => a - b).filter((place) => place <= bytes.length)) {
    scanner.write(bytes.subarray(from, cut));
    from = cut;
  }
  scanner.write(bytes.subarray(from));
  scanner.end();
  return (stack[0] as unknown[])[0];
}

const asMaps = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(asMaps);
  if (typeof value !== 'object' || value === null) return value;
  return new Map(Object.entries(value).map(([key, own]) => [key, asMaps(own)]));
};

describe('JsonScanner', () => {
  it('tells keys and values in order', () => {
    assert.deepEqual(told('{"a": [1, "x", {"b": true}], "c": null}'), [
      'open ',
      'open a',
      '="1" 1 false',
      '="x" NaN true',
      'open ',
      'b="true" NaN false',
      'close ',
      'close a',
      'c="null" NaN false',
      'close ',
    ]);
  });

  it('takes what Open Cluster Scheduler prints: no comma between jobs, bare tasks and nan', () => {
    assert.deepEqual(told('{"jobs": [\n{"tasks": 1-5:2,8\n}\n{"mem": nan, "io": -inf,"n":1,"m":2}]}'), [
      'open ',
      'open jobs',
      'open ',
      'tasks="1-5:2,8" NaN false',
      'close ',
      'open ',
      'mem="nan" NaN false',
      'io="-inf" NaN false',
      'n="1" 1 false',
      'm="2" 2 false',
      'close ',
      'close jobs',
      'close ',
    ]);
  });

  it('replaces escapes, joins bytes that are escaped one by one, reads Latin-1 where it is no UTF-8', () => {
    const value = (text: string | Uint8Array): string => {
      const all = Buffer.concat([Buffer.from('{"k":"'), Buffer.from(text as string), Buffer.from('"}')]);
      const line = told(all).find((own) => own.startsWith('k=')) ?? '';
      return JSON.parse(line.slice(2, line.lastIndexOf('"') + 1)) as string;
    };
    assert.equal(value('a\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\ud83d\\ude00'), 'a"\\/\b\f\n\r\tA😀');
    assert.equal(value('J\\u00C3\\u00BCrgen'), 'Jürgen');
    assert.equal(value('J\\u00FCrgen'), 'Jürgen');
    assert.equal(value(Buffer.from('Jürgen', 'latin1')), 'Jürgen');
    assert.equal(value('raw\nline\x01'), 'raw\nline\x01');
  });

  it('bounds strings and depth', () => {
    const long = told(`{"a":"${'x'.repeat(TEXT_LIMIT + 10)}","b":1}`, [500_000, 1_048_580]);
    assert.equal(long.find((line) => line.startsWith('a='))?.length, TEXT_LIMIT + 'a="" NaN true'.length);
    assert.ok(long.includes('b="1" 1 false'));
    const deep = told(`${'['.repeat(100_000)}1${']'.repeat(100_000)}`);
    assert.equal(deep.length, 2 * DEPTH_LIMIT);
    assert.equal(told('{"a":[1').length, 3, 'a document that is cut tells what there was');
  });

  it('reads what JSON.parse reads', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), fc.array(fc.nat(300), { maxLength: 6 }), (text, cuts) => {
        assert.deepEqual(built(text, cuts), asMaps(JSON.parse(text)));
        assert.deepEqual(built(JSON.stringify(JSON.parse(text), null, 3), cuts), asMaps(JSON.parse(text)));
      }),
      { numRuns: 300 },
    );
  });

  it('takes any bytes and tells the same however they are cut', () => {
    const words = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      '"',
      '\\',
      ',',
      ':',
      '"a":',
      '1',
      '-',
      'nan',
      '\\u00',
      'ü',
      '\xe4',
    );
    const documents = fc
      .array(fc.oneof({ weight: 6, arbitrary: words }, fc.string({ unit: 'binary' })), { maxLength: 40 })
      .chain((parts) => fc.constantFrom<BufferEncoding>('utf8', 'latin1').map((as) => Buffer.from(parts.join(''), as)));
    fc.assert(
      fc.property(documents, fc.array(fc.nat(200), { maxLength: 8 }), (bytes, cuts) => {
        const whole = told(bytes);
        assert.deepEqual(
          told(
            bytes,
            cuts.filter((cut) => cut <= bytes.length),
          ),
          whole,
        );
        assert.deepEqual(told(bytes, Array.from(bytes.keys())), whole);
      }),
      { numRuns: 400 },
    );
  });
});
