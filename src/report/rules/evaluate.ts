import { patternTest } from '../../accounting/filter-record';
import type { CallName, Expression, Operator } from './expression';
import { literalUnit } from './units';

/** null: not known. */
export type Value = number | string | boolean | null;

/** The value of a name. */
export type Lookup = (name: string) => Value;

const known = (value: number): number | null => (Number.isFinite(value) ? value : null);

/** Kleene's logic: what one side decides needs not the other. */
function junction(expression: Expression & { readonly kind: 'binary' }, lookup: Lookup): boolean | null {
  const decides = expression.operator === 'or';
  const left = evaluate(expression.left, lookup);
  if (left === decides) return decides;
  const right = evaluate(expression.right, lookup);
  if (right === decides) return decides;
  return left === null || right === null ? null : !decides;
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

function ofNumbers(operator: Operator, a: number, b: number): Value {
  const value = ARITHMETIC[operator]?.(a, b);
  return value === undefined ? (COMPARED[operator]?.(a, b) ?? null) : known(value);
}

function ofBinary(expression: Expression & { readonly kind: 'binary' }, lookup: Lookup): Value {
  const { operator } = expression;
  if (operator === 'and' || operator === 'or') return junction(expression, lookup);
  const a = evaluate(expression.left, lookup);
  const b = evaluate(expression.right, lookup);
  if (typeof a === 'number' && typeof b === 'number') return ofNumbers(operator, a, b);
  if (typeof a !== 'string' || typeof b !== 'string') return null;
  return operator === '=' ? a === b : operator === '!=' ? a !== b : null;
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

/** The value of an expression that was checked; null: something that it needs is not known. */
export function evaluate(expression: Expression, lookup: Lookup): Value {
  switch (expression.kind) {
    case 'number':
      return Number(expression.digits) * literalUnit(expression.unit, expression.at).factor;
    case 'text':
      return expression.text;
    case 'name':
      return lookup(expression.name);
    case 'not': {
      const value = evaluate(expression.of, lookup);
      return typeof value === 'boolean' ? !value : null;
    }
    case 'minus': {
      const value = evaluate(expression.of, lookup);
      return typeof value === 'number' ? -value : null;
    }
    case 'call':
      return ofCall(
        expression.name,
        expression.of.map((of) => evaluate(of, lookup)),
      );
    case 'binary':
      return ofBinary(expression, lookup);
  }
}
