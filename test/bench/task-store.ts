import { join } from 'node:path';
import { openSqliteHistory } from '../../src/accounting/sqlite/sqlite-history';
import type { JobRecord } from '../../src/record/record';
import { accountingLineOf, realisticRecords } from '../accounting/realistic-record';
import { accountOf } from '../support/records';
import { inBatches, type Progress } from './history-fill';

/** A store of only array jobs: each task as its sampler and Grid Engine's accounting describe it. */

const SEED = 1;
const HOUR_MS = 3_600_000;
const GIB = 2 ** 30;
export const OWNER = 'bob';
export const FIRST_ARRAY = 4711;

/** Number of array jobs, and of tasks in each. */
export interface Arrays {
  readonly jobs: number;
  readonly tasks: number;
}

/** A task that ended within the last hours; one in thirty failed or was killed. */
function taskOf(like: JobRecord, job: number, task: number, now: number): JobRecord {
  const wallMs = (like.wallclock_seconds ?? 0) * 1000;
  const ended = now - HOUR_MS - (task % 1000) * 1000;
  const time = (ms: number): string => new Date(ms).toISOString();
  const killed = task % 60 === 7;
  return {
    ...like,
    job_id: job,
    task_id: task,
    owner: OWNER,
    job_name: `sweep_${job}.sh`,
    program: `${job.toString(16).padStart(8, '0')}.00000001`,
    queue: 'all.q',
    project: 'genome',
    pe: null,
    slots: 1,
    host_slots: 1,
    revision: ended + 20,
    submitted_at: time(now - 200 * HOUR_MS + job * 1000),
    started_at: time(ended - wallMs),
    ended_at: time(ended),
    exit_status: killed ? 137 : task % 60 === 37 ? 1 : 0,
    signal: killed ? 9 : 0,
    h_vmem: { request_bytes: 16 * GIB, limit_bytes: 16 * GIB, per: 'slot' },
  };
}

function lineOf(record: JobRecord): JobRecord {
  return {
    ...accountingLineOf(record),
    grid_engine: accountOf({
      wallclock_seconds: record.wallclock_seconds ?? 0,
      cpu_seconds: record.cpu_seconds ?? 0,
      maxvmem_bytes: record.peak_vmem?.lower_bytes ?? null,
      mem_gib_seconds: (record.rss_byte_seconds ?? 0) / GIB,
      category: '-U bob_set -l h_rt=86400,h_vmem=16G -P genome',
    }),
  };
}

/** Fills DIRECTORY/NAME with them, with the sums of its days; resolves to its path. */
export async function fillArrays(
  directory: string,
  name: string,
  { jobs, tasks }: Arrays,
  progress: Progress,
): Promise<string> {
  const path = join(directory, name);
  const { next } = realisticRecords(SEED);
  const now = Date.now();
  const open = openSqliteHistory(path, 0o640);
  for (let job = FIRST_ARRAY; job < FIRST_ARRAY + jobs; job++) {
    progress(`tasks: job ${job}`);
    const records = Array.from({ length: tasks }, (_, index) => taskOf(next(), job, index + 1, now));
    await inBatches(records, (batch) => open.merge([...batch, ...batch.map(lineOf)]));
  }
  progress('tasks: sums of the days');
  await open.rollUp({});
  await open.close();
  return path;
}
