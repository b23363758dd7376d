import { patternTest } from '../../accounting/filter-record';
import { ExpressionError } from './expression-error';
import { COMPARISONS, type CallName, type Expression, type Operator } from './expression';
import { combined, dimensionName, literalUnit, PLAIN, sameDimension, type Dimension } from './units';

/** The type of an expression; a number with `of` null is a bare 0, which compares with anything. */
export type Type =
  | { readonly kind: 'number'; readonly of: Dimension | null; readonly isShare: boolean }
  | { readonly kind: 'text' | 'truth' };

/** null: unknown. */
export type Value = number | string | boolean | null;

type ValueOf<Subject> = (subject: Subject) => Value;

/** What an expression or a name stands for: a value of this type, computed from what is known of a subject. */
export interface Meaning<Subject, Of extends Type = Type> {
  readonly type: Of;
  readonly of: ValueOf<Subject>;
}

/** The meaning of a name. Throws ExpressionError for an unknown name. */
type Names<Subject> = (name: string, at: number) => Meaning<Subject>;

type Kind = Type['kind'];
type OfKind<K extends Kind> = Type & { readonly kind: K };

const TRUTH: Type = { kind: 'truth' };

const KINDS: Readonly<Record<Kind, string>> = {
  number: 'a number',
  text: 'a text',
  truth: 'a condition',
};

const typeName = (type: Type): string =>
  type.kind === 'number' && type.of !== null ? dimensionName(type.of) : KINDS[type.kind];

const isOfKind = <K extends Kind>(type: Type, kind: K): type is OfKind<K> => type.kind === kind;

/** The meaning of an expression (`found`). Throws ExpressionError if it is of another kind. */
function wanted<Subject, K extends Kind>(
  kind: K,
  expression: Expression,
  names: Names<Subject>,
  found = compile(expression, names),
): Meaning<Subject, OfKind<K>> {
  const { type, of } = found;
  if (isOfKind(type, kind)) return { type, of };
  throw new ExpressionError(`${typeName(type)} where ${KINDS[kind]} should be`, expression.at);
}

/** The common type of values that are added, compared or chosen among. Throws ExpressionError if they have none. */
function common(types: readonly OfKind<'number'>[], what: string, at: number): Type {
  const [first, ...others] = types.filter(({ of }) => of !== null);
  const given = first?.of ?? null;
  for (const { of } of others)
    if (given !== null && of !== null && !sameDimension(given, of))
      throw new ExpressionError(`${what} of ${dimensionName(given)} and ${dimensionName(of)}`, at);
  return { kind: 'number', of: given, isShare: types.every(({ isShare }) => isShare) };
}

type Binary = Expression & { readonly kind: 'binary' };
type Junction = 'and' | 'or';

/** Kleene's three-valued logic: where one side decides, the other may be unknown. */
function junction<Subject>({ operator, left, right }: Binary, names: Names<Subject>): Meaning<Subject> {
  const decides = operator === 'or';
  const { of: first } = wanted('truth', left, names);
  const { of: second } = wanted('truth', right, names);
  const of: ValueOf<Subject> = (subject) => {
    const a = first(subject);
    if (a === decides) return decides;
    const b = second(subject);
    if (b === decides) return decides;
    return a === null || b === null ? null : !decides;
  };
  return { type: TRUTH, of };
}

const known = (value: number): number | null => (Number.isFinite(value) ? value : null);

const OF_NUMBERS: Readonly<Record<Exclude<Operator, Junction>, (a: number, b: number) => Value>> = {
  '+': (a, b) => known(a + b),
  '-': (a, b) => known(a - b),
  '*': (a, b) => known(a * b),
  '/': (a, b) => known(a / b),
  '<': (a, b) => a < b,
  '<=': (a, b) => a <= b,
  '>': (a, b) => a > b,
  '>=': (a, b) => a >= b,
  '=': (a, b) => a === b,
  '!=': (a, b) => a !== b,
};

function ofTexts<Subject>(operator: '=' | '!=', a: ValueOf<Subject>, b: ValueOf<Subject>): Meaning<Subject> {
  const of: ValueOf<Subject> = (subject) => {
    const left = a(subject);
    const right = b(subject);
    return left === null || right === null ? null : (left === right) === (operator === '=');
  };
  return { type: TRUTH, of };
}

function ofBinary<Subject>(expression: Binary, names: Names<Subject>): Meaning<Subject> {
  const { operator, left, right, at } = expression;
  if (operator === 'and' || operator === 'or') return junction(expression, names);
  const first = compile(left, names);
  if ((operator === '=' || operator === '!=') && first.type.kind === 'text')
    return ofTexts(operator, first.of, wanted('text', right, names).of);
  const a = wanted('number', left, names, first);
  const b = wanted('number', right, names);
  const compute = OF_NUMBERS[operator];
  const of: ValueOf<Subject> = (subject) => {
    const one = a.of(subject);
    const other = b.of(subject);
    return typeof one === 'number' && typeof other === 'number' ? compute(one, other) : null;
  };
  if (operator === '*' || operator === '/') {
    const product = combined(a.type.of ?? PLAIN, b.type.of ?? PLAIN, operator === '*' ? 1 : -1);
    return { type: { kind: 'number', of: product, isShare: false }, of };
  }
  const type = common([a.type, b.type], `"${operator}"`, at);
  return { type: COMPARISONS.includes(operator) ? TRUTH : type, of };
}

/** What a function makes of these values. */
function callOf<Subject>(name: CallName, values: readonly Meaning<Subject>[]): ValueOf<Subject> {
  return (subject) => {
    const given = values.map(({ of }) => of(subject));
    if (name === 'like') {
      const [text, pattern] = given;
      return typeof text === 'string' && typeof pattern === 'string' ? patternTest(pattern)(text) : null;
    }
    const numbers = given.filter((value) => typeof value === 'number');
    if (numbers.length < given.length) return null;
    if (name === 'abs') return Math.abs(numbers[0] ?? 0);
    return name === 'min' ? Math.min(...numbers) : Math.max(...numbers);
  };
}

function ofCall<Subject>(call: Expression & { readonly kind: 'call' }, names: Names<Subject>): Meaning<Subject> {
  const { name, of, at } = call;
  if (name === 'like') {
    const texts = of.map((one) => wanted('text', one, names));
    return { type: TRUTH, of: callOf(name, texts) };
  }
  const numbers = of.map((one) => wanted('number', one, names));
  const types = numbers.map(({ type }) => type);
  return { type: common(types, name, at), of: callOf(name, numbers) };
}

/**
 * Checks an expression, and makes a function of it: with thousands of tasks it is taken apart, and its names are looked
 * up, only once. The value is null where something that it needs is unknown. Throws ExpressionError where its parts
 * don't fit, or a name is unknown.
 */
export function compile<Subject>(expression: Expression, names: Names<Subject>): Meaning<Subject> {
  const { at } = expression;
  switch (expression.kind) {
    case 'number': {
      const { of, factor } = literalUnit(expression.unit, at);
      const value = Number(expression.digits) * factor;
      const isBare = value === 0 && expression.unit === '';
      return { type: { kind: 'number', of: isBare ? null : of, isShare: expression.unit === '%' }, of: () => value };
    }
    case 'text':
      return { type: { kind: 'text' }, of: () => expression.text };
    case 'name':
      return names(expression.name, at);
    case 'not': {
      const { type, of } = wanted('truth', expression.of, names);
      const negated: ValueOf<Subject> = (subject) => {
        const value = of(subject);
        return typeof value === 'boolean' ? !value : null;
      };
      return { type, of: negated };
    }
    case 'minus': {
      const { type, of } = wanted('number', expression.of, names);
      const negative: ValueOf<Subject> = (subject) => {
        const value = of(subject);
        return typeof value === 'number' ? -value : null;
      };
      return { type, of: negative };
    }
    case 'call':
      return ofCall(expression, names);
    case 'binary':
      return ofBinary(expression, names);
  }
}
