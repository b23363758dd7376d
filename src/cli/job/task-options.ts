import { groupBy } from '../../base/group-by';
import { jobName } from '../../record/job-name';
import { chooseTasks, type TaskChoice } from '../../report/job/choose-tasks';
import type { JobReport } from '../../report/job/job';
import { latestRuns, recordsOf, type JobRun } from '../../report/job/job-run';
import { EXIT } from '../command';
import { warn } from '../output';
import { countOf } from '../records/options';
import type { Terminal } from '../terminal';

const TASK_OPTIONS = ['tasks', 'worst', 'failed', 'limit'] as const;

/** The options of `job` that choose tasks of an array job. */
export interface TaskOptions {
  readonly tasks?: boolean;
  readonly worst?: string;
  readonly failed?: boolean;
  readonly limit?: string;
}

/** The tasks that --worst, --failed and --limit choose; null: none was given. Throws a usage error for a bad number. */
export function taskChoiceOf({ worst, failed, limit }: TaskOptions): TaskChoice | null {
  if (worst === undefined && failed === undefined && limit === undefined) return null;
  return {
    worst: worst === undefined ? undefined : countOf('--worst', worst),
    failed,
    limit: limit === undefined ? undefined : countOf('--limit', limit),
  };
}

export const taskOptionsOf = (options: TaskOptions): (typeof TASK_OPTIONS)[number][] =>
  TASK_OPTIONS.filter((name) => options[name] !== undefined);

/** Warns of options that choose tasks where the job has no tasks. */
export function sayNoTasks(reports: readonly JobReport[], options: TaskOptions, terminal: Terminal): void {
  for (const { runs } of reports) {
    const [first] = recordsOf(runs);
    if (first?.task_id !== null) continue;
    const given = taskOptionsOf(options).filter((name) => name !== 'tasks' || first.pe === null);
    const words = given.map((name) => `--${name}`).join(' and ');
    if (given.length > 0) warn(terminal, `job ${jobName(first)} is not an array: ${words} left out`);
  }
}

/** The runs of the tasks that `choice` selects, in its order. */
export function runsOfTasks(runs: readonly JobRun[], choice: TaskChoice): readonly JobRun[] {
  const byTask = groupBy(runs, ({ record }) => record.task_id);
  const latest = [...byTask].sort(([a], [b]) => (a ?? 0) - (b ?? 0)).map(([, ofTask]) => recordsOf(latestRuns(ofTask)));
  return chooseTasks(latest, choice).flatMap(([first]) => byTask.get(first?.task_id ?? null) ?? []);
}

/** Whether the memory need of any task is known. */
export const knowsWorst = ({ runs }: JobReport): boolean => runsOfTasks(runs, { worst: 1 }).length > 0;

/** The exit status; warns if --worst can choose no task. */
export function statusOfWorst({ worst }: TaskOptions, isKnown: () => boolean, terminal: Terminal): number {
  if (worst === undefined || isKnown()) return EXIT.found;
  warn(terminal, '--worst: no memory is known of any task');
  return EXIT.nothing;
}
