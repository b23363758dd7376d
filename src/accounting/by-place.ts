import type { StoredRecord } from '../record/merge';

export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The order of `AccountingReader.running`: by cluster, job, task, pe task and host. */
export function byPlace({ record: a }: StoredRecord, { record: b }: StoredRecord): number {
  return (
    compareText(a.cluster, b.cluster) ||
    a.job_id - b.job_id ||
    (a.task_id ?? 0) - (b.task_id ?? 0) ||
    compareText(a.pe_task_id ?? '', b.pe_task_id ?? '') ||
    compareText(a.host, b.host)
  );
}
