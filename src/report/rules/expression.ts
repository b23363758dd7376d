import { failure, success, type Result } from '../../base/result';
import { ExpressionError } from './expression-error';
import { literalUnit } from './units';

/** An expression in the language of rules: a condition, a cost, or a figure of the evidence. */
export type Expression =
  | { readonly kind: 'number'; readonly at: number; readonly digits: string; readonly unit: string }
  | { readonly kind: 'text'; readonly at: number; readonly text: string }
  | { readonly kind: 'name'; readonly at: number; readonly name: string }
  | { readonly kind: 'not' | 'minus'; readonly at: number; readonly of: Expression }
  | { readonly kind: 'call'; readonly at: number; readonly name: CallName; readonly of: readonly Expression[] }
  | {
      readonly kind: 'binary';
      readonly at: number;
      readonly operator: Operator;
      readonly left: Expression;
      readonly right: Expression;
    };

/** Functions, and how many arguments they take at least and at most. */
const CALLS = { min: [2, 8], max: [2, 8], abs: [1, 1], like: [2, 2] } as const;
export type CallName = keyof typeof CALLS;

/** Operators by precedence, the weakest first; those of one list are equally strong. */
const OPERATORS = [['or'], ['and'], ['<', '<=', '>', '>=', '=', '!='], ['+', '-'], ['*', '/']] as const;
export type Operator = (typeof OPERATORS)[number][number];
export const COMPARISONS: readonly Operator[] = OPERATORS[2];

/** The precedence of `not`: stronger than `and`, weaker than comparisons. */
const NOT_LEVEL = 2;

const LONGEST = 4096;
const DEEPEST = 100;

interface Token {
  readonly kind: 'number' | 'word' | 'text' | 'sign' | 'end';
  readonly text: string;
  readonly unit: string;
  readonly at: number;
}

const TOKEN =
  /(?<blank>\s+)|(?<number>(?:\d+(?:\.\d+)?|\.\d+))(?<unit>%|[A-Za-z_][A-Za-z_0-9]*)?|(?<word>[A-Za-z_][A-Za-z_0-9]*)|'(?<text>[^']*)'|(?<sign><=|>=|!=|==|[-<>=+*/(),])/y;

function tokensOf(source: string): readonly Token[] {
  if (source.length > LONGEST) throw new ExpressionError(`is longer than ${LONGEST} characters`, LONGEST);
  const tokens: Token[] = [];
  const scanner = new RegExp(TOKEN);
  for (let at = 0; at < source.length; at = scanner.lastIndex) {
    scanner.lastIndex = at;
    const found = scanner.exec(source)?.groups;
    if (found === undefined) {
      const quote = source.charAt(at) === "'";
      throw new ExpressionError(
        quote
          ? 'a text has no end'
          : `${JSON.stringify(String.fromCodePoint(source.codePointAt(at) ?? 0))} means nothing here`,
        at,
      );
    }
    const { number, unit = '', word, text, sign } = found;
    if (number !== undefined) tokens.push({ kind: 'number', text: number, unit, at });
    else if (word !== undefined) tokens.push({ kind: 'word', text: word, unit: '', at });
    else if (text !== undefined) tokens.push({ kind: 'text', text, unit: '', at });
    else if (sign !== undefined) tokens.push({ kind: 'sign', text: sign === '==' ? '=' : sign, unit: '', at });
  }
  return [...tokens, { kind: 'end', text: '', unit: '', at: source.length }];
}

const WORDS: ReadonlySet<string> = new Set(['and', 'or', 'not']);

const isCall = (name: string): name is CallName => Object.hasOwn(CALLS, name);

class Parser {
  private next = 0;
  private depth = 0;

  constructor(private readonly tokens: readonly Token[]) {}

  whole(): Expression {
    const expression = this.level(0);
    const rest = this.peek();
    if (rest.kind !== 'end') throw new ExpressionError(`"${shown(rest)}" follows a complete expression`, rest.at);
    return expression;
  }

  private peek(): Token {
    const token = this.tokens[this.next];
    if (token === undefined) throw new ExpressionError('ends too early', 0);
    return token;
  }

  private take(text: string): boolean {
    const token = this.peek();
    const found = (token.kind === 'sign' || token.kind === 'word') && token.text === text;
    if (found) this.next += 1;
    return found;
  }

  private deeper<T>(parse: () => T): T {
    this.depth += 1;
    if (this.depth > DEEPEST) throw new ExpressionError('is nested too deeply', this.peek().at);
    const made = parse();
    this.depth -= 1;
    return made;
  }

  /** Parses operators of this strength and stronger ones. */
  private level(level: number): Expression {
    const operators = OPERATORS[level];
    if (operators === undefined) return this.unary();
    const { at: start } = this.peek();
    if (level === NOT_LEVEL && this.take('not'))
      return { kind: 'not', at: start, of: this.deeper(() => this.level(NOT_LEVEL)) };
    let left = this.level(level + 1);
    for (;;) {
      const { at } = this.peek();
      const operator = operators.find((one) => this.take(one));
      if (operator === undefined) return left;
      left = { kind: 'binary', at, operator, left, right: this.level(level + 1) };
      const again = this.peek();
      if (level === NOT_LEVEL && COMPARISONS.some((one) => one === again.text))
        throw new ExpressionError('a comparison of a comparison: write "and" between two', again.at);
    }
  }

  private unary(): Expression {
    const { at } = this.peek();
    if (this.take('-')) return { kind: 'minus', at, of: this.deeper(() => this.unary()) };
    return this.primary();
  }

  private primary(): Expression {
    const token = this.peek();
    const { kind, text, unit, at } = token;
    if (this.take('(')) return this.closed(() => this.level(0));
    if (kind === 'end') throw new ExpressionError('ends where a value should be', at);
    if (kind === 'sign' || WORDS.has(text)) throw new ExpressionError(`"${shown(token)}" where a value should be`, at);
    this.next += 1;
    if (kind === 'text') return { kind, at, text };
    if (kind === 'number') {
      literalUnit(unit, at);
      return { kind, at, digits: text, unit };
    }
    if (!this.take('(')) return { kind: 'name', at, name: text };
    if (!isCall(text))
      throw new ExpressionError(`"${text}" is not a function; known are ${Object.keys(CALLS).join(', ')}`, at);
    return { kind: 'call', at, name: text, of: this.closed(() => this.list(text, at)) };
  }

  private closed<T>(parse: () => T): T {
    const inside = this.deeper(parse);
    if (!this.take(')')) throw new ExpressionError('")" is missing', this.peek().at);
    return inside;
  }

  private list(name: CallName, at: number): readonly Expression[] {
    const items = [this.level(0)];
    while (this.take(',')) items.push(this.level(0));
    const [least, most] = CALLS[name];
    if (items.length >= least && items.length <= most) return items;
    throw new ExpressionError(`${name} takes ${least === most ? least : `${least} to ${most}`} values`, at);
  }
}

const shown = ({ kind, text, unit }: Token): string => (kind === 'text' ? `'${text}'` : `${text}${unit}`);

/** The result of `make`, or the ExpressionError that it throws. */
export function attempt<T>(make: () => T): Result<T, ExpressionError> {
  try {
    return success(make());
  } catch (error) {
    if (error instanceof ExpressionError) return failure(error);
    throw error;
  }
}

/** An expression, or what is wrong with it and where. Never throws. */
export function parseExpression(source: string): Result<Expression, ExpressionError> {
  return attempt(() => new Parser(tokensOf(source)).whole());
}

const levelOf = (operator: Operator): number =>
  OPERATORS.findIndex((operators) => operators.some((one) => one === operator));

/** How strongly an expression binds: a weaker one needs parentheses inside a stronger one. */
function strength(expression: Expression): number {
  if (expression.kind === 'binary') return levelOf(expression.operator);
  if (expression.kind === 'not') return NOT_LEVEL;
  return OPERATORS.length;
}

/** The text of an expression, with no more parentheses than needed: `parseExpression` reads it back. */
export function printExpression(expression: Expression): string {
  const inside = (of: Expression, least: number): string =>
    strength(of) < least ? `(${printExpression(of)})` : printExpression(of);
  switch (expression.kind) {
    case 'number':
      return `${expression.digits}${expression.unit}`;
    case 'text':
      return `'${expression.text}'`;
    case 'name':
      return expression.name;
    case 'not':
      return `not ${inside(expression.of, NOT_LEVEL)}`;
    case 'minus':
      return `-${inside(expression.of, OPERATORS.length)}`;
    case 'call':
      return `${expression.name}(${expression.of.map(printExpression).join(', ')})`;
    case 'binary': {
      const level = levelOf(expression.operator);
      const left = inside(expression.left, level === NOT_LEVEL ? level + 1 : level);
      return `${left} ${expression.operator} ${inside(expression.right, level + 1)}`;
    }
  }
}
