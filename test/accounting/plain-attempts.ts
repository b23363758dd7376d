import { CLOCK_TOLERANCE_MS } from '../../src/record/highest-sum';
import type { JobRecord } from '../../src/record/record';
import { groupBy } from '../../src/base/group-by';
import type { StoredRecord } from '../../src/record/merge';
import { SAME_SUBMISSION_MS } from '../../src/accounting/attempts';
import type { JobAttempt } from '../../src/accounting/store';

/** The same as src/accounting/attempts, written plainly: slow on many records. */

const REQUEUED_WITHIN_MS = 3_600_000;

function ms(time: string | null): number | null {
  return time === null ? null : Date.parse(time);
}

function submitted(record: JobRecord): number | null {
  return record.pe_task_id === null ? ms(record.submitted_at) : null;
}

function begun(record: JobRecord): number {
  return ms(record.started_at) ?? ms(record.ended_at) ?? record.revision;
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function isRequeued(time: number, records: readonly StoredRecord[]): boolean {
  const submission = new Date(time).toISOString();
  return records.some(({ record: { started_at: started, submitted_at: sent, ended_at: ended } }) => {
    const begun = started ?? sent;
    if (begun === null || begun >= submission) return false;
    return time - Date.parse(ended ?? begun) < REQUEUED_WITHIN_MS;
  });
}

function incarnations(records: readonly StoredRecord[]): readonly (readonly StoredRecord[])[] {
  const submissions: number[] = [];
  const known = [...new Set(records.map(({ record }) => (record.pe_task_id === null ? record.submitted_at : null)))]
    .flatMap((time) => ms(time) ?? [])
    .sort((a, b) => a - b);
  if (known.length < 2) return [records];
  let before = -Infinity;
  for (const time of known) {
    if (time - before > SAME_SUBMISSION_MS && !isRequeued(time, records)) submissions.push(time);
    before = time;
  }
  if (submissions.length < 2) return [records];
  const indexOf = ({ record }: StoredRecord): number => {
    const time = submitted(record) ?? begun(record) + SAME_SUBMISSION_MS;
    return Math.max(
      0,
      submissions.findLastIndex((submission) => submission <= time),
    );
  };
  const jobs = groupBy(records, indexOf);
  return submissions.flatMap((_, index) => {
    const job = jobs.get(index);
    return job === undefined ? [] : [job];
  });
}

function byBeginning({ record: a }: StoredRecord, { record: b }: StoredRecord): number {
  return begun(a) - begun(b) || compareText(a.run_id, b.run_id) || compareText(a.host, b.host);
}

function masterRunOf(task: JobRecord, masters: readonly StoredRecord[]): number {
  const at = begun(task);
  const last = masters.findLastIndex(({ record }) => begun(record) <= at);
  const next = masters[last + 1];
  if (next === undefined || begun(next.record) > at + CLOCK_TOLERANCE_MS) return last;
  const end = last < 0 ? -Infinity : (ms(masters[last]?.record.ended_at ?? null) ?? Infinity);
  return end < at ? last + 1 : last;
}

function masterlessRuns(tasks: readonly StoredRecord[]): readonly (readonly StoredRecord[])[] {
  const runs: StoredRecord[][] = [];
  const seen = new Set<string>();
  for (const task of tasks) {
    const key = `${task.record.pe_task_id ?? ''} ${task.record.host}`;
    if (runs.length === 0 || seen.has(key)) {
      seen.clear();
      runs.push([]);
    }
    seen.add(key);
    runs.at(-1)?.push(task);
  }
  return runs;
}

function runsOf(records: readonly StoredRecord[]): readonly (readonly StoredRecord[])[] {
  const sorted = [...records].sort(byBeginning);
  const masters = sorted.filter(({ record }) => record.pe_task_id === null);
  const tasks = sorted.filter(({ record }) => record.pe_task_id !== null);
  const orphans: StoredRecord[] = [];
  const runs = masters.map((master) => [master]);
  for (const task of tasks) (runs[masterRunOf(task.record, masters)] ?? orphans).push(task);
  return [...masterlessRuns(orphans), ...runs];
}

function attempts(records: readonly StoredRecord[], incarnation: number): JobAttempt[] {
  if (new Set(records.map(({ record }) => record.task_id)).size === records.length)
    return records.map(({ record, ended, provenance }) => ({
      record,
      ended,
      provenance,
      attempt: 1,
      attempts: 1,
      incarnation,
    }));
  return [...groupBy(records, ({ record }) => record.task_id).values()].flatMap((group) => {
    const runs = runsOf(group);
    return runs.flatMap((run, index) =>
      run.map((stored) => ({ ...stored, incarnation, attempt: index + 1, attempts: runs.length })),
    );
  });
}

function comparePlaces({ record: a }: JobAttempt, { record: b }: JobAttempt): number {
  return (a.task_id ?? 0) - (b.task_id ?? 0) || compareText(a.pe_task_id ?? '', b.pe_task_id ?? '');
}

export function plainAttempts(records: readonly StoredRecord[]): readonly JobAttempt[] {
  const [only, ...others] = records;
  if (only !== undefined && others.length === 0) return [{ ...only, incarnation: 1, attempt: 1, attempts: 1 }];
  const clusters = [...groupBy(records, ({ record }) => record.cluster).values()].sort((a, b) =>
    compareText(a[0]?.record.cluster ?? '', b[0]?.record.cluster ?? ''),
  );
  return clusters.flatMap((ofCluster) =>
    incarnations(ofCluster).flatMap((job, index) => attempts(job, index + 1).sort(comparePlaces)),
  );
}
