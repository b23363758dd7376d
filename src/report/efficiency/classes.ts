import { groupBy } from '../../base/group-by';
import { sumOfKnown } from '../../base/known';
import type { JobRecord } from '../../record/record';
import type { Finding } from '../rules/judge';
import type { RuleSet } from '../rules/rule-set';
import { SEVERITIES } from '../rules/rule';
import { recordsOn, type Asked, type ReportReader } from './ask';
import type { HeavyDays } from './heavy-days';
import type { ClassesFound, ClassLine } from './report';
import { judgeRuns } from './judge-runs';

/** At most this many records are judged, those that ran longest. */
const MOST_JUDGED = 5000;
/**
 * At most this many runs are read one by one: parallel jobs, and those that a rule judges by their memory over time.
 */
const MOST_READ = 200;

const costOf = ({ cost_gib_hours: gib, cost_slot_hours: slots }: Finding): number => gib ?? slots ?? 0;

function lineOf(name: string, runs: readonly { readonly record: JobRecord; readonly finding: Finding }[]): ClassLine {
  const worst = runs.reduce((most, one) => (costOf(one.finding) > costOf(most.finding) ? one : most));
  const { cluster, job_id, task_id, owner, job_name } = worst.record;
  return {
    class: name,
    severity: worst.finding.severity,
    runs: runs.length,
    owners: new Set(runs.map(({ record }) => record.owner)).size,
    cost_gib_hours: sumOfKnown(runs.map(({ finding }) => finding.cost_gib_hours)),
    cost_slot_hours: sumOfKnown(runs.map(({ finding }) => finding.cost_slot_hours)),
    worst: { cluster, job_id, task_id, owner, job_name, evidence: worst.finding.evidence },
  };
}

/** The classes of the runs on some days. Rejects with StoreError. */
export async function askForClasses(
  reader: ReportReader,
  where: HeavyDays,
  all: Asked,
  rules: RuleSet,
): Promise<ClassesFound> {
  const { records, cut } = await recordsOn(reader, where, { ...all, sort: 'wallclock' }, MOST_JUDGED);
  const { judged } = await judgeRuns([reader], records, rules, MOST_READ);
  const found = judged.flatMap(({ record, found }) => found.map((finding) => ({ record, finding })));
  return {
    rules_version: rules.version,
    runs: judged.length,
    complete: where.days === null && !cut && judged.every((run) => run.complete),
    lines: [...groupBy(found, ({ finding }) => finding.class)]
      .map(([name, runs]) => lineOf(name, runs))
      .sort((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) || b.runs - a.runs),
  };
}
