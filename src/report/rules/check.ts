import { ExpressionError } from './expression-error';
import { COMPARISONS, type Expression, type Operator } from './expression';
import { combined, dimensionName, literalUnit, PLAIN, sameDimension, type Dimension } from './units';

/** The type of an expression; a number with `of` null is a bare 0, which compares with anything. */
export type Type =
  | { readonly kind: 'number'; readonly of: Dimension | null; readonly isShare: boolean }
  | { readonly kind: 'text' | 'truth' };

/** The type of a name. Throws ExpressionError for an unknown name. */
export type TypeOfName = (name: string, at: number) => Type;

const TRUTH: Type = { kind: 'truth' };

const KINDS: Readonly<Record<Type['kind'], string>> = {
  number: 'a number',
  text: 'a text',
  truth: 'a condition',
};

const isComparison = (operator: Operator): boolean => COMPARISONS.includes(operator);

const typeName = (type: Type): string =>
  type.kind === 'number' && type.of !== null ? dimensionName(type.of) : KINDS[type.kind];

function wanted(kind: Type['kind'], of: Expression, names: TypeOfName): Type {
  const type = typeOf(of, names);
  if (type.kind === kind) return type;
  throw new ExpressionError(`${typeName(type)} where ${KINDS[kind]} should be`, of.at);
}

function numberType(of: Expression, names: TypeOfName): Type & { readonly kind: 'number' } {
  const type = wanted('number', of, names);
  if (type.kind !== 'number') throw new ExpressionError('is not a number', of.at);
  return type;
}

/** The common type of values that are added, compared or chosen among. Throws ExpressionError if they have none. */
function common(types: readonly (Type & { readonly kind: 'number' })[], what: string, at: number): Type {
  const [first, ...others] = types.filter(({ of }) => of !== null);
  const given = first?.of ?? null;
  for (const { of } of others)
    if (given !== null && of !== null && !sameDimension(given, of))
      throw new ExpressionError(`${what} of ${dimensionName(given)} and ${dimensionName(of)}`, at);
  return { kind: 'number', of: given, isShare: types.every(({ isShare }) => isShare) };
}

function typeOfBinary(expression: Expression & { readonly kind: 'binary' }, names: TypeOfName): Type {
  const { operator, left, right, at } = expression;
  if (operator === 'and' || operator === 'or') {
    wanted('truth', left, names);
    wanted('truth', right, names);
    return TRUTH;
  }
  if ((operator === '=' || operator === '!=') && typeOf(left, names).kind === 'text') {
    wanted('text', right, names);
    return TRUTH;
  }
  const types = [numberType(left, names), numberType(right, names)] as const;
  if (isComparison(operator)) {
    common(types, `"${operator}"`, at);
    return TRUTH;
  }
  if (operator === '+' || operator === '-') return common(types, `"${operator}"`, at);
  const [a, b] = [types[0].of ?? PLAIN, types[1].of ?? PLAIN];
  return { kind: 'number', of: combined(a, b, operator === '*' ? 1 : -1), isShare: false };
}

/** The type of an expression. Throws ExpressionError where its parts don't fit, or a name is unknown. */
export function typeOf(expression: Expression, names: TypeOfName): Type {
  switch (expression.kind) {
    case 'number': {
      const isZero = Number(expression.digits) === 0 && expression.unit === '';
      const { of } = literalUnit(expression.unit, expression.at);
      return { kind: 'number', of: isZero ? null : of, isShare: expression.unit === '%' };
    }
    case 'text':
      return { kind: 'text' };
    case 'name':
      return names(expression.name, expression.at);
    case 'not':
      return wanted('truth', expression.of, names);
    case 'minus':
      return numberType(expression.of, names);
    case 'call':
      if (expression.name === 'like') {
        expression.of.forEach((of) => wanted('text', of, names));
        return TRUTH;
      }
      return common(
        expression.of.map((of) => numberType(of, names)),
        expression.name,
        expression.at,
      );
    case 'binary':
      return typeOfBinary(expression, names);
  }
}
