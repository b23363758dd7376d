import { Predictor } from '../../advice/predictor';
import { MEMORY_PRIOR } from '../../advice/prior';
import { bySubmission, replay } from '../../advice/replay';
import type { AccountingReader } from '../../accounting/store';
import { RECORD_SCHEMA, recordKeyText, type MemorySeries } from '../../record/record';
import type { ClassFields } from '../../report/advice/class-advice';
import type { ClassHistory } from '../../report/advice/class-history';
import { classObject } from '../../report/advice/class-screen';
import type { MemoryRun } from '../../report/advice/past-runs';
import { wholeOf } from '../../report/job/job-whole';
import { courseOf } from '../../report/series/course';
import type { ClassAnswer, ClassRun } from './class-shape';

/** A kind of job, and the accepted risk that its next run needs more than is advised. */
export interface ClassQuery {
  readonly fields: ClassFields;
  readonly risk: number;
}

/** At most this many of the latest runs are read for their series: each costs a query. */
const COURSE_RUNS = 50;

const iso = (seconds: number): string => new Date(seconds * 1000).toISOString();

function runObject({ records: [job], submit, end, seconds, needed, requested, stoppedAt }: MemoryRun): ClassRun {
  return {
    cluster: job.cluster,
    job_id: job.job_id,
    task_id: job.task_id,
    submitted_at: iso(submit),
    ended_at: iso(end),
    seconds,
    needed_bytes: needed,
    requested_bytes: requested,
    stopped: stoppedAt !== null,
  };
}

/** The run's memory over time, on all of its hosts together; null: nobody sampled it. */
async function seriesOf({ records }: MemoryRun, reader: AccountingReader): Promise<MemorySeries | null> {
  const { cluster, job_id, task_id } = records[0];
  const keys = new Set(records.map(recordKeyText));
  const answer = await reader.job({ cluster, job_id, ...(task_id === null ? {} : { task_id }), all: true });
  const [first, ...others] = answer.records.flatMap(({ record }) => (keys.has(recordKeyText(record)) ? [record] : []));
  return first === undefined ? null : wholeOf([first, ...others]).total.series;
}

/** `history` must be built only from records that the caller may see. Rejects with StoreError. */
export async function answerClass(
  { fields, risk }: ClassQuery,
  history: ClassHistory,
  reader: AccountingReader,
): Promise<ClassAnswer> {
  const advice = await history.adviceOf(fields, { risk });
  const runs = (await history.memoryRuns(fields)).toSorted((a, b) => a.end - b.end);
  const series: MemorySeries[] = [];
  for (const run of runs.slice(-COURSE_RUNS)) {
    const one = await seriesOf(run, reader);
    if (one !== null) series.push(one);
  }
  return {
    schema: RECORD_SCHEMA,
    ...classObject({ fields, advice, risk }),
    replay: runs.length === 0 ? null : replay(bySubmission(runs), [risk], new Predictor(MEMORY_PRIOR)),
    runs: runs.map(runObject),
    course: courseOf(series),
  };
}
