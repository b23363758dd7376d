import type { AccountingReader } from '../../accounting/store';
import { isParallel } from '../../accounting/job-sum';
import { pagesOf } from '../../export/records';
import type { FieldName } from '../../record/fields';
import { recordKeyText } from '../../record/record';
import type { JobReport } from '../../report/job/job';
import { recordsOf, runGroups, type JobRun } from '../../report/job/job-run';
import { KIND_FIELDS } from '../../report/rules/kinds';

/** Of runs that are read whole one page after the other: what tells them apart, and what their advice rests on. */
export const RUN_FIELDS: readonly FieldName[] = [
  ...KIND_FIELDS,
  ...(['trust', 'revision', 'slots', 'host_slots', 'granted_hosts', 'pe', 'project', 'queue'] as const),
  ...(['submitted_at', 'started_at', 'ended_at', 'exit_status', 'signal', 'failed'] as const),
];

/** Fewer are held at once, in their order. */
const MOST_HELD = 1000;

/** The same runs with all fields but their series, page by page, newest first; those of parallel runs together, last. */
async function* runPages(
  { job_id, task_id, cluster }: JobReport,
  runs: readonly JobRun[],
  readers: readonly AccountingReader[],
): AsyncGenerator<readonly JobRun[]> {
  const wanted = new Map(runs.map((run) => [recordKeyText(run.record), run]));
  const together = new Set(
    runGroups(runs)
      .filter((group) => isParallel(recordsOf(group)))
      .flat(),
  );
  const parallel: JobRun[] = [];
  const filter = { job_id, ...(cluster === undefined ? {} : { cluster }), since: 0, until: Number.MAX_SAFE_INTEGER };
  for await (const { records } of pagesOf(filter, readers, () => undefined)) {
    const page: JobRun[] = [];
    for (const { record } of records) {
      const run = task_id === undefined || record.task_id === task_id ? wanted.get(recordKeyText(record)) : undefined;
      if (run !== undefined) (together.has(run) ? parallel : page).push({ ...run, record });
    }
    yield page;
  }
  yield parallel;
}

/**
 * Those of a report's runs that are wanted, whole: as the report has them, or read again page by page where it has too many
 * to hold them. Rejects with StoreError.
 */
export async function* wholeRuns(
  report: JobReport,
  runs: readonly JobRun[],
  readers: readonly AccountingReader[],
): AsyncGenerator<readonly JobRun[]> {
  if (report.few_fields !== true) {
    yield runs;
    return;
  }
  if (runs.length > MOST_HELD) {
    yield* runPages(report, runs, readers);
    return;
  }
  const found = new Map<string, JobRun>();
  for await (const page of runPages(report, runs, readers))
    for (const run of page) found.set(recordKeyText(run.record), run);
  yield runs.flatMap(({ record }) => found.get(recordKeyText(record)) ?? []);
}
