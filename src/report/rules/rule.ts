import { reasonOf } from '../../base/user-error';
import type { FieldName } from '../../record/fields';
import { nearestName } from '../../base/nearest-name';
import { failure, success, type Result } from '../../base/result';
import { parseToml } from '../../base/toml';
import { anything, check, list, map, object, nullable, oneOf, string, type Shape } from '../../base/shape';
import { ExpressionError } from './expression-error';
import { typeOf, type Type, type TypeOfName } from './check';
import { attempt, namesIn, parseExpression, printExpression, type Expression } from './expression';
import { FACTS, metricFact } from './facts';
import { BYTE_SECONDS, sameDimension, dimensionOf } from './units';

/** Worst first. */
export const SEVERITIES = ['high', 'medium', 'low'] as const;
export type Severity = (typeof SEVERITIES)[number];

/** The text that a template was made from. */
export const printTemplate = (template: Template): string =>
  template.map((part) => (typeof part === 'string' ? part : `{${printExpression(part.of)}}`)).join('');

/** A part of a template: text, or a figure, which is an expression with its type. */
export type TemplatePart = string | { readonly of: Expression; readonly type: Type };
export type Template = readonly TemplatePart[];

/** What jobs of a class cost: memory or slots, over time. */
interface Cost {
  readonly of: Expression;
  readonly in: 'GiB·h' | 'slot·h';
}

/** A class of jobs: when a job belongs to it, what shows that, what it costs, and what to do about it. */
export interface Rule {
  readonly name: string;
  readonly severity: Severity;
  /** Fields and metrics without which the rule says nothing. */
  readonly requires: readonly string[];
  readonly when: Expression;
  readonly evidence: Template;
  readonly hint: Template;
  readonly cost: Cost | null;
  /** The rule can't be decided without memory over time. */
  readonly needsSeries: boolean;
  /** The fields that the rule names, whole or a member of them; its other names are derived from more fields. */
  readonly fields: readonly FieldName[];
}

/** The rules of one file; `off`: names of rules of other files that do not apply. */
interface RuleFile {
  readonly rules: readonly Rule[];
  readonly off: readonly string[];
}

/** Whether there is a metric of this name. */
type IsMetric = (name: string) => boolean;

const KEYS = {
  severity: oneOf([...SEVERITIES, 'off']),
  requires: nullable(list(string, 32)),
  when: nullable(string),
  evidence: nullable(string),
  hint: nullable(string),
  cost: nullable(string),
} satisfies Record<string, Shape<unknown>>;

const table = object(KEYS);
const NAME = /^[a-z][a-z0-9-]{0,39}$/;
const METRIC = /^[a-z][a-z0-9]*_[a-z0-9_]+$/;

/** Reads one rule, and says of each fault where it is. */
class RuleReader {
  readonly problems: string[] = [];

  constructor(
    private readonly rule: string,
    private readonly isMetric: IsMetric,
    private readonly metrics: readonly string[],
  ) {}

  problem(key: string, problem: string, at: number | null = null): void {
    this.problems.push(`[${this.rule}] ${key}${at === null ? '' : `, character ${at + 1}`}: ${problem}`);
  }

  /** null: the expression has a fault, which is added to `problems`. */
  expression(key: string, source: string, from = 0): { readonly of: Expression; readonly type: Type } | null {
    const parsed = parseExpression(source);
    const typed = parsed.ok
      ? attempt(() => ({ of: parsed.value, type: typeOf(parsed.value, this.typeOfName) }))
      : parsed;
    if (typed.ok) return typed.value;
    this.problem(key, typed.error.problem, from + typed.error.at);
    return null;
  }

  template(key: string, text: string): Template {
    const parts: TemplatePart[] = [];
    let end = 0;
    for (const { 0: whole, 1: source = '', index } of text.matchAll(/\{([^{}]*)\}/g)) {
      const figure = this.expression(key, source, index + 1);
      if (figure?.type.kind === 'truth') this.problem(key, 'a condition where a figure should be', index + 1);
      parts.push(text.slice(end, index), ...(figure === null ? [] : [figure]));
      end = index + whole.length;
    }
    return [...parts, text.slice(end)].filter((part) => part !== '');
  }

  condition(source: string): Expression | null {
    const found = this.expression('when', source);
    if (found === null || found.type.kind === 'truth') return found?.of ?? null;
    this.problem('when', 'is not a condition: compare something', 0);
    return null;
  }

  cost(source: string): Cost | null {
    const found = this.expression('cost', source);
    if (found === null) return null;
    const { type, of } = found;
    const dimension = type.kind === 'number' ? type.of : null;
    if (dimension !== null && sameDimension(dimension, BYTE_SECONDS)) return { of, in: 'GiB·h' };
    if (dimension !== null && sameDimension(dimension, dimensionOf('seconds').of)) return { of, in: 'slot·h' };
    this.problem('cost', 'is neither memory times time nor slots times time', 0);
    return null;
  }

  requires(names: readonly string[]): readonly string[] {
    for (const name of names) {
      const known = attempt(() => this.typeOfName(name, 0));
      if (!known.ok) this.problem('requires', known.error.problem);
    }
    return names;
  }

  private readonly typeOfName: TypeOfName = (name, at) => {
    const known = FACTS.get(name);
    if (known !== undefined) return known.type;
    if (METRIC.test(name) && this.isMetric(name)) return metricFact(name).type;
    const near = nearestName(name, [...FACTS.keys(), ...this.metrics]);
    const meant = near === null ? '"qmemacct rules --fields" lists them' : `did you mean "${near}"?`;
    throw new ExpressionError(`"${name}" is not a field or metric; ${meant}`, at);
  };
}

const needsSeries = (of: Expression): boolean => namesIn(of).some((name) => FACTS.get(name)?.needsSeries === true);

function fieldsOf(
  { requires, evidence, hint, cost }: Omit<Rule, 'when' | 'needsSeries' | 'fields'>,
  when: Expression,
): readonly FieldName[] {
  const parts = [...evidence, ...hint, ...(cost === null ? [] : [cost])].flatMap((part) =>
    typeof part === 'string' ? [] : [part.of],
  );
  const names = [...requires, ...[when, ...parts].flatMap(namesIn)];
  return [...new Set(names.flatMap((name) => FACTS.get(name)?.field ?? []))];
}

function readRule(reader: RuleReader, name: string, value: unknown): Rule | 'off' | null {
  if (!NAME.test(name)) reader.problem('name', 'is not small letters, digits and "-", at most 40');
  const given = check(map(anything), value, 'the rule');
  for (const key of Object.keys(given.ok ? given.value : {})) {
    if (Object.hasOwn(KEYS, key)) continue;
    const near = nearestName(key, Object.keys(KEYS));
    const meant = near === null ? `known are ${Object.keys(KEYS).join(', ')}` : `did you mean "${near}"?`;
    reader.problem(key, `is not a key; ${meant}`);
  }
  const read = check(table, value, 'the rule');
  if (!read.ok) {
    reader.problems.push(`[${name}] ${read.error}`);
    return null;
  }
  const { severity, requires, when, evidence, hint, cost } = read.value;
  if (severity === 'off') return 'off';
  if (when === null || evidence === null) {
    reader.problem(when === null ? 'when' : 'evidence', 'is missing');
    return null;
  }
  const condition = reader.condition(when);
  const rule = {
    name,
    severity,
    requires: reader.requires(requires ?? []),
    evidence: reader.template('evidence', evidence),
    hint: reader.template('hint', hint ?? ''),
    cost: cost === null ? null : reader.cost(cost),
  };
  if (condition === null) return null;
  return { ...rule, when: condition, needsSeries: needsSeries(condition), fields: fieldsOf(rule, condition) };
}

/**
 * The rules of a TOML text, a table each, in their order; or every fault in it. `metrics`: the names of all metrics;
 * left out, every name that looks like one is accepted.
 */
export function parseRules(text: string, metrics?: readonly string[]): Result<RuleFile, readonly string[]> {
  let tables: Record<string, unknown>;
  try {
    tables = parseToml(text);
  } catch (error) {
    return failure([`not valid TOML (${reasonOf(error)})`]);
  }
  const known = metrics === undefined ? null : new Set(metrics);
  const rules: Rule[] = [];
  const off: string[] = [];
  const problems: string[] = [];
  for (const [name, value] of Object.entries(tables)) {
    const reader = new RuleReader(name, (metric) => known?.has(metric) ?? true, metrics ?? []);
    const rule = readRule(reader, name, value);
    problems.push(...reader.problems);
    if (rule === 'off') off.push(name);
    else if (rule !== null) rules.push(rule);
  }
  return problems.length > 0 ? failure(problems) : success({ rules, off });
}
