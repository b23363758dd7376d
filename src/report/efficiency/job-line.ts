import type { JobRecord } from '../../sampler/record';
import { adviseRequest } from '../advice';
import { endingLabel } from '../ending';
import { limitOf } from '../fit';
import { groupBy } from '../job-run';
import { hostsOf, toJobLines, type OwnerLine } from '../owner-lines';
import type { JobLine, LineAdvice } from './report';

const GIB_HOUR_BYTE_SECONDS = 1024 ** 3 * 3600;

function largest(values: readonly (number | null)[]): number | null {
  return values.reduce<number | null>(
    (most, value) => (value === null || (most !== null && most >= value) ? most : value),
    null,
  );
}

function wasteOf(record: JobRecord): number {
  const limit = limitOf(record);
  if (limit === null || record.peak_rss === null) return 0;
  return Math.max(0, limit - record.peak_rss.lower_bytes) * (record.wallclock_seconds ?? 0);
}

/** "3 SIGKILL, 1 exit 1"; of one record the label alone. */
function endingOf(records: readonly JobRecord[]): string {
  const groups = [...groupBy(records, endingLabel)].sort(([, a], [, b]) => b.length - a.length);
  return groups.map(([label, { length }]) => (records.length === 1 ? label : `${length} ${label}`)).join(', ');
}

/** What all these runs would have needed; null: it can't be told, or the request is right. */
export function lineAdvice(records: readonly JobRecord[]): LineAdvice | null {
  const advice = adviseRequest(records);
  if (advice === null || (advice.kind !== 'lower' && advice.kind !== 'raise')) return null;
  const { request, kind, totalBytes, per, slots, guess } = advice;
  return { request, kind, total_bytes: totalBytes, per, slots, guess };
}

function toLine(records: OwnerLine, complete: boolean): JobLine {
  const [first] = records;
  const told = <Key extends 'job_name' | 'owner' | 'project' | 'queue'>(field: Key): JobRecord[Key] =>
    records.find((record) => record[field] !== null)?.[field] ?? null;
  const tasks = new Set(records.flatMap(({ task_id: task }) => task ?? []));
  const wasted = (records.length === 1 ? records : hostsOf(records)).reduce((sum, record) => sum + wasteOf(record), 0);
  return {
    cluster: first.cluster,
    job_id: first.job_id,
    job_name: told('job_name'),
    owner: told('owner'),
    project: told('project'),
    queue: told('queue'),
    hosts: [...new Set(records.map(({ host }) => host))].sort(),
    tasks: tasks.size,
    records: records.length,
    complete,
    ended_at: records.reduce<string | null>(
      (last, { ended_at: end }) => (end !== null && end > (last ?? '') ? end : last),
      null,
    ),
    wallclock_seconds: records.reduce((sum, record) => sum + (record.wallclock_seconds ?? 0), 0),
    limit_bytes: largest(records.map(limitOf)),
    peak_bytes: largest(records.map((record) => record.peak_rss?.lower_bytes ?? null)),
    waste_gib_hours: wasted / GIB_HOUR_BYTE_SECONDS,
    ending: endingOf(records),
    advice: lineAdvice(records),
  };
}

/**
 * Records as lines, a job (an array, all hosts of a parallel one) each, largest waste first. `cut`: more records of the
 * same jobs may be left out, so that no word on what to ask for is given for a job of several.
 */
export function toJobLineList(records: readonly JobRecord[], cut: boolean): JobLine[] {
  return toJobLines(records, 'unused')
    .map((line) => {
      const complete = !cut || line.every(({ task_id: task, pe }) => task === null && pe === null);
      const shown = toLine(line, complete);
      return complete ? shown : { ...shown, advice: null };
    })
    .sort((a, b) => b.waste_gib_hours - a.waste_gib_hours);
}
