import type { JobRecord } from '../../sampler/record';
import { adviseRequest } from '../advice';
import { endingLabel } from '../ending';
import { limitOf } from '../fit';
import { groupBy } from '../job-run';
import { hostsOf, toJobLines } from '../record-lines';
import type { JobLine, LineAdvice } from './report';

const BYTE_SECONDS = 1024 ** 3 * 3600;

/** All jobs of one name and owner, where not every record of them was listed: sums, and those with the highest peaks. */
export interface WholeName {
  readonly records: number;
  readonly jobs: number;
  readonly waste_gib_hours: number;
  readonly highest: readonly JobRecord[];
}

/** The records of one line: of one cluster, owner and job name. */
export function lineKey({ cluster, owner, job_name: name }: JobRecord): string {
  return JSON.stringify([cluster, owner, name]);
}

function largest(values: readonly (number | null)[]): number | null {
  return values.reduce<number | null>(
    (most, value) => (value === null || (most !== null && most >= value) ? most : value),
    null,
  );
}

/** Limit less peak, times wallclock, in GiB times hours; 0 where one is not known. */
export function unusedOf(record: JobRecord): number {
  const limit = limitOf(record);
  if (limit === null || record.peak_rss === null) return 0;
  return (Math.max(0, limit - record.peak_rss.lower_bytes) * (record.wallclock_seconds ?? 0)) / BYTE_SECONDS;
}

/** Each host of a parallel job once. */
function wasteOfJobs(records: readonly JobRecord[]): number {
  return toJobLines(records, 'unused')
    .flatMap((job) => (job.length === 1 ? job : hostsOf(job)))
    .reduce((sum, record) => sum + unusedOf(record), 0);
}

/** "41 ok, 2 exit 1"; of one record the label alone. */
function endingOf(records: readonly JobRecord[]): string {
  const groups = [...groupBy(records, endingLabel)].sort(([, a], [, b]) => b.length - a.length);
  return groups.map(([label, { length }]) => (records.length === 1 ? label : `${length} ${label}`)).join(', ');
}

/** null: it can't be told, or the request is right. */
function adviceFor(records: readonly JobRecord[], complete: boolean): LineAdvice | null {
  const advice = adviseRequest(records);
  if (advice === null) return null;
  const { request, kind, totalBytes, per, slots, guess } = advice;
  // Of jobs that were not looked at one may have needed more.
  if (kind !== 'raise' && (kind !== 'lower' || !complete)) return null;
  return { request, kind, total_bytes: totalBytes, per, slots, guess };
}

const told = <Key extends 'project' | 'queue'>(records: readonly JobRecord[], field: Key): JobRecord[Key] =>
  records.find((record) => record[field] !== null)?.[field] ?? null;

/** What is known of the names of some records beyond these, by `lineKey`; and whether the records are all there are. */
export interface Beyond {
  readonly cut: boolean;
  readonly whole: ReadonlyMap<string, WholeName>;
  /** The records are some of their names' by choice: the lines tell of them alone, and only the advice fits all. */
  readonly chosen: boolean;
}

function toLine(key: string, records: readonly [JobRecord, ...JobRecord[]], { cut, whole, chosen }: Beyond): JobLine {
  const worst = records.reduce((most, record) => (unusedOf(record) > unusedOf(most) ? record : most));
  const name = whole.get(key);
  const sums = chosen ? undefined : name;
  const complete = !cut || sums !== undefined;
  const all = [...records, ...(name?.highest ?? []).filter((record) => lineKey(record) === key)];
  const known: readonly JobRecord[] = chosen ? records : all;
  const jobs = new Set(records.map(({ job_id: job, task_id: task }) => `${job}.${task ?? ''}`));
  const oneJob = known.every(({ job_id: job }) => job === worst.job_id);
  return {
    cluster: worst.cluster,
    owner: worst.owner,
    job_name: worst.job_name,
    jobs: Math.max(jobs.size, sums?.jobs ?? 0),
    records: Math.max(records.length, sums?.records ?? 0),
    complete,
    job_id: worst.job_id,
    task_id: oneJob && jobs.size > 1 ? null : worst.task_id,
    project: told(records, 'project'),
    queue: told(records, 'queue'),
    hosts: [...new Set(known.map(({ host }) => host))].sort(),
    ended_at: known.reduce<string | null>(
      (last, { ended_at: end }) => (end !== null && end > (last ?? '') ? end : last),
      null,
    ),
    limit_bytes: largest(known.map(limitOf)),
    peak_bytes: largest(known.map((record) => record.peak_rss?.lower_bytes ?? null)),
    waste_gib_hours: sums?.waste_gib_hours ?? wasteOfJobs(records),
    ending: endingOf(records),
    advice: adviceFor(all, name !== undefined || (!cut && !chosen)),
  };
}

/** Records as lines, the jobs of one name and owner (an array, all hosts of a parallel job) each, largest waste first. */
export function toJobLineList(records: readonly JobRecord[], beyond: Beyond): JobLine[] {
  return [...groupBy(records, lineKey)]
    .flatMap(([key, [first, ...rest]]) => (first === undefined ? [] : [toLine(key, [first, ...rest], beyond)]))
    .sort((a, b) => b.waste_gib_hours - a.waste_gib_hours);
}
