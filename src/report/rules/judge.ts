import { described, list, named, nullable, number, object, oneOf, string, type ValueOf } from '../../base/shape';
import type { JobRecord } from '../../record/record';
import { latestRuns, recordsOf, runGroups, type JobRun } from '../job/job-run';
import { isRun, type RunRecords } from '../job/job-whole';
import { gibHoursOf } from '../format/units';
import type { Value } from './compile';
import { subjectOf, type Kind, type Subject } from './facts';
import { SEVERITIES, type Figure, type Rule, type Template } from './rule';
import type { RuleSet } from './rule-set';
import { formatValue, PLAIN } from './units';

/** A class that a run belongs to: part of the published contract (schema 1). */
export const findingShape = object(
  {
    class: string,
    severity: oneOf(SEVERITIES),
    /** What shows the class, with its figures. */
    evidence: string,
    /** What to do about it; '': nothing is said. */
    hint: string,
    /** null: no cost of this kind, or unknown. */
    cost_gib_hours: nullable(number()),
    cost_slot_hours: nullable(number()),
  },
  "a class that the site's rules find for a run, and the evidence",
);
export type Finding = ValueOf<typeof findingShape>;

export const classesShape = object(
  {
    rules_version: described(string, 'version of the rules'),
    found: list(named(findingShape, 'Finding')),
    unknown: described(list(string), 'classes that could not be judged, since a figure is missing'),
  },
  'what the rules say of a run, worst first',
);
export type Classes = ValueOf<typeof classesShape>;

function figureText({ type, of, facts }: Figure, subject: Subject): string {
  const value = of(subject);
  if (typeof value !== 'number' || type.kind !== 'number') return value === null ? 'unknown' : String(value);
  const isCounted = facts.some(({ byGridEngine }) => byGridEngine?.(subject) === true);
  const { isShare } = type;
  return (isCounted ? '~' : '') + formatValue(value, type.of ?? PLAIN, { isShare, isCounted });
}

function templateText(template: Template, subject: Subject): string {
  return template.map((part) => (typeof part === 'string' ? part : figureText(part, subject))).join('');
}

const hoursOf = (value: Value, inGib: boolean): number | null =>
  typeof value === 'number' ? (inGib ? gibHoursOf(value) : value / 3600) : null;

/** Whether a run belongs to the class of a rule; null: unknown. */
function isOf({ when, required }: Rule, subject: Subject): boolean | null {
  const is = when.of(subject);
  if (typeof is !== 'boolean') return null;
  // A condition that is false stays false, whatever is missing.
  return is && required.some(({ of }) => of(subject) === null) ? null : is;
}

function findingOf({ name, severity, evidence, hint, cost }: Rule, subject: Subject): Finding {
  const spent = cost === null ? null : cost.of(subject);
  return {
    class: name,
    severity,
    // Made only when it is read: of thousands of tasks few are shown.
    get evidence() {
      return templateText(evidence, subject);
    },
    get hint() {
      return templateText(hint, subject);
    },
    cost_gib_hours: cost?.in === 'GiB·h' ? hoursOf(spent, true) : null,
    cost_slot_hours: cost?.in === 'slot·h' ? hoursOf(spent, false) : null,
  };
}

/** The classes of one run, from its records. */
export function judge({ rules, version }: RuleSet, records: readonly JobRecord[], kind: Kind | null): Classes {
  const found: Finding[] = [];
  const unknown: string[] = [];
  if (!isRun(records)) return { rules_version: version, found, unknown };
  const subject = subjectOf(records, kind);
  for (const rule of rules) {
    const is = isOf(rule, subject);
    if (is === null) unknown.push(rule.name);
    else if (is) found.push(findingOf(rule, subject));
  }
  return { rules_version: version, found, unknown };
}

/** These classes, with one of them replaced by a finding that rests on more than they were judged by. */
export const withFinding = ({ found, unknown, ...rest }: Classes, finding: Finding): Classes => ({
  ...rest,
  found: [finding, ...found.filter((one) => one.class !== finding.class)],
  unknown: unknown.filter((name) => name !== finding.class),
});

/** The kind of a job; null: the runs of its kind were not counted. */
type KindOf = (record: JobRecord) => Kind | null;

/** What runs are judged by. */
export interface Judges {
  readonly rules: RuleSet;
  readonly kindOf: KindOf;
}

/** How many tasks of an array belong to a class, and the finding on the first of them. */
export interface ClassCount {
  readonly count: number;
  readonly task: number | null;
  readonly finding: Finding;
}

/** Counts the tasks of each class, without keeping the classes of each task. */
export class ClassCounts {
  private readonly counts = new Map<Rule, ClassCount & { count: number }>();

  constructor(private readonly judges: Judges) {}

  /** `records`: those of one run of a task. */
  add(records: RunRecords): void {
    const [first] = records;
    const subject = subjectOf(records, this.judges.kindOf(first));
    for (const rule of this.judges.rules.rules) {
      if (isOf(rule, subject) !== true) continue;
      const known = this.counts.get(rule);
      if (known === undefined)
        this.counts.set(rule, { count: 1, task: first.task_id, finding: findingOf(rule, subject) });
      else known.count += 1;
    }
  }

  found(): readonly ClassCount[] {
    return [...this.counts.values()];
  }
}

/** These runs, each with its classes; all hosts and tasks of a run must be there. */
export function withClasses<Run extends JobRun>(
  runs: readonly Run[],
  rules: RuleSet,
  kindOf: KindOf = () => null,
): readonly (Run & { readonly classes: Classes })[] {
  const judged = new Map<Run, Classes>();
  for (const group of runGroups(runs)) {
    const records = recordsOf(latestRuns(group));
    const classes = judge(rules, records, records[0] === undefined ? null : kindOf(records[0]));
    for (const run of group) judged.set(run, classes);
  }
  return runs.map((run) => ({ ...run, classes: judged.get(run) ?? judge(rules, [run.record], null) }));
}
