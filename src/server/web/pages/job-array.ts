import { groupBy } from '../../../base/group-by';
import { memoryEfficiency } from '../../../record/efficiency';
import { figureOf } from '../../../record/peak-figure';
import { limitOf } from '../../../record/request';
import { formatCount } from '../../../report/format/units';
import { endingLabel } from '../../../report/job/ending';
import { latestRuns } from '../../../report/job/job-run';
import type { RUN_COLUMNS } from '../../../report/job/run-table';
import { courseOf } from '../../../report/series/course';
import type { Screen } from '../../../report/screen/screen';
import { distribution } from '../charts/quantiles';
import { courseChart } from '../charts/course';
import { html, named, type Html } from '../html';
import { section } from '../layout';
import { pairs } from '../table';
import { jobLinks } from './job-links';
import { causePart, nextPart } from './job-next';
import { runsTable, type JobPart, type JobRuns } from './job-run';

/** So many tasks are listed: those closest to their limit. */
const LISTED = 100;
/** Kinds of bad ends that are explained. */
const KINDS = 5;

const COLUMNS: readonly (keyof typeof RUN_COLUMNS)[] = [
  ...(['task', 'host', 'limit', 'peak', 'memory', 'cpu', 'ran', 'ending'] as const),
];

const shareOf = ({ record }: JobRuns[number]): number => memoryEfficiency(record) ?? -1;

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

function tasksTable(tasks: JobRuns, screen: Screen): Html {
  const worst = [...tasks].sort((a, b) => shareOf(b) - shareOf(a)).slice(0, LISTED);
  const rest = tasks.length - worst.length;
  return section(
    'Tasks closest to their limit',
    runsTable('The latest run of each task', COLUMNS, worst, screen),
    rest > 0
      ? html`<p class="faint">And ${formatCount(rest)} more tasks; each has a page of its own: /job/NUMBER.TASK.</p>`
      : null,
  );
}

function endsPart(tasks: JobRuns, causes: JobPart['causes']): Html {
  const ends = [...groupBy(tasks, ({ record }) => endingLabel(record))].sort(([, a], [, b]) => b.length - a.length);
  const kinds = [...groupBy(causes, (cause) => cause.causes.join())].sort(([, a], [, b]) => b.length - a.length);
  const bad = kinds.slice(0, KINDS).flatMap(([, [first, ...others]]) =>
    first === undefined
      ? []
      : [
          html`<h3>
              Task ${first.task_id ?? ''}${others.length === 0 ? '' : ` and ${formatCount(others.length)} like it`}
            </h3>
            ${causePart(first)}`,
        ],
  );
  return section(
    'How they ended',
    pairs(ends.map(([label, group]) => [label, formatCount(group.length)])),
    html`${bad}`,
  );
}

/** An array job: how its tasks are distributed, those closest to their limit, and how they ended. */
export function arrayPart({ runs, causes }: JobPart, screen: Screen): Html {
  const tasks = tasksOf(runs);
  const [first] = tasks;
  if (first === undefined) return html``;
  const { record } = first;
  const peaks = tasks.flatMap(({ record: { peak_rss: peak } }) => (peak === null ? [] : [figureOf(peak)]));
  const limits = tasks.flatMap((task) => limitOf(task.record) ?? []);
  const limit = limits.length === 0 ? null : limits.reduce((most, bytes) => Math.max(most, bytes));
  const drawn = distribution(peaks, limit, 'Peaks of the tasks');
  const course = courseOf(tasks.flatMap((task) => task.record.series ?? []));
  const curves = course && courseChart(course, limit, 'tasks');
  const next = tasks.map(({ next_time: one }) => one).find((one) => one !== null) ?? null;
  const line = causes.find(({ next_time: one }) => one !== null)?.next_time ?? null;
  return html`<h1>Job ${record.job_id}${record.job_name === null ? null : html` ${named(record.job_name)}`}</h1>
    <p>${record.owner === null ? null : html`${named(record.owner)} · `}${formatCount(tasks.length)} tasks</p>
    ${jobLinks({ ...record, task_id: null })}
    ${drawn === null ? null : section('Peaks of the tasks, lowest first', drawn)}
    ${curves === null ? null : section('Memory of the tasks, each since its start', curves)}
    ${nextPart(
      next,
      line,
      tasks.map((task) => task.record),
    )}
    ${tasksTable(tasks, screen)} ${endsPart(tasks, causes)}`;
}
