import { groupBy } from '../../../base/group-by';
import { largestFirst } from '../../../base/largest-first';
import { largestOfKnown } from '../../../base/known';
import type { ValueOf } from '../../../base/shape';
import { endedBadly } from '../../../record/job-end';
import { figureOf } from '../../../record/peak-figure';
import { limitOf } from '../../../record/request';
import { fullness } from '../../../report/advice/fit';
import { formatCount } from '../../../report/format/units';
import { endingLabel } from '../../../report/job/ending';
import { latestRuns } from '../../../report/job/job-run';
import type { RUN_COLUMNS } from '../../../report/job/run-table';
import { courseOf } from '../../../report/series/course';
import type { Screen } from '../../../report/screen/screen';
import type { arrayAnswer } from '../../accounting/answer-shapes';
import { distribution } from '../charts/quantiles';
import { courseChart } from '../charts/course';
import { html, named, type Html } from '../html';
import { section } from '../layout';
import { pairs } from '../table';
import { jobLinks } from './job-links';
import { causePart, nextPart } from './job-next';
import { runsTable, type JobPart, type JobRuns } from './job-run';

/** At most this many tasks are listed: those closest to their limit. */
const LISTED = 100;
/** Kinds of bad ends that are explained. */
const KINDS = 5;

const COLUMNS: readonly (keyof typeof RUN_COLUMNS)[] = [
  ...(['task', 'host', 'limit', 'peak', 'memory', 'cpu', 'ran', 'ending'] as const),
];

const shareOf = ({ record }: JobRuns[number]): number => fullness(record);

/** The record of each task's latest run that came closest to its limit. */
function tasksOf(runs: JobRuns): JobRuns {
  const byTask = groupBy(runs, ({ record }) => record.task_id);
  return [...byTask.values()].flatMap((task) => {
    const [first, ...others] = latestRuns(task);
    return first === undefined
      ? []
      : [others.reduce((most, run) => (shareOf(run) > shareOf(most) ? run : most), first)];
  });
}

/** What the page of an array job is made from. */
export type ArrayView = Omit<ValueOf<typeof arrayAnswer>, 'schema' | 'reruns'>;

/** The request that suffices for the task that needs most, and the whole `qsub` line if that task ended badly. */
function nextOf(tasks: JobRuns, causes: JobPart['causes']): Pick<ArrayView, 'next_time' | 'line'> {
  const bytes = ({ next_time: next }: JobRuns[number]): number => next?.request_bytes ?? 0;
  const most = tasks.reduce<JobRuns[number] | null>((a, b) => (a === null || bytes(b) > bytes(a) ? b : a), null);
  const enough = tasks
    .filter((task) => most !== null && bytes(task) === bytes(most))
    .map(({ record }) => record.task_id);
  const cause = causes.find(({ task_id: task, next_time: line }) => line !== null && enough.includes(task));
  return { next_time: most?.next_time ?? null, line: cause?.next_time ?? null };
}

/** Makes the view from all runs of the job. */
export function arrayView({ runs, causes }: JobPart): ArrayView {
  const tasks = tasksOf(runs);
  const ends = [...groupBy(tasks, ({ record }) => endingLabel(record))].sort(([, a], [, b]) => b.length - a.length);
  const kinds = [...groupBy(causes, (cause) => cause.causes.join()).values()].sort((a, b) => b.length - a.length);
  return {
    tasks: tasks.length,
    peaks: tasks
      .flatMap(({ record: { peak_rss: peak } }) => (peak === null ? [] : [figureOf(peak)]))
      .sort((a, b) => a - b),
    limit_bytes: largestOfKnown(tasks.map(({ record }) => limitOf(record))),
    course: courseOf(tasks.flatMap(({ record }) => record.series ?? [])),
    ...nextOf(tasks, causes),
    closest: largestFirst(tasks, shareOf).slice(0, LISTED),
    ends: ends.map(([label, group]) => ({ label, tasks: group.length })),
    causes: kinds
      .slice(0, KINDS)
      .flatMap(([cause, ...others]) => (cause === undefined ? [] : [{ tasks: 1 + others.length, cause }])),
    unexplained: Math.max(0, tasks.filter(({ record }) => endedBadly(record)).length - causes.length),
  };
}

function tasksTable({ tasks, closest }: ArrayView, screen: Screen): Html {
  const rest = tasks - closest.length;
  return section(
    closest.some((run) => shareOf(run) >= 0) ? 'Tasks closest to their limit' : 'Tasks',
    runsTable('The latest run of each task', COLUMNS, closest, screen),
    rest > 0
      ? html`<p class="faint">And ${formatCount(rest)} more tasks; each has a page of its own: /job/NUMBER.TASK.</p>`
      : null,
  );
}

function endsPart({ ends, causes, unexplained }: ArrayView): Html {
  const bad = causes.map(
    ({ tasks, cause }) =>
      html`<h3>Task ${cause.task_id ?? ''}${tasks === 1 ? '' : ` and ${formatCount(tasks - 1)} like it`}</h3>
        ${causePart(cause)}`,
  );
  return section(
    'How they ended',
    pairs(ends.map(({ label, tasks }) => [label, formatCount(tasks)])),
    html`${bad}`,
    unexplained === 0
      ? null
      : html`<p class="faint">
          Causes are those of the first tasks that ended badly; ${formatCount(unexplained)} more did.
        </p>`,
  );
}

/** An array job: how its tasks are distributed, those closest to their limit, and how they ended. */
export function arrayPart(view: ArrayView, screen: Screen): Html {
  const { tasks, peaks, limit_bytes: limit, course, next_time: next, line, closest } = view;
  const [first] = closest;
  if (first === undefined) return html``;
  const { record } = first;
  const drawn = distribution(peaks, limit, 'Peaks of the tasks');
  const curves = course && courseChart(course, limit, 'tasks');
  const drawnTasks =
    course === null || course.runs === tasks ? 'the tasks' : `${formatCount(course.runs)} of the tasks`;
  return html`<h1>Job ${record.job_id}${record.job_name === null ? null : html` ${named(record.job_name)}`}</h1>
    <p>${record.owner === null ? null : html`${named(record.owner)} · `}${formatCount(tasks)} tasks</p>
    ${jobLinks({ ...record, task_id: null })}
    ${drawn === null ? null : section('Peaks of the tasks, lowest first', drawn)}
    ${curves === null ? null : section(`Memory of ${drawnTasks}, each since its start`, curves)}
    ${nextPart(
      next,
      line,
      closest.map((task) => task.record),
    )}
    ${tasksTable(view, screen)} ${endsPart(view)}`;
}
