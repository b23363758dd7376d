import type { JobRecord } from '../sampler/record';
import type { StoredRecord } from './merge';
import type { JobAnswer, JobAttempt } from './store';

/** Of one submission, the spool directory and the accounting line tell times up to a second apart. */
const SAME_SUBMISSION_MS = 2000;

function ms(time: string | null): number | null {
  return time === null ? null : Date.parse(time);
}

/** When a record's job was first heard of: what its attempts are ordered by. */
function begun(record: JobRecord): number {
  return ms(record.started_at) ?? ms(record.ended_at) ?? record.revision;
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function grouped<T>(items: readonly T[], keyOf: (item: T) => string): readonly (readonly T[])[] {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return [...groups.values()];
}

interface Incarnation {
  /** When it was submitted; where no record knows, when it was first heard of. */
  readonly since: number;
  readonly records: readonly StoredRecord[];
}

/**
 * The jobs that have had one number in one cluster, oldest first: job numbers wrap, and what tells two such jobs apart
 * is when they were submitted. A record that does not know belongs to the last job submitted before it began.
 */
function incarnations(records: readonly StoredRecord[]): readonly Incarnation[] {
  const submissions: number[] = [];
  const known = records.flatMap(({ record }) => ms(record.submitted_at) ?? []).sort((a, b) => a - b);
  for (const time of known) if (time - (submissions.at(-1) ?? -Infinity) > SAME_SUBMISSION_MS) submissions.push(time);
  if (submissions.length === 0) return [{ since: Math.min(...records.map(({ record }) => begun(record))), records }];
  const indexOf = ({ record }: StoredRecord): number => {
    const time = ms(record.submitted_at) ?? begun(record) + SAME_SUBMISSION_MS;
    return Math.max(
      0,
      submissions.findLastIndex((submission) => submission <= time),
    );
  };
  return submissions
    .map((since, index) => ({ since, records: records.filter((record) => indexOf(record) === index) }))
    .filter((incarnation) => incarnation.records.length > 0);
}

function attempts(records: readonly StoredRecord[], incarnation: number): readonly JobAttempt[] {
  const groups = grouped(records, ({ record }) => `${record.task_id ?? ''}/${record.pe_task_id ?? ''}`);
  return groups.flatMap((group) =>
    [...group]
      .sort(
        ({ record: a }, { record: b }) =>
          begun(a) - begun(b) || compareText(a.run_id, b.run_id) || compareText(a.host, b.host),
      )
      .map((stored, index) => ({ ...stored, incarnation, attempt: index + 1, attempts: group.length })),
  );
}

function comparePlaces({ record: a }: JobAttempt, { record: b }: JobAttempt): number {
  return (a.task_id ?? 0) - (b.task_id ?? 0) || compareText(a.pe_task_id ?? '', b.pe_task_id ?? '');
}

/**
 * Numbers the attempts of every job among `records` (all of one job number), and picks, cluster by cluster, the newest
 * job of that number, or the newest as of `at` (ms since the epoch), or all of them.
 */
export function arrangeAttempts(
  records: readonly StoredRecord[],
  choice: { readonly all?: boolean; readonly at?: number },
): JobAnswer {
  const { all, at } = choice;
  let older = 0;
  let newer = 0;
  const clusters = grouped(records, ({ record }) => record.cluster).toSorted((a, b) =>
    compareText(a[0]?.record.cluster ?? '', b[0]?.record.cluster ?? ''),
  );
  const chosen = clusters.flatMap((ofCluster) => {
    const jobs = incarnations(ofCluster);
    const numbered = jobs.map((job, index) => attempts(job.records, index + 1).toSorted(comparePlaces));
    if (all) return numbered.flat();
    const newest = at === undefined ? jobs.length - 1 : jobs.findLastIndex((job) => job.since <= at);
    older += Math.max(0, newest);
    newer += jobs.length - 1 - newest;
    return numbered[newest] ?? [];
  });
  return { records: chosen, older_incarnations: older, newer_incarnations: newer };
}
