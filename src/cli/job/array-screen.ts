import { setFlagsFromString } from 'node:v8';
import { endedBadly } from '../../record/job-end';
import type { JobRecord } from '../../record/record';
import type { Settings } from '../../record/settings';
import type { TaskRows } from '../../accounting/tasks';
import type { Promised } from '../../report/advice/class-advice';
import type { ClassHistory } from '../../report/advice/class-history';
import { addArray, ARRAY_FIELDS, renderAdded, TASK_FIELDS } from '../../report/job/array';
import { renderProgress } from '../../report/job/array-progress';
import type { JobRun, JobViewOptions } from '../../report/job/job-run';
import { ClassCounts } from '../../report/rules/judge';
import { kindsNear } from '../../report/rules/kinds';
import type { RuleSet } from '../../report/rules/rule-set';
import type { Screen } from '../../report/screen/screen';
import { findDistinct } from '../records/find';
import type { LiveSources } from '../live/sources';
import { progressOfTasks } from './array-tasks';
import { findTasks, type JobArgument, type JobSources, type TaskFields } from './find-job';

/** An array whose screen needs few facts of each of its tasks. */
interface ArrayJob extends JobArgument {
  readonly tasks: TaskRows;
}

/** What is read of every task, and of those that are shown by themselves. */
export function arrayFields({ rules }: Pick<RuleSet, 'rules'>): TaskFields {
  const byRules = rules.flatMap((rule) => rule.fields);
  return { fields: [...TASK_FIELDS, ...byRules], whole: [...ARRAY_FIELDS, ...byRules] };
}

/** null: the records of the job are needed. Rejects with StoreError. */
export async function findArray(job: JobArgument, sources: JobSources, rules: RuleSet): Promise<ArrayJob | null> {
  const tasks = await findTasks(job, sources, arrayFields(rules));
  // The screen is made before V8's inlining, a quarter of all that it takes, would have paid.
  if (tasks !== null) setFlagsFromString('--no-turbo-inlining');
  return tasks === null ? null : { ...job, tasks };
}

const asRun = (record: JobRecord): JobRun => ({ record, attempt: 1, incarnation: 1 });

/** What past runs of the array's kind promise. */
async function promiseOf(tasks: TaskRows, history: ClassHistory): Promise<Promised | null> {
  const named = tasks.records.find(({ job_name: name }) => name !== null);
  const runs = named === undefined ? [] : (await tasks.whole([named])).map(asRun);
  return (await history.advise(runs))[0]?.promise ?? null;
}

export interface ArrayContext extends Pick<JobSources, 'readers'> {
  readonly history: ClassHistory;
  readonly rules: RuleSet;
  readonly settings: Settings;
  /** null: the cluster is not asked. */
  readonly live: LiveSources | null;
}

/** The screen of an array. Rejects with StoreError. */
export async function arrayLines(
  { tasks }: ArrayJob,
  options: JobViewOptions,
  screen: Screen,
  { readers, history, rules, settings, live }: ArrayContext,
): Promise<readonly string[]> {
  const { records, reruns } = tasks;
  const bad = records.filter(endedBadly);
  const wholeOf = new Map((await tasks.whole(bad)).map((record, index) => [bad[index], record]));
  const latest = records.map((record) => [wholeOf.get(record) ?? record] as const);
  const promise = await promiseOf(tasks, history);
  const kinds = await kindsNear(records, (query) => findDistinct(query, readers));
  const classes = new ClassCounts({ rules, kindOf: kinds.of });
  const added = addArray({ tasks: latest, reruns, promise, classes }, options, screen);
  if (added === null) return [];
  const [worst] = await tasks.whole(added.worst.filter((record) => !bad.includes(record)));
  const shown = worst === undefined ? added : { ...added, worst: [worst] as const };
  const progress =
    live === null ? null : await progressOfTasks(tasks.cluster ?? '', records, settings, live, screen.now);
  return [...renderAdded(shown, options, screen), ...renderProgress(progress ?? undefined, screen)];
}
