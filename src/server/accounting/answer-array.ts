import type { AccountingReader, JobAttempt } from '../../accounting/store';
import { readTasks } from '../../accounting/tasks';
import { groupBy } from '../../base/group-by';
import { largestFirst } from '../../base/largest-first';
import { largestOfKnown } from '../../base/known';
import type { Dialect } from '../../gridengine/dialect';
import { endedBadly } from '../../record/job-end';
import { figureOf } from '../../record/peak-figure';
import { RECORD_SCHEMA, type JobRecord } from '../../record/record';
import { limitOf } from '../../record/request';
import type { ClassHistory } from '../../report/advice/class-history';
import { fullness } from '../../report/advice/fit';
import { nextRequest } from '../../report/advice/next-request';
import { nextTime } from '../../report/advice/next-time';
import { ARRAY_FIELDS, TASK_FIELDS } from '../../report/job/array';
import { ArrayFacts, type BadTask } from '../../report/job/array-facts';
import { latestRuns, predictionOf } from '../../report/job/job-run';
import { courseOf } from '../../report/series/course';
import { causeAccounts, type CauseAccount } from '../../report/why/causes';
import { PLAIN_WORDS } from '../../report/why/words';
import { HttpProblem } from '../http/http-problem';

/** Asks for the newest array job with this number, its tasks added up. */
export interface ArrayQuery {
  readonly job_id: number;
  readonly cluster?: string;
}

/** At most this many tasks closest to their limit are given, and as many read for their series: each costs a query. */
const SINGLE_TASKS = 50;
const MOST_PEAKS = 500;
/** At most this many bad ends are explained, and this many kinds of causes are given. */
const MOST_EXPLAINED = 1000;
const MOST_KINDS = 5;

interface ArrayContext {
  readonly reader: AccountingReader;
  readonly dialect: Dialect | undefined;
  /** Whether the caller may see the record unredacted. */
  readonly sees: (record: JobRecord) => boolean;
  /** Built only from records that the caller may see. */
  readonly history: ClassHistory;
  /** Turns runs into the objects of the answer. Rejects with StoreError. */
  readonly give: (runs: readonly JobAttempt[]) => Promise<readonly object[]>;
}

/** At most `most` of `all`, evenly spaced, with the first and the last. */
function evenly<T>(all: readonly T[], most: number): readonly T[] {
  if (all.length <= most) return all;
  return Array.from({ length: most }, (_, index) => all[Math.round((index * (all.length - 1)) / (most - 1))]).flatMap(
    (one) => one ?? [],
  );
}

type RunsOf = (tasks: readonly JobRecord['task_id'][]) => Promise<readonly JobAttempt[]>;

/** Reads the latest run of each given task of the job, with all fields. */
function runsReader(reader: AccountingReader, job: { readonly job_id: number; readonly cluster?: string }): RunsOf {
  return async (tasks) => {
    const runs: JobAttempt[] = [];
    for (const task of tasks) {
      const { records } = await reader.job({ ...job, ...(task === null ? {} : { task_id: task }) });
      runs.push(...latestRuns(records));
    }
    return runs;
  };
}

/** The most frequent kinds of causes, each with the account of one of its tasks. */
async function commonCauses(
  bad: readonly BadTask[],
  runsOf: RunsOf,
  dialect: Dialect | undefined,
): Promise<readonly { readonly tasks: number; readonly cause: CauseAccount }[]> {
  const kinds = [...groupBy(bad, ({ why }) => why.causes.join()).values()].sort((a, b) => b.length - a.length);
  const found: { readonly tasks: number; readonly cause: CauseAccount }[] = [];
  for (const kind of kinds.slice(0, MOST_KINDS)) {
    const [cause] = causeAccounts(await runsOf(kind.slice(0, 1).map(({ task }) => task)), dialect);
    if (cause !== undefined) found.push({ tasks: kind.length, cause });
  }
  return found;
}

const numbersOf = (records: readonly JobRecord[]): readonly JobRecord['task_id'][] =>
  records.map(({ task_id: task }) => task);

/** Rejects with HttpProblem or StoreError. */
export async function answerArray(
  { job_id, cluster: wanted }: ArrayQuery,
  { reader, dialect, sees, history, give }: ArrayContext,
): Promise<object> {
  const fields = [...TASK_FIELDS, 'project'] as const;
  const tasks = await readTasks(reader, { job_id, more_than: 1, fields, whole: ARRAY_FIELDS });
  const isAsked = tasks !== null && tasks.cluster === (wanted ?? tasks.cluster);
  const records = isAsked ? [...tasks.records()] : [];
  if (!isAsked || records.length < 2 || !records.every(sees))
    throw new HttpProblem(404, 'this is not an array job that can be answered so; ask /v1/job');
  const { reruns, cluster } = tasks;

  const bad = records.filter(endedBadly);
  const explained = bad.slice(0, MOST_EXPLAINED);
  const wholeOf = new Map((await tasks.whole(numbersOf(explained))).map((record, index) => [explained[index], record]));
  const facts = new ArrayFacts(
    records.map((record) => [wholeOf.get(record) ?? record] as const),
    { full: false, words: PLAIN_WORDS, dialect, counts: null, mostExplained: MOST_EXPLAINED },
  );

  const runsOf = runsReader(reader, { job_id, ...(cluster === null ? {} : { cluster }) });
  const closest = await runsOf(numbersOf(largestFirst(records, fullness).slice(0, SINGLE_TASKS)));
  const prediction = predictionOf(await history.advise(closest.slice(0, 1)));
  const needs = facts.needs.decisive;
  const whys = facts.bad.map(({ why }) => why);
  const peaks = records.flatMap(({ peak_rss: peak }) => (peak === null ? [] : [figureOf(peak)]));
  const sampled = await runsOf(numbersOf(evenly(records, SINGLE_TASKS)));
  return {
    schema: RECORD_SCHEMA,
    tasks: records.length,
    reruns,
    peaks: evenly(
      peaks.sort((a, b) => a - b),
      MOST_PEAKS,
    ),
    limit_bytes: largestOfKnown(records.map(limitOf)),
    course: courseOf(sampled.flatMap(({ record }) => record.series ?? [])),
    next_time: nextRequest(needs, prediction),
    line: whys.length === 0 ? null : (nextTime(needs, whys, prediction)?.line ?? null),
    closest: await give(closest),
    ends: facts.endings().map(({ label, count }) => ({ label, tasks: count })),
    causes: await commonCauses(facts.bad, runsOf, dialect),
    unexplained: bad.length - explained.length,
  };
}
