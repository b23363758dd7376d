import type { StoredRecord } from '../record/merge';

/** The order of `AccountingReader.running`: by cluster, job, task, pe task and host. */
export function byPlace({ record: a }: StoredRecord, { record: b }: StoredRecord): number {
  const text = (x: string, y: string): number => (x < y ? -1 : x > y ? 1 : 0);
  return (
    text(a.cluster, b.cluster) ||
    a.job_id - b.job_id ||
    (a.task_id ?? 0) - (b.task_id ?? 0) ||
    text(a.pe_task_id ?? '', b.pe_task_id ?? '') ||
    text(a.host, b.host)
  );
}
