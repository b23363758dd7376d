import { groupBy } from '../../base/group-by';
import type { Dialect } from '../../gridengine/dialect';
import { jobTaskName } from '../../record/job-name';
import type { JobRecord } from '../../record/record';
import { complexOf, requestOf } from '../../record/request';
import { roundRequest } from '../../report/advice/advice';
import { nextTime } from '../../report/advice/next-time';
import { escapeJson } from '../../report/format/escape';
import { succeeded } from '../../report/job/ending';
import type { JobReport } from '../../report/job/job';
import { latestRuns, predictionOf, recordsOf, type JobRun } from '../../report/job/job-run';
import { needsOf } from '../../report/job/job-whole';
import { MEMORY_CAUSES, type Cause } from '../../report/why/hypothesis';
import { whyEnded, type Why } from '../../report/why/why';
import { EXIT } from '../command';
import { warn, writeLines, type OutputFormat } from '../output';
import type { Terminal } from '../terminal';

/** Whether a job is worth another try with more memory. */
interface Retry {
  /** null: not known, not yet, or memory is one of several causes that fit. */
  readonly memory: boolean | null;
  /**
   * What to ask for now: "h_vmem=6G"; where nothing says whether memory ended it twice what was asked for. null:
   * memory did not end it, more would not have helped, or it is not known yet.
   */
  readonly request: string | null;
  readonly sentence: string;
}

/** A try that decides it: a program that fails again for another reason costs a run, one that lacks memory again each. */
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

/** A host delivers its record within some 10 s of the job's end, and a server reads the line in the accounting file in 30. */
const DELIVERY_MS = 60_000;

const isLately = ({ ended_at: ended }: JobRecord, now: Date): boolean =>
  ended !== null && now.getTime() - Date.parse(ended) < DELIVERY_MS;

/** Only Grid Engine's line is known, and what was sampled, which would decide, may still come. */
const isOnItsWay = (record: JobRecord, now: Date): boolean => record.status === 'unsampled' && isLately(record, now);

/** Another run follows, of which nothing is known yet: Grid Engine rescheduled or migrated the job, or is asked to. */
const runsAgain = ({ failed, exit_status: status }: JobRecord): boolean =>
  failed === null ? status === 99 : failed === 24 || failed === 25;

/** It runs, or one of both accounts of its end, the sampler's and Grid Engine's line, may still come. */
function isOpen({ run, why }: Ended, now: Date): boolean {
  const records = recordsOf(run);
  if (records.some((record) => record.status === 'running' || runsAgain(record) || isOnItsWay(record, now)))
    return true;
  if (why === null) return !records.some((record) => succeeded(record) === true);
  const isLineMissing = records.every((record) => record.grid_engine === null && isLately(record, now));
  return why.causes.length === 0 && isLineMissing;
}

/** Some five seconds: a program may have grown to its limit between fewer. */
const FEW_SAMPLES = 10;

const isUnseen = ({ samples, peak_process_vmem: space }: JobRecord): boolean =>
  (samples ?? 0) < FEW_SAMPLES && (space?.upper_bytes ?? null) === null;

/** A program that is refused memory ends as by a fault of its own. */
const AS_IF_REFUSED: ReadonlySet<Cause> = new Set<Cause>(['own-error', 'crash']);

/** Memory may have ended it, and nothing else is known that did, or nobody saw how large it grew. */
function isUndecided({ run, why }: Ended): boolean {
  if (!why?.causes.every((cause) => AS_IF_REFUSED.has(cause))) return false;
  const mayBeMemory = why.hypotheses.some(
    ({ cause, standing }) => MEMORY_CAUSES.has(cause) && standing === 'undecidable',
  );
  return mayBeMemory && (why.causes.length === 0 || recordsOf(run).some(isUnseen));
}

const isMemory = (cause: Cause): boolean => MEMORY_CAUSES.has(cause);

/** From the last run of every task; while one of them runs, nothing is decided. */
export function retryOf({ runs }: Pick<JobReport, 'runs'>, dialect: Dialect, now: Date): Retry {
  const tasks = [...groupBy(runs, ({ record }) => record.task_id).values()].map(latestRuns);
  const ended = tasks.map((run) => ({ run, why: whyEnded(recordsOf(run), undefined, dialect) }));
  if (ended.length === 0 || ended.some((one) => isOpen(one, now))) return NOT_YET;
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
 * Prints what to request now where lack of memory ended the job, or may have; resolves to the exit status: 0 it did, 1 it
 * ended otherwise, 4 not known, or not yet.
 */
export function showRetry(report: JobReport, format: OutputFormat, dialect: Dialect, terminal: Terminal): number {
  const { memory, request, sentence } = retryOf(report, dialect, terminal.now());
  const { job_id, task_id = null } = report;
  if (format === 'json')
    terminal.write(
      `${escapeJson(JSON.stringify({ schema: 1, job_id, task_id, ended_by_memory: memory, request, reason: sentence }))}\n`,
    );
  else if (request !== null) writeLines(terminal, [request]);
  if (format !== 'json' && (request === null || memory === null))
    warn(terminal, `job ${jobTaskName({ cluster: '', job_id, task_id })}: ${sentence}`);
  if (memory === null) return EXIT.notYet;
  return memory ? EXIT.found : EXIT.nothing;
}
