import { patternTest } from '../../accounting/filter-record';
import type { CallName, Expression, Operator } from './expression';
import { literalUnit } from './units';

/** null: not known. */
export type Value = number | string | boolean | null;

/** The value of a name. */
export type Lookup = (name: string) => Value;

const known = (value: number): number | null => (Number.isFinite(value) ? value : null);

type Compiled = (lookup: Lookup) => Value;
type Binary = Expression & { readonly kind: 'binary' };

/** Kleene's logic: what one side decides needs not the other. */
function junction({ operator, left, right }: Binary): Compiled {
  const decides = operator === 'or';
  const [first, second] = [compiled(left), compiled(right)];
  return (lookup) => {
    const a = first(lookup);
    if (a === decides) return decides;
    const b = second(lookup);
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

function ofBinary(expression: Binary): Compiled {
  const { operator } = expression;
  if (operator === 'and' || operator === 'or') return junction(expression);
  const [left, right] = [compiled(expression.left), compiled(expression.right)];
  const numbers = ofNumbers(operator);
  return (lookup) => {
    const a = left(lookup);
    const b = right(lookup);
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

function compile(expression: Expression): Compiled {
  switch (expression.kind) {
    case 'number': {
      const value = Number(expression.digits) * literalUnit(expression.unit, expression.at).factor;
      return () => value;
    }
    case 'text':
      return () => expression.text;
    case 'name':
      return (lookup) => lookup(expression.name);
    case 'not': {
      const of = compiled(expression.of);
      return (lookup) => {
        const value = of(lookup);
        return typeof value === 'boolean' ? !value : null;
      };
    }
    case 'minus': {
      const of = compiled(expression.of);
      return (lookup) => {
        const value = of(lookup);
        return typeof value === 'number' ? -value : null;
      };
    }
    case 'call': {
      const values = expression.of.map(compiled);
      return (lookup) =>
        ofCall(
          expression.name,
          values.map((of) => of(lookup)),
        );
    }
    case 'binary':
      return ofBinary(expression);
  }
}

const COMPILED = new WeakMap<Expression, Compiled>();

/** The same of thousands of tasks: what an expression is made of is looked at once. */
function compiled(expression: Expression): Compiled {
  const before = COMPILED.get(expression);
  if (before !== undefined) return before;
  const made = compile(expression);
  COMPILED.set(expression, made);
  return made;
}

/** The value of an expression that was checked; null: something that it needs is not known. */
export const evaluate = (expression: Expression, lookup: Lookup): Value => compiled(expression)(lookup);
