import type { AccountingReader } from '../../accounting/store';
import { pagesOf } from '../../export/records';
import type { FieldName } from '../../record/fields';
import { recordKeyText } from '../../record/record';
import type { JobReport } from '../../report/job/job';
import { runsOfSeveral, type JobRun } from '../../report/job/job-run';
import { KIND_FIELDS } from '../../report/rules/kinds';

/** The fields first read of runs that are later read whole, page by page: what identifies them, what advice needs. */
export const RUN_FIELDS: readonly FieldName[] = [
  ...KIND_FIELDS,
  ...(['trust', 'revision', 'slots', 'host_slots', 'granted_hosts', 'pe', 'project', 'queue'] as const),
  ...(['submitted_at', 'started_at', 'ended_at', 'exit_status', 'signal', 'failed'] as const),
];

/** Up to this many runs are held at once and keep their order; more are given page by page. */
const MOST_HELD = 1000;

/** The runs with all fields but their series, page by page, newest first; those of tasks with several together, last. */
async function* runPages(
  { job_id, task_id, cluster }: JobReport,
  runs: readonly JobRun[],
  readers: readonly AccountingReader[],
): AsyncGenerator<readonly JobRun[]> {
  const wanted = new Map(runs.map((run) => [recordKeyText(run.record), run]));
  const together = new Set(runsOfSeveral(runs));
  const last: JobRun[] = [];
  const filter = { job_id, ...(cluster === undefined ? {} : { cluster }), since: 0, until: Number.MAX_SAFE_INTEGER };
  for await (const { records } of pagesOf(filter, readers)) {
    const page: JobRun[] = [];
    for (const { record } of records) {
      const run = task_id === undefined || record.task_id === task_id ? wanted.get(recordKeyText(record)) : undefined;
      if (run !== undefined) (together.has(run) ? last : page).push({ ...run, record });
    }
    yield page;
  }
  yield last;
}

/**
 * The given runs of a report with all their fields: as the report has them, or, if it has few fields only, read again
 * page by page. Rejects with StoreError.
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
