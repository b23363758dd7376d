import { groupBy } from '../../base/group-by';
import type { Dialect } from '../../gridengine/dialect';
import { jobTaskName } from '../../record/job-name';
import type { JobRecord } from '../../record/record';
import { complexOf, requestOf } from '../../record/request';
import { roundRequest } from '../../report/advice/advice';
import { nextTime } from '../../report/advice/next-time';
import { succeeded } from '../../report/job/ending';
import type { JobReport } from '../../report/job/job';
import { latestRuns, predictionOf, recordsOf, type JobRun } from '../../report/job/job-run';
import { needsOf } from '../../report/job/job-whole';
import { MEMORY_CAUSES, type Cause } from '../../report/why/hypothesis';
import { whyEnded, type Why } from '../../report/why/why';
import { EXIT } from '../command';
import { warn, writeAnswer, type OutputFormat } from '../output';
import type { Terminal } from '../terminal';
import { wasToRunAgain } from './may-be-unfinished';

/** Whether more memory would help a job, and how much to request. */
interface Retry {
  /** Whether lack of memory ended the job; null: not known, not known yet, or one of several causes that fit. */
  readonly memory: boolean | null;
  /**
   * What to request now: "h_vmem=6G"; twice the request if it is not known whether memory ended the job. null:
   * memory did not end it, more would not have helped, or how it ended is not known yet.
   */
  readonly request: string | null;
  readonly sentence: string;
}

/** Doubles the request: one more run then shows whether memory was the cause; a smaller raise may need several runs. */
function notKnown(records: readonly JobRecord[]): Retry {
  const [first] = records;
  const asked = records.reduce((most, record) => Math.max(most, requestOf(record)?.request_bytes ?? 0), 0);
  return {
    memory: null,
    request: first === undefined || asked <= 0 ? null : `${complexOf(first)}=${roundRequest(2 * asked).text}`,
    sentence: 'whether memory ended it is not known: it was sampled too seldom, or not at all',
  };
}

const NOT_YET: Retry = { memory: null, request: null, sentence: 'how it ended is not known yet' };

interface Ended {
  readonly run: readonly JobRun[];
  readonly why: Why | null;
}

/** A host delivers a job's record within about 10 s of its end, and a server reads its accounting line within 30 s. */
const DELIVERY_MS = 60_000;

const isLately = ({ ended_at: ended }: JobRecord, now: Date): boolean =>
  ended !== null && now.getTime() - Date.parse(ended) < DELIVERY_MS;

/** Whether only Grid Engine's line is known, and the sampler's record, which would decide, may still come. */
const isOnItsWay = (record: JobRecord, now: Date): boolean => record.status === 'unsampled' && isLately(record, now);

/**
 * Whether the job runs or will run again, or one of the two accounts of its end (sampler's record, accounting line) may
 * still come.
 */
function isOpen({ run, why }: Ended, now: Date, mayWait: boolean): boolean {
  const records = recordsOf(run);
  const runsAgain = (record: JobRecord): boolean => wasToRunAgain(record) && (mayWait || isLately(record, now));
  if (records.some((record) => record.status === 'running' || runsAgain(record) || isOnItsWay(record, now)))
    return true;
  if (why === null) return !records.some((record) => succeeded(record) === true);
  const isLineMissing = records.every((record) => record.grid_engine === null && isLately(record, now));
  return why.causes.length === 0 && isLineMissing;
}

/** About five seconds; with fewer samples, a program may have grown to its limit between two of them unseen. */
const FEW_SAMPLES = 10;

const isUnseen = ({ samples, peak_process_vmem: space }: JobRecord): boolean =>
  (samples ?? 0) < FEW_SAMPLES && (space?.upper_bytes ?? null) === null;

/** A program that is refused memory ends as if by a fault of its own. */
const AS_IF_REFUSED: ReadonlySet<Cause> = new Set<Cause>(['own-error', 'crash']);

/** Whether memory may have ended the job, and no other cause is known, or its growth was not seen. */
function isUndecided({ run, why }: Ended): boolean {
  if (!why?.causes.every((cause) => AS_IF_REFUSED.has(cause))) return false;
  const mayBeMemory = why.hypotheses.some(
    ({ cause, standing }) => MEMORY_CAUSES.has(cause) && standing === 'undecidable',
  );
  return mayBeMemory && (why.causes.length === 0 || recordsOf(run).some(isUnseen));
}

const isMemory = (cause: Cause): boolean => MEMORY_CAUSES.has(cause);

/**
 * Judges by the last run of every task; while a task runs, the answer is NOT_YET. `mayWait`: a job that was to run again
 * may be waiting; false: Grid Engine does not list it, so it was deleted.
 */
export function retryOf({ runs }: Pick<JobReport, 'runs'>, dialect: Dialect, now: Date, mayWait: boolean): Retry {
  const tasks = [...groupBy(runs, ({ record }) => record.task_id).values()].map(latestRuns);
  const ended = tasks.map((run) => ({ run, why: whyEnded(recordsOf(run), undefined, dialect) }));
  if (ended.length === 0 || ended.some((one) => isOpen(one, now, mayWait))) return NOT_YET;
  const short = ended.filter(({ why }) => why?.causes.some(isMemory));
  if (short.length === 0) {
    const undecided = ended.filter(isUndecided);
    if (undecided.length > 0) return notKnown(undecided.flatMap(({ run }) => recordsOf(run)));
    const sentence = ended.find(({ why }) => why !== null)?.why?.sentence;
    return { memory: false, request: null, sentence: sentence ?? 'it succeeded' };
  }
  const needs = tasks.flatMap((run) => needsOf(recordsOf(run)));
  const whys = short.map(({ why }) => why);
  return {
    memory: whys.some((why) => why?.causes.every(isMemory)) || null,
    request: nextTime(needs, whys, predictionOf(runs))?.request ?? null,
    sentence: short[0]?.why?.sentence ?? '',
  };
}

/**
 * Prints what to request now if lack of memory ended the job, or may have. Returns the exit status: 0: memory ended it,
 * 1: it ended otherwise, 4: not known, or not yet.
 */
export function showRetry(
  report: JobReport & { readonly mayWait: boolean },
  format: OutputFormat,
  dialect: Dialect,
  terminal: Terminal,
): number {
  const { memory, request, sentence } = retryOf(report, dialect, terminal.now(), report.mayWait);
  const { job_id, task_id = null } = report;
  const answer = { job_id, task_id, ended_by_memory: memory, request, reason: sentence };
  writeAnswer(terminal, format, answer, request === null ? [] : [request]);
  if (format !== 'json' && (request === null || memory === null))
    warn(terminal, `job ${jobTaskName({ cluster: '', job_id, task_id })}: ${sentence}`);
  if (memory === null) return EXIT.notYet;
  return memory ? EXIT.found : EXIT.nothing;
}
