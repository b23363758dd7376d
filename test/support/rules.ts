import assert from 'node:assert/strict';
import { checkJson, list, object, string } from '../../src/base/shape';
import { SHIPPED_RULES } from '../../src/report/rules/shipped';

/** The text of a shipped rule with `to` in place of `from`, which must be in it exactly once. */
export function shippedRule(name: string, from: string, to: string): string {
  const rule = SHIPPED_RULES.split(/^(?=\[)/m).find((text) => text.startsWith(`[${name}]\n`)) ?? '';
  const [before, after, ...more] = rule.split(from);
  assert.ok(before !== undefined && after !== undefined && more.length === 0, `${name}: "${from}" is not in it once`);
  return `${before}${to}${after}`;
}

const finding = object({ class: string, evidence: string });
const answer = object({
  records: list(object({ classes: object({ found: list(finding, 20), unknown: list(string, 20) }) }), 9),
});

interface JobClasses {
  /** Evidence by class. */
  readonly found: Readonly<Record<string, string>>;
  readonly unknown: readonly string[];
}

/** A job's classes in the output of `qmemacct job --json`. */
export function classesIn(text: string): JobClasses {
  const read = checkJson(answer, text, 'the answer');
  assert.ok(read.ok, text);
  const classes = read.value.records.map((record) => record.classes);
  return {
    found: Object.fromEntries(classes.flatMap(({ found }) => found).map((one) => [one.class, one.evidence])),
    unknown: classes.flatMap(({ unknown }) => unknown),
  };
}
