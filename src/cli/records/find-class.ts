import type { RecordSort } from '../../accounting/sorts';
import type { AccountingReader, RecordsAnswer } from '../../accounting/store';
import { groupBy } from '../../base/group-by';
import { nearestName } from '../../base/nearest-name';
import { countedAt, countsInSums, factsOf } from '../../record/facts';
import { privateWorld } from '../../record/job-name';
import { recordKeyText, type JobRecord } from '../../record/record';
import { addFacts, newSums } from '../../record/sums';
import type { Totals } from '../../record/totals';
import { judgeRuns } from '../../report/efficiency/judge-runs';
import { hostsOf } from '../../accounting/job-line';
import { toJobLines, toLines } from '../../report/records/lines';
import type { Account } from '../../report/records/json';
import { withFinding, type Finding } from '../../report/rules/judge';
import type { RuleSet } from '../../report/rules/rule-set';
import { usageError } from '../command';
import type { FoundLines } from './find-lines';

/** At most this many runs are read one by one: those of parallel jobs, and those judged by their memory chart. */
const MOST_READ = 2000;

export interface ClassChoice {
  /** A rule set with the class's rule only. */
  readonly rules: RuleSet;
  /** At most this many lines are shown. */
  readonly most: number;
  /** One line per job, not per task. */
  readonly grouped: boolean;
}

/** The rule set with only the rule that defines a class. Throws a usage error for an unknown class. */
export function ruleOf(name: string, { rules, ...set }: RuleSet): RuleSet {
  const rule = rules.find((one) => one.name === name);
  if (rule !== undefined) return { ...set, rules: [rule] };
  const names = rules.map((one) => one.name);
  const near = nearestName(name, names);
  throw usageError(
    `--class: "${name}" is not a class; ${near === null ? `known are ${names.join(', ')}` : `did you mean "${near}"?`}`,
  );
}

function totalsOf(records: readonly JobRecord[]): Totals {
  const sums = newSums();
  for (const line of toJobLines(records, 'time')) {
    const standing = new Set(hostsOf(line));
    for (const job of groupBy(line, ({ task_id: task }) => task).values())
      for (const record of job) addFacts(sums, factsOf(record, standing.has(record), job), countedAt(record));
  }
  const jobs = groupBy(records, ({ cluster, job_id: job, task_id: task }) => `${cluster} ${job} ${task ?? ''}`);
  return { ...sums.totals, jobs: jobs.size };
}

/**
 * From an answer, the first `most` lines of records whose run is in a class, and the totals of these records.
 * Rejects with StoreError.
 */
export async function findClassLines(
  answer: RecordsAnswer,
  sort: RecordSort = 'time',
  { rules, most, grouped }: ClassChoice,
  readers: readonly AccountingReader[],
): Promise<FoundLines> {
  const all = answer.records.map(({ record }) => record);
  const { judged, leftOut } = await judgeRuns(readers, all, rules, MOST_READ);
  const findings = new Map(
    judged.flatMap(({ keys, found }) => found.slice(0, 1).flatMap((one) => keys.map((key) => [key, one] as const))),
  );
  const records = all.filter((record) => findings.has(recordKeyText(record)));
  const ofClusters = records.filter(({ cluster }) => privateWorld(cluster) === null);
  const lines = (grouped ? toJobLines : toLines)(records, sort).slice(0, most);
  return {
    answer: {
      ...answer,
      records: answer.records.filter(({ record }) => findings.has(recordKeyText(record))),
      totals: totalsOf((ofClusters.length > 0 ? ofClusters : records).filter(countsInSums)),
    },
    lines,
    ofClass: { findings, leftOut },
  };
}

/** Accounts of a class's list, each with the finding that puts it into the class. */
export function withFindings(
  accounts: readonly Account[],
  findings: ReadonlyMap<string, Finding> | undefined,
): readonly Account[] {
  if (findings === undefined) return accounts;
  return accounts.map((account) => {
    const finding = findings.get(recordKeyText(account.record));
    const { classes } = account;
    if (finding === undefined || classes === undefined) return account;
    return { ...account, classes: withFinding(classes, finding) };
  });
}
