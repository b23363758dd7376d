import { patternTest } from '../../accounting/filter-record';
import type { CallName, Expression, Operator } from './expression';
import { literalUnit } from './units';

/** null: unknown. */
export type Value = number | string | boolean | null;

/** Computes a value from what is known of a subject. */
export type ValueOf<Subject> = (subject: Subject) => Value;

/** Finds how the value of a name is computed. */
export type Names<Subject> = (name: string) => ValueOf<Subject>;

const known = (value: number): number | null => (Number.isFinite(value) ? value : null);

type Binary = Expression & { readonly kind: 'binary' };

/** Kleene's three-valued logic: where one side decides, the other may be unknown. */
function junction<Subject>({ operator, left, right }: Binary, names: Names<Subject>): ValueOf<Subject> {
  const decides = operator === 'or';
  const [first, second] = [compile(left, names), compile(right, names)];
  return (subject) => {
    const a = first(subject);
    if (a === decides) return decides;
    const b = second(subject);
    if (b === decides) return decides;
    return a === null || b === null ? null : !decides;
  };
}

const ARITHMETIC: Readonly<Partial<Record<Operator, (a: number, b: number) => number>>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '/': (a, b) => a / b,
};

const COMPARED: Readonly<Partial<Record<Operator, (a: number, b: number) => boolean>>> = {
  '<': (a, b) => a < b,
  '<=': (a, b) => a <= b,
  '>': (a, b) => a > b,
  '>=': (a, b) => a >= b,
  '=': (a, b) => a === b,
  '!=': (a, b) => a !== b,
};

function ofNumbers(operator: Operator): (a: number, b: number) => Value {
  const arithmetic = ARITHMETIC[operator];
  if (arithmetic !== undefined) return (a, b) => known(arithmetic(a, b));
  return COMPARED[operator] ?? (() => null);
}

function ofTexts(operator: Operator, a: string, b: string): boolean | null {
  return operator === '=' ? a === b : operator === '!=' ? a !== b : null;
}

function ofBinary<Subject>(expression: Binary, names: Names<Subject>): ValueOf<Subject> {
  const { operator } = expression;
  if (operator === 'and' || operator === 'or') return junction(expression, names);
  const [left, right] = [compile(expression.left, names), compile(expression.right, names)];
  const numbers = ofNumbers(operator);
  return (subject) => {
    const a = left(subject);
    const b = right(subject);
    if (typeof a === 'number' && typeof b === 'number') return numbers(a, b);
    return typeof a === 'string' && typeof b === 'string' ? ofTexts(operator, a, b) : null;
  };
}

function ofCall(name: CallName, values: readonly Value[]): Value {
  if (name === 'like') {
    const [text, pattern] = values;
    return typeof text === 'string' && typeof pattern === 'string' ? patternTest(pattern)(text) : null;
  }
  const numbers = values.filter((value) => typeof value === 'number');
  if (numbers.length < values.length) return null;
  if (name === 'abs') return Math.abs(numbers[0] ?? 0);
  return name === 'min' ? Math.min(...numbers) : Math.max(...numbers);
}

/**
 * Makes a function of a checked expression that gives its value for a subject: with thousands of tasks the expression
 * is taken apart, and its names are looked up, only once. The value is null where something that it needs is unknown.
 */
export function compile<Subject>(expression: Expression, names: Names<Subject>): ValueOf<Subject> {
  switch (expression.kind) {
    case 'number': {
      const value = Number(expression.digits) * literalUnit(expression.unit, expression.at).factor;
      return () => value;
    }
    case 'text':
      return () => expression.text;
    case 'name':
      return names(expression.name);
    case 'not': {
      const of = compile(expression.of, names);
      return (subject) => {
        const value = of(subject);
        return typeof value === 'boolean' ? !value : null;
      };
    }
    case 'minus': {
      const of = compile(expression.of, names);
      return (subject) => {
        const value = of(subject);
        return typeof value === 'number' ? -value : null;
      };
    }
    case 'call': {
      const values = expression.of.map((of) => compile(of, names));
      return (subject) =>
        ofCall(
          expression.name,
          values.map((of) => of(subject)),
        );
    }
    case 'binary':
      return ofBinary(expression, names);
  }
}
