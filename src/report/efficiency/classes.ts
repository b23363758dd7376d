import type { RecordsQuery } from '../../accounting/store';
import { groupBy } from '../../base/group-by';
import { sumOfKnown } from '../../base/known';
import { countsInSums } from '../../record/facts';
import type { JobRecord } from '../../record/record';
import type { Finding } from '../rules/judge';
import type { RuleSet } from '../rules/rule-set';
import { SEVERITIES } from '../rules/rule';
import type { ReportReader } from './ask';
import type { HeavyDays } from './heavy-days';
import type { ClassesFound, ClassLine } from './report';
import { judgeRuns } from './judge-runs';

/** At most this many records are judged, those that ran longest. */
const MOST_JUDGED = 5000;
/**
 * At most this many runs are read one by one: parallel jobs, and those that a rule judges by their memory over time.
 */
const MOST_READ = 200;

async function longest(reader: ReportReader, where: HeavyDays, filter: Omit<RecordsQuery, 'since' | 'until'>) {
  const records: JobRecord[] = [];
  let complete = where.days === null;
  for (const span of where.spans) {
    // One more than are judged, to know whether there are more.
    const query: RecordsQuery = { ...filter, ...span, sort: 'wallclock', limit: MOST_JUDGED + 1, totals: false };
    const { records: found } = await reader.records(query);
    complete &&= found.length <= MOST_JUDGED;
    records.push(
      ...found
        .slice(0, MOST_JUDGED)
        .map(({ record }) => record)
        .filter(countsInSums),
    );
  }
  return { records, complete };
}

const costOf = ({ cost_gib_hours: gib, cost_slot_hours: slots }: Finding): number => gib ?? slots ?? 0;

function lineOf(name: string, runs: readonly { readonly record: JobRecord; readonly finding: Finding }[]): ClassLine[] {
  const [first, ...others] = runs;
  if (first === undefined) return [];
  const worst = others.reduce((most, one) => (costOf(one.finding) > costOf(most.finding) ? one : most), first);
  const { cluster, job_id, task_id, owner, job_name } = worst.record;
  return [
    {
      class: name,
      severity: first.finding.severity,
      runs: runs.length,
      owners: new Set(runs.map(({ record }) => record.owner)).size,
      cost_gib_hours: sumOfKnown(runs.map(({ finding }) => finding.cost_gib_hours)),
      cost_slot_hours: sumOfKnown(runs.map(({ finding }) => finding.cost_slot_hours)),
      worst: { cluster, job_id, task_id, owner, job_name, evidence: worst.finding.evidence },
    },
  ];
}

/** The classes of the runs that a filter selects on some days. Rejects with StoreError. */
export async function askForClasses(
  reader: ReportReader,
  where: HeavyDays,
  filter: Omit<RecordsQuery, 'since' | 'until'>,
  rules: RuleSet,
): Promise<ClassesFound> {
  const { records, complete } = await longest(reader, where, filter);
  const { judged } = await judgeRuns([reader], records, rules, MOST_READ);
  const all = judged.flatMap(({ record, found }) => found.map((finding) => ({ record, finding })));
  return {
    rules_version: rules.version,
    runs: judged.length,
    complete: complete && judged.every((run) => run.complete),
    lines: [...groupBy(all, ({ finding }) => finding.class)]
      .flatMap(([name, runs]) => lineOf(name, runs))
      .sort((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity) || b.runs - a.runs),
  };
}
