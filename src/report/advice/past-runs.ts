import { jobClasses } from '../../advice/job-classes';
import type { PastRun } from '../../advice/replay';
import { groupBy } from '../../base/group-by';
import type { StoredRecord } from '../../record/merge';
import type { JobRecord } from '../../record/record';
import { neededPerSlot, slotsOf } from './advice';
import { hitLimit } from '../job/ending';
import { limitOf } from './fit';

const runOf = ({ cluster, job_id: job, task_id: task, started_at: started }: JobRecord): string =>
  `${cluster} ${job} ${task ?? ''} ${started ?? ''}`;

const seconds = (time: string): number => Date.parse(time) / 1000;

const most = (values: readonly number[]): number => values.reduce((a, b) => Math.max(a, b), 0);

/** The runs that ended and of which it is known what they needed, per slot; of a parallel job the fullest host counts. */
export function pastRuns(stored: readonly StoredRecord[]): readonly PastRun[] {
  const ended = stored.flatMap(({ record, ended: hasEnded }) => (hasEnded ? [record] : []));
  return [...groupBy(ended, runOf).values()].flatMap((records) => pastRun(records) ?? []);
}

function pastRun(records: readonly JobRecord[]): PastRun | null {
  const job = records.find((record) => record.pe_task_id === null) ?? records[0];
  if (job?.submitted_at == null || job.ended_at === null) return null;
  const peakBytes = most(records.map(neededPerSlot));
  const limits = records.flatMap((record) => {
    const limit = limitOf(record);
    return limit === null ? [] : [limit / slotsOf(record)];
  });
  const limit = limits.length === 0 ? null : most(limits);
  const wasStopped = limit !== null && records.some(hitLimit);
  if (peakBytes <= 0 && !wasStopped) return null;
  return {
    submit: seconds(job.submitted_at),
    end: seconds(job.ended_at),
    classes: jobClasses(job),
    seconds: job.wallclock_seconds ?? 0,
    peakBytes,
    stoppedAtBytes: wasStopped ? limit : null,
    requestBytes: limit,
  };
}
