import { reasonOf } from '../../base/user-error';
import type { FieldName } from '../../record/fields';
import { nearestName } from '../../base/nearest-name';
import { failure, success, type Result } from '../../base/result';
import { parseToml } from '../../base/toml';
import { anything, check, list, map, object, nullable, oneOf, string, type Shape } from '../../base/shape';
import { ExpressionError } from './expression-error';
import { compile, type Meaning } from './compile';
import { attempt, parseExpression, printExpression, type Expression } from './expression';
import { FACTS, metricFact, type Fact, type Subject } from './facts';
import { BYTE_SECONDS, sameDimension, dimensionOf } from './units';

/** Worst first. */
export const SEVERITIES = ['high', 'medium', 'low'] as const;
export type Severity = (typeof SEVERITIES)[number];

/** The text that a template was made from. */
export const printTemplate = (template: Template): string =>
  template.map((part) => (typeof part === 'string' ? part : `{${printExpression(part.expression)}}`)).join('');

/** An expression of a rule, with its meaning and the facts that it names. */
export interface Figure extends Meaning<Subject> {
  readonly expression: Expression;
  readonly facts: readonly Fact[];
}

/** Text, and figures in it. */
export type Template = readonly (string | Figure)[];

/** What jobs of a class cost: memory or slots, over time. */
interface Cost extends Figure {
  readonly in: 'GiB·h' | 'slot·h';
}

/** A class of jobs: when a job belongs to it, what shows that, what it costs, and what to do about it. */
export interface Rule {
  readonly name: string;
  readonly severity: Severity;
  /** Fields and metrics without which the rule says nothing. */
  readonly requires: readonly string[];
  /** The same, as facts. */
  readonly required: readonly Fact[];
  readonly when: Figure;
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

  /** `metrics`: the names of all metrics; undefined: every name that looks like one is accepted. */
  constructor(
    private readonly rule: string,
    private readonly metrics: readonly string[] | undefined,
  ) {}

  problem(key: string, problem: string, at: number | null = null): void {
    this.problems.push(`[${this.rule}] ${key}${at === null ? '' : `, character ${at + 1}`}: ${problem}`);
  }

  /** null: the expression has a fault, which is added to `problems`. */
  figure(key: string, source: string, from = 0): Figure | null {
    const parsed = parseExpression(source);
    const read = parsed.ok ? attempt(() => this.compiled(parsed.value)) : parsed;
    if (read.ok) return read.value;
    this.problem(key, read.error.problem, from + read.error.at);
    return null;
  }

  template(key: string, text: string): Template {
    const parts: (string | Figure)[] = [];
    let end = 0;
    for (const { 0: whole, 1: source = '', index } of text.matchAll(/\{([^{}]*)\}/g)) {
      const figure = this.figure(key, source, index + 1);
      if (figure?.type.kind === 'truth') this.problem(key, 'a condition where a figure should be', index + 1);
      parts.push(text.slice(end, index), ...(figure === null ? [] : [figure]));
      end = index + whole.length;
    }
    return [...parts, text.slice(end)].filter((part) => part !== '');
  }

  condition(source: string): Figure | null {
    const found = this.figure('when', source);
    if (found === null || found.type.kind === 'truth') return found;
    this.problem('when', 'is not a condition: compare something', 0);
    return null;
  }

  cost(source: string): Cost | null {
    const found = this.figure('cost', source);
    if (found === null) return null;
    const dimension = found.type.kind === 'number' ? found.type.of : null;
    if (dimension !== null && sameDimension(dimension, BYTE_SECONDS)) return { ...found, in: 'GiB·h' };
    if (dimension !== null && sameDimension(dimension, dimensionOf('seconds').of)) return { ...found, in: 'slot·h' };
    this.problem('cost', 'is neither memory times time nor slots times time', 0);
    return null;
  }

  required(names: readonly string[]): readonly Fact[] {
    return names.flatMap((name) => {
      const known = attempt(() => this.factOf(name, 0));
      if (known.ok) return [known.value];
      this.problem('requires', known.error.problem);
      return [];
    });
  }

  /** Throws ExpressionError. */
  private compiled(expression: Expression): Figure {
    const facts: Fact[] = [];
    const meaning = compile(expression, (name, at) => {
      const fact = this.factOf(name, at);
      facts.push(fact);
      return fact;
    });
    return { ...meaning, expression, facts };
  }

  /** Throws ExpressionError for an unknown name. */
  private factOf(name: string, at: number): Fact {
    const known = FACTS.get(name);
    if (known !== undefined) return known;
    if (METRIC.test(name) && (this.metrics?.includes(name) ?? true)) return metricFact(name);
    const near = nearestName(name, [...FACTS.keys(), ...(this.metrics ?? [])]);
    const meant = near === null ? '"qmemacct rules --fields" lists them' : `did you mean "${near}"?`;
    throw new ExpressionError(`"${name}" is not a field or metric; ${meant}`, at);
  }
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
    requires: requires ?? [],
    required: reader.required(requires ?? []),
    evidence: reader.template('evidence', evidence),
    hint: reader.template('hint', hint ?? ''),
    cost: cost === null ? null : reader.cost(cost),
  };
  if (condition === null) return null;
  const figures = [condition, ...rule.evidence, ...rule.hint, rule.cost ?? ''];
  const facts = [...rule.required, ...figures.flatMap((part) => (typeof part === 'string' ? [] : part.facts))];
  return {
    ...rule,
    when: condition,
    needsSeries: condition.facts.some((fact) => fact.needsSeries === true),
    fields: [...new Set(facts.flatMap(({ field }) => field ?? []))],
  };
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
  const rules: Rule[] = [];
  const off: string[] = [];
  const problems: string[] = [];
  for (const [name, value] of Object.entries(tables)) {
    const reader = new RuleReader(name, metrics);
    const rule = readRule(reader, name, value);
    problems.push(...reader.problems);
    if (rule === 'off') off.push(name);
    else if (rule !== null) rules.push(rule);
  }
  return problems.length > 0 ? failure(problems) : success({ rules, off });
}
