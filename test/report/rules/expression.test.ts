import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { compile, type Meaning, type Type, type Value } from '../../../src/report/rules/compile';
import { ExpressionError } from '../../../src/report/rules/expression-error';
import {
  attempt,
  parseExpression,
  printExpression,
  type CallName,
  type Expression,
  type Operator,
} from '../../../src/report/rules/expression';
import { dimensionOf, PLAIN } from '../../../src/report/rules/units';
import { anyCharacter } from '../../support/any-character';

const NAMES: ReadonlyMap<string, Type> = new Map<string, Type>([
  ['memory', { kind: 'number', of: dimensionOf('bytes').of, isShare: false }],
  ['elapsed', { kind: 'number', of: dimensionOf('seconds').of, isShare: false }],
  ['slots', { kind: 'number', of: PLAIN, isShare: false }],
  ['queue', { kind: 'text' }],
  ['ok', { kind: 'truth' }],
]);

type Values = Readonly<Record<string, Value>>;

const meaningOf = (name: string, at: number): Meaning<Values> => {
  const type = NAMES.get(name);
  if (type === undefined) throw new ExpressionError(`"${name}" is not known`, at);
  return { type, of: (values) => values[name] ?? null };
};

function problemOf(source: string): string {
  const parsed = parseExpression(source);
  const checked = parsed.ok ? attempt(() => compile(parsed.value, meaningOf)) : parsed;
  assert.ok(!checked.ok, `${source} is no error`);
  return `${checked.error.at}: ${checked.error.problem}`;
}

function valueOf(source: string, values: Values = {}): Value {
  const parsed = parseExpression(source);
  assert.ok(parsed.ok, source);
  return compile(parsed.value, meaningOf).of(values);
}

/** The expression without positions. */
function shape(expression: Expression): unknown {
  return JSON.parse(JSON.stringify(expression, (key, value: unknown) => (key === 'at' ? undefined : value)));
}

const leaf: fc.Arbitrary<Expression> = fc.oneof(
  fc
    .tuple(fc.nat(9999), fc.constantFrom('', '%', 'GiB', 'min', 's', 'kWh'))
    .map(([digits, unit]): Expression => ({ kind: 'number', at: 0, digits: String(digits), unit })),
  fc
    .constantFrom('memory', 'elapsed', 'queue', 'ok', 'minimum')
    .map((name): Expression => ({ kind: 'name', at: 0, name })),
  fc.constantFrom('', 'all.q', 'a b').map((text): Expression => ({ kind: 'text', at: 0, text })),
);

const { any } = fc.letrec<{ any: Expression }>((tie) => ({
  any: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaf,
    fc
      .tuple(fc.constantFrom<Operator>('or', 'and', '<', '>=', '=', '!=', '+', '-', '*', '/'), tie('any'), tie('any'))
      .map(([operator, left, right]): Expression => ({ kind: 'binary', at: 0, operator, left, right })),
    fc
      .tuple(fc.constantFrom<'not' | 'minus'>('not', 'minus'), tie('any'))
      .map(([kind, of]): Expression => ({ kind, at: 0, of })),
    fc
      .tuple(fc.constantFrom<CallName>('min', 'max', 'like'), tie('any'), tie('any'))
      .map(([name, a, b]): Expression => ({ kind: 'call', at: 0, name, of: [a, b] })),
  ),
}));

describe('rule expressions', () => {
  it('are read back as they were printed', () => {
    fc.assert(
      fc.property(any, (expression) => {
        const text = printExpression(expression);
        const read = parseExpression(text);
        assert.ok(read.ok, text);
        assert.deepEqual(shape(read.value), shape(expression), text);
      }),
    );
  });

  it('give an error with its position for any garbage, and never throw', () => {
    const pieces = fc.constantFrom(
      ...['(', ')', ',', 'and', 'or', 'not', '<', '=', '==', '+', '-', '*', '/', '4GiB', '20%', 'min', 'x', "'a'", ' '],
    );
    const sources = fc.oneof(
      fc.string(),
      fc.string({ unit: anyCharacter }),
      fc.array(pieces).map((some) => some.join('')),
    );
    fc.assert(
      fc.property(sources, (source) => {
        const read = parseExpression(source);
        const checked = read.ok ? attempt(() => compile(read.value, meaningOf)) : read;
        if (checked.ok) return;
        assert.notEqual(checked.error.problem, '');
        assert.ok(checked.error.at >= 0 && checked.error.at <= source.length, `${checked.error.at} in ${source}`);
      }),
      { numRuns: 500 },
    );
    assert.match(problemOf('('.repeat(4000)), /: is nested too deeply$/);
    assert.match(problemOf('-'.repeat(4000)), /: is nested too deeply$/);
    assert.match(problemOf('not '.repeat(1000)), /: is nested too deeply$/);
    assert.match(problemOf(' '.repeat(5000)), /: is longer than 4096 characters$/);
  });

  it('have errors in plain words', () => {
    assert.equal(problemOf(''), '0: ends where a value should be');
    assert.equal(
      problemOf('memory > 4G'),
      '9: "G" is not a unit; known are %, B, KiB, MiB, GiB, TiB, kB, MB, GB, TB, ms, s, min, h, d, J, kWh',
    );
    assert.equal(problemOf('memory > 10min'), '7: ">" of bytes and seconds');
    assert.equal(problemOf('memory + slots > 0'), '7: "+" of bytes and a plain number');
    assert.equal(problemOf('(memory > 4GiB'), '14: ")" is missing');
    assert.equal(problemOf('memory > 1GiB > 2GiB'), '14: a comparison of a comparison: write "and" between two');
    assert.equal(problemOf('memory > ; rm'), '9: ";" means nothing here');
    assert.equal(problemOf("queue = 'all.q"), '8: a text has no end');
    assert.equal(problemOf('eval(1)'), '0: "eval" is not a function; known are min, max, abs, like');
    assert.equal(problemOf('min(1)'), '0: min takes 2 to 8 values');
    assert.equal(problemOf('ok and slots'), '7: a plain number where a condition should be');
    assert.equal(problemOf('constructor > 1'), '0: "constructor" is not known');
  });

  it('calculate with units', () => {
    assert.equal(valueOf('memory > 4GiB', { memory: 5 * 1024 ** 3 }), true);
    assert.equal(valueOf('memory > 4GB', { memory: 4 * 1000 ** 3 }), false);
    assert.equal(valueOf('2 + 3 * 4 - 6 / 2'), 11);
    assert.equal(valueOf('-(2 - 5) * 2'), 6);
    assert.equal(valueOf('elapsed >= 20% * 1h', { elapsed: 720 }), true);
    assert.equal(valueOf('min(elapsed, 1min) / 1s', { elapsed: 90 }), 60);
    assert.equal(valueOf('abs(2 - slots)', { slots: 5 }), 3);
    assert.equal(valueOf('memory > 0', { memory: 1 }), true);
    assert.equal(valueOf("queue = 'all.q' and like(queue, 'a*.q')", { queue: 'all.q' }), true);
    assert.equal(valueOf("queue != 'all.q' or like(queue, 'b*')", { queue: 'all.q' }), false);
  });

  it('are unknown where a needed value is unknown, and known where the rest decides', () => {
    const slots = { slots: 4 };
    assert.equal(valueOf('memory > 1GiB'), null);
    assert.equal(valueOf('not memory > 1GiB'), null);
    assert.equal(valueOf('memory > 1GiB and slots = 4', slots), null);
    assert.equal(valueOf('memory > 1GiB and slots = 5', slots), false);
    assert.equal(valueOf('memory > 1GiB or slots = 4', slots), true);
    assert.equal(valueOf('slots = 5 or memory > 1GiB', slots), null);
    assert.equal(valueOf('memory / (slots - 4) > 1GiB', { memory: 5, slots: 4 }), null);
    assert.equal(valueOf('max(1GiB, memory) > 0'), null);
    assert.equal(valueOf("like(queue, '*')"), null);
    assert.equal(valueOf('ok or not ok'), null);
  });
});
