import { END_FIELDS, endedBadly } from '../../record/job-end';
import { privateWorld } from '../../record/job-name';
import type { JobRecord } from '../../record/record';
import type { Settings } from '../../record/settings';
import type { TaskRows } from '../../accounting/tasks';
import type { Prediction } from '../../report/advice/class-advice';
import type { ClassHistory } from '../../report/advice/class-history';
import { addArray, ARRAY_FIELDS, renderAdded, TASK_FIELDS } from '../../report/job/array';
import { renderProgress } from '../../report/job/array-progress';
import { LINES_ON_A_SCREEN } from '../../report/job/job';
import { asRun, type JobViewOptions } from '../../report/job/job-run';
import { ClassCounts } from '../../report/rules/judge';
import { kindsNear, SHORT_FIELDS, shortRuns, type Kinds } from '../../report/rules/kinds';
import type { RuleSet } from '../../report/rules/rule-set';
import type { Screen } from '../../report/screen/screen';
import { findDistinct } from '../records/find';
import type { LiveSources } from '../live/sources';
import { beginLists, progressOfTasks } from './array-tasks';
import { findTasks, type JobArgument, type JobSources, type TaskFields } from './find-job';

/** An array job whose screen needs only few facts of each task. */
interface ArrayJob extends JobArgument {
  readonly tasks: TaskRows;
}

/** The fields read for every task, and those read for tasks that are shown by themselves. */
export function arrayFields({ rules }: Pick<RuleSet, 'rules'>): TaskFields {
  const byRules = rules.flatMap((rule) => rule.fields);
  return { fields: [...TASK_FIELDS, ...byRules], whole: [...ARRAY_FIELDS, ...byRules] };
}

/** null: not possible here, the job's records are needed. Rejects with StoreError. */
export async function findArray(job: JobArgument, sources: JobSources, rules: RuleSet): Promise<ArrayJob | null> {
  const tasks = await findTasks(job, sources, arrayFields(rules));
  return tasks === null ? null : { ...job, tasks };
}

/** The prediction from past runs of the array's job class. */
async function predictionOf(tasks: TaskRows, history: ClassHistory): Promise<Prediction | null> {
  for (const { task_id: task, job_name: name } of tasks.records(['task_id', 'job_name']))
    if (name !== null) return (await history.advise((await tasks.whole([task])).map(asRun)))[0]?.prediction ?? null;
  return null;
}

type ByTask = ReadonlyMap<JobRecord['task_id'], JobRecord>;

/** The whole records of tasks that ended badly, as finding the cause needs them. */
async function badEnds(tasks: TaskRows): Promise<ByTask> {
  const bad: JobRecord['task_id'][] = [];
  for (const record of tasks.records(['task_id', ...END_FIELDS])) if (endedBadly(record)) bad.push(record.task_id);
  return new Map((await tasks.whole(bad)).map((record) => [record.task_id, record]));
}

function* withWhole(records: Iterable<JobRecord>, whole: ByTask): Iterable<readonly [JobRecord]> {
  for (const record of records) yield [whole.get(record.task_id) ?? record];
}

async function kindsOf(tasks: TaskRows, readers: JobSources['readers']): Promise<Kinds> {
  const short = shortRuns(tasks.records(['task_id', ...SHORT_FIELDS])).map(({ task_id: task }) => task);
  return kindsNear(await tasks.whole(short), (query) => findDistinct(query, readers));
}

export interface ArrayContext extends Pick<JobSources, 'readers'> {
  readonly history: ClassHistory;
  readonly rules: RuleSet;
  readonly settings: Settings;
  /** null: the cluster is not asked. */
  readonly live: LiveSources | null;
}

interface ArrayScreen {
  readonly lines: readonly string[];
  /** Whether the memory need of any task is known. */
  readonly knowsWorst: boolean;
}

/** Rejects with StoreError. */
export async function arrayLines(
  { job_id, tasks }: ArrayJob,
  options: JobViewOptions,
  screen: Screen,
  { readers, history, rules, settings, live }: ArrayContext,
): Promise<ArrayScreen> {
  const isSite = privateWorld(tasks.cluster ?? '') === null;
  const lists = live === null || !isSite ? null : beginLists(settings, live);
  await lists?.begun;
  const bad = await badEnds(tasks);
  const prediction = await predictionOf(tasks, history);
  const { of: kindOf } = await kindsOf(tasks, readers);
  const classes = new ClassCounts({ rules, kindOf });
  const latest = withWhole(tasks.records(), bad);
  const added = addArray({ tasks: latest, reruns: tasks.reruns, prediction, classes }, options, screen);
  if (added === null) return { lines: [], knowsWorst: false };
  const [{ task_id: worstTask }] = added.worst;
  const [worst] = await tasks.whole([worstTask]);
  const shown = worst === undefined ? added : { ...added, worst: [worst] as const };
  const snapshot = lists === null ? null : await lists.wait();
  const progress = snapshot === null ? null : progressOfTasks({ job_id, tasks }, snapshot);
  const last = renderProgress(progress ?? undefined, screen);
  const lines = [...renderAdded(shown, options, screen, LINES_ON_A_SCREEN - last.length), ...last];
  return { lines, knowsWorst: added.facts.knowsWorst };
}
