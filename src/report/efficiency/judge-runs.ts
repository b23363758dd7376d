import { isSampled } from '../../record/coverage';
import { recordKeyText, type JobRecord } from '../../record/record';
import { judge, type Finding } from '../rules/judge';
import { Kinds } from '../rules/kinds';
import type { RuleSet } from '../rules/rule-set';
import type { ReportReader } from './ask';
import { isPart, wholeRun } from './whole-jobs';

export interface JudgedRun {
  /** The master's record if it was read, else the record that was judged. */
  readonly record: JobRecord;
  /** The keys of all records of the run that were read. */
  readonly keys: readonly string[];
  readonly found: readonly Finding[];
  /** false: the run had to be read whole, and was not. */
  readonly complete: boolean;
}

/** All records of a run with their memory over time, from the first store that has it. */
async function readRun(readers: readonly ReportReader[], record: JobRecord): Promise<readonly JobRecord[]> {
  for (const reader of readers) {
    const records = await wholeRun(reader, record);
    if (records.length > 0) return records;
  }
  return [];
}

/**
 * Judges the runs that `records` belong to, each once. Runs of parallel jobs, and those that a rule judges by their
 * memory over time, are read one by one, at most `most`; `leftOut` counts those beyond. Rejects with StoreError.
 */
export async function judgeRuns(
  readers: readonly ReportReader[],
  records: readonly JobRecord[],
  rules: RuleSet,
  most: number,
): Promise<{ readonly judged: readonly JudgedRun[]; readonly leftOut: number }> {
  const kinds = new Kinds(records);
  const needSeries = new Set(rules.rules.flatMap((rule) => (rule.needsSeries ? [rule.name] : [])));
  const seen = new Set<string>();
  const judged: JudgedRun[] = [];
  let open = 0;
  for (const record of records) {
    if (seen.has(recordKeyText(record))) continue;
    const kind = kinds.of(record);
    const alone = judge(rules, [record], kind);
    const needsSeries = isSampled(record) && alone.unknown.some((name) => needSeries.has(name));
    const isOpen = isPart(record) || needsSeries;
    if (isOpen) open += 1;
    const run = isOpen && open <= most ? await readRun(readers, record) : [];
    // A part alone can't be judged.
    const { found } = run.length > 0 ? judge(rules, run, kind) : isPart(record) ? { found: [] } : alone;
    const keys = [...new Set([record, ...run].map(recordKeyText))];
    for (const key of keys) seen.add(key);
    const master = run.find(({ pe_task_id: task }) => task === null) ?? record;
    judged.push({ record: master, keys, found, complete: !isOpen || run.length > 0 });
  }
  return { judged, leftOut: Math.max(0, open - most) };
}
