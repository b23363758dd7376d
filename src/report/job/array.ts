import { cpuEfficiency, queueWait } from '../../record/efficiency';
import { jobName, jobTaskName } from '../../record/job-name';
import { groupBy } from '../../base/group-by';
import { isParallel } from '../../accounting/job-sum';
import type { FieldName } from '../../record/fields';
import { figureOf } from '../../record/peak-figure';
import type { JobRecord } from '../../record/record';
import { adviseMost } from '../advice/advice';
import { formatHeld } from '../format/bracket';
import { chooseTasks } from './choose-tasks';
import { endingLabel, hitLimit } from './ending';
import { fullness, needOf } from '../advice/fit';
import { renderGauges } from '../screen/gauge';
import { recordGauges, renderVerdict } from './headline';
import { nextTime } from '../advice/next-time';
import { type JobViewOptions, latestRuns, promiseOf, recordsOf, type JobRun } from './job-run';
import { needsOf, wholeOf, type JobWhole } from './job-whole';
import { parseTime } from '../format/local-time';
import { wholeGauges } from './parallel';
import { renderRequests } from './usage';
import { renderRunTable } from './run-table';
import type { Screen } from '../screen/screen';
import { renderSection, SECTION_INDENT, wrap } from '../screen/layout';
import { renderTable } from '../screen/table';
import { describePlace, formatSpan, renderSubmission, spread } from './title';
import { formatBytes, formatCount, formatDuration, formatPercent } from '../format/units';
import { whyEnded, type Why } from '../why/why';
import { wordsOf } from '../why/words';
import { renderClassCounts } from '../rules/class-lines';

/** The fields of each task's record that the screen of an array is made from. */
export const ARRAY_FIELDS: readonly FieldName[] = [
  ...(['cluster', 'job_id', 'task_id', 'pe_task_id', 'host', 'run_id', 'status', 'trust', 'revision'] as const),
  ...(['owner', 'job_name', 'queue', 'project', 'pe', 'slots', 'host_slots', 'granted_hosts'] as const),
  ...(['submitted_at', 'started_at', 'ended_at', 'exit_status', 'signal', 'failed', 'grid_engine'] as const),
  ...([
    'h_vmem',
    'requests',
    'request_order',
    'wallclock_seconds',
    'cpu_seconds',
    'samples',
    'metrics',
    'notes',
  ] as const),
  ...(['peak_rss', 'peak_rss_swap', 'peak_process_vmem', 'peak_footprint'] as const),
];

/** So many tasks are listed with --full; --tasks lists all. */
const LISTED_UNASKED = 24;

/** Kinds of bad ends that are explained. */
const KINDS = 3;

const TASK_COLUMNS = ['task', 'host', 'started', 'ran', 'peak', 'memory', 'cpu', 'ending'] as const;

interface Measure {
  readonly name: string;
  readonly of: (record: JobRecord) => number | null;
  readonly format: (value: number) => string;
}

const MEASURES: readonly Measure[] = [
  {
    name: 'peak memory (RSS)',
    of: (record) => record.peak_rss && figureOf(record.peak_rss),
    format: formatHeld,
  },
  {
    name: 'largest address space',
    of: (record) => record.peak_process_vmem && figureOf(record.peak_process_vmem),
    format: formatHeld,
  },
  { name: 'CPU time', of: (record) => record.cpu_seconds, format: formatDuration },
  { name: 'CPU over slots', of: (record) => cpuEfficiency(record), format: formatPercent },
  { name: 'ran', of: (record) => record.wallclock_seconds, format: formatDuration },
];

const QUEUE_WAIT: Measure = { name: 'queue wait', of: queueWait, format: formatDuration };

function median(sorted: Float64Array): number {
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2;
}

/** The known values in their order, and the last task with the largest. */
function spreadOf(
  records: readonly JobRecord[],
  of: Measure['of'],
): { readonly sorted: Float64Array; readonly task: number | null } {
  const values = new Float64Array(records.length);
  let known = 0;
  let most = -Infinity;
  let task: number | null = null;
  for (const record of records) {
    const value = of(record);
    if (value === null) continue;
    values[known] = value;
    known += 1;
    if (value >= most) [most, task] = [value, record.task_id];
  }
  return { sorted: values.subarray(0, known).sort(), task };
}

function renderSpread(records: readonly JobRecord[], screen: Screen, full: boolean): string[] {
  const rows = [...MEASURES, ...(full ? [QUEUE_WAIT] : [])].flatMap(({ name, of, format }) => {
    const { sorted, task } = spreadOf(records, of);
    const [least] = sorted;
    if (least === undefined) return [];
    return [[name, format(least), format(median(sorted)), format(sorted.at(-1) ?? least), String(task ?? '')]];
  });
  return renderTable(
    [
      { head: '' },
      { head: 'min', align: 'right', dispensable: 1 },
      { head: 'median', align: 'right' },
      { head: 'max', align: 'right' },
      { head: 'in task', align: 'right' },
    ],
    rows,
    screen,
    screen.width - SECTION_INDENT,
  );
}

/** The task whose need came nearest to its limit, or that needed most. */
function worstOf(tasks: readonly Task[]): Task | undefined {
  let worst: Task | undefined;
  let most = -Infinity;
  for (const task of tasks) {
    const weight = fullness(decidingOf(task));
    if (worst !== undefined && weight <= most) continue;
    worst = task;
    most = weight;
  }
  return worst;
}

/** "19 ok, 1 SIGKILL (task 7)". */
function endings(records: readonly JobRecord[], screen: Screen): string {
  const groups = [...groupBy(records, endingLabel)].sort(([, a], [, b]) => b.length - a.length);
  return groups
    .map(([label, group]) => {
      const tasks = group.map(({ task_id }) => task_id).filter((task) => task !== null);
      const which =
        label === 'ok' || tasks.length > 4 ? '' : ` (task${tasks.length === 1 ? '' : 's'} ${tasks.join(', ')})`;
      return `${formatCount(group.length)} ${label}${which}`;
    })
    .join(` ${screen.glyphs.dot} `);
}

function span(records: readonly JobRecord[], screen: Screen): string {
  // ISO times in UTC are in the order of their text.
  const times = (field: 'started_at' | 'ended_at'): string[] => records.flatMap((record) => record[field] ?? []);
  const ended = times('ended_at');
  const first = parseTime(times('started_at').reduce<string | null>((a, b) => (a !== null && a < b ? a : b), null));
  if (first === null) return '';
  const last = ended.length < records.length ? null : ended.reduce((a, b) => (a > b ? a : b));
  return formatSpan(first, parseTime(last), screen);
}

/** How many tasks ran into the limit, and what the others needed: a larger request may be needed for a few only. */
function renderStopped(records: readonly JobRecord[], screen: Screen): string[] {
  const others = records.filter((record) => !hitLimit(record));
  if (others.length === records.length || others.length === 0) return [];
  const needs = others.map((record) => needOf(record)?.bytes ?? 0);
  const most = formatBytes(
    needs.reduce((a, b) => Math.max(a, b)),
    'up',
  );
  const words = `${formatCount(records.length - others.length)} of ${formatCount(records.length)} tasks ended so; highest observed peak of the others: ${most}.`;
  return wrap(words, screen.width - 4).map((line) => screen.style.faint(`    ${line}`));
}

/** What would have held for nearly all of many tasks: the others can be asked for apart. */
function renderMost(tasks: readonly (readonly JobRecord[])[], screen: Screen): string[] {
  const most = adviseMost(tasks);
  return most === null ? [] : [screen.style.faint(`    99 % of the tasks would have held with ${most}.`)];
}

/** One task: as a run of which its peak and its share of the limit are those of its fullest host, and what decides. */
interface Task {
  readonly run: JobRun;
  /** null: it is not parallel. */
  readonly whole: JobWhole | null;
}

function taskOf(latest: readonly JobRun[]): readonly Task[] {
  const [first] = latest;
  if (first === undefined) return [];
  const records = recordsOf(latest);
  if (!isParallel(records)) return [{ run: first, whole: null }];
  const whole = wholeOf([first.record, ...records.slice(1)], first.attempt);
  const { peak_rss, h_vmem, requests, request_order } = whole.memoryHost;
  return [{ run: { ...first, record: { ...whole.total, peak_rss, h_vmem, requests, request_order } }, whole }];
}

function renderAsked({ run: { record }, whole }: Task, screen: Screen): string[] {
  if (whole === null) return renderRequests(record, screen);
  const where = `on ${formatCount(whole.sum.hosts.length)} hosts`;
  return renderRequests({ ...whole.total, host_slots: whole.total.slots }, screen, where);
}

const decidingOf = ({ run, whole }: Task): JobRecord => whole?.fullest ?? run.record;

interface BadTask {
  readonly task: number | null;
  readonly why: Why;
}

/** The bad ends beside the worst task's: of each kind how many, and one of them. */
function renderOtherEnds(bad: readonly BadTask[], worst: JobRecord, screen: Screen): string[] {
  const shown = bad.find(({ task }) => task === worst.task_id)?.why.causes.join();
  const kinds = [...groupBy(bad, ({ why }) => why.causes.join())].filter(([causes]) => causes !== shown);
  const room = screen.width - SECTION_INDENT;
  return kinds
    .sort(([, a], [, b]) => b.length - a.length)
    .slice(0, KINDS)
    .flatMap(([, [first, ...others]]) => {
      if (first === undefined) return [];
      const like = others.length === 0 ? '' : ` and ${formatCount(others.length)} like it`;
      return wrap(`task ${first.task ?? ''}${like}: ${first.why.sentence}`, room);
    });
}

/** An array job: the task nearest to its limit and what would fit them all, the spread over tasks, the tasks. */
export function renderArray(runs: readonly JobRun[], options: JobViewOptions, screen: Screen): string[] {
  const { style, glyphs } = screen;
  const tasks = [...groupBy(runs, ({ record }) => record.task_id).values()].map(latestRuns);
  const shown = tasks.flatMap(taskOf).sort((a, b) => (a.run.record.task_id ?? 0) - (b.run.record.task_id ?? 0));
  const masters = shown.map(({ run }) => run);
  const records = recordsOf(masters);
  const worstTask = worstOf(shown);
  if (worstTask === undefined) return [];
  const worst = worstTask.run.record;

  const words = wordsOf(screen);
  const latest = tasks.map(recordsOf);
  const bad = latest.flatMap((ofTask): BadTask[] => {
    const why = whyEnded(ofTask, words, options.dialect);
    return why === null ? [] : [{ task: ofTask[0]?.task_id ?? null, why }];
  });
  const whys = bad.map(({ why }) => why);
  const needsOfTasks = latest.map(needsOf);
  const needs = needsOfTasks.flat();
  const own = bad.find(({ task }) => task === worst.task_id)?.why ?? null;
  const name = worst.job_name === null ? '' : `  ${screen.safe(worst.job_name)}`;
  const owner = worst.owner === null ? '' : screen.safe(worst.owner);
  const hosts = new Set(records.map(({ host }) => host)).size;
  const place = hosts === 1 ? describePlace(worst, screen) : [owner, `${hosts} hosts`].filter((part) => part !== '');
  const reruns = runs.length - latest.reduce((sum, ofTask) => sum + ofTask.length, 0);
  const chosen = options.tasks === undefined ? null : chooseTasks(runs, options.tasks);
  const byTask = new Map(masters.map((run) => [run.record.task_id, run]));
  const rows = chosen === null ? masters : chosen.flatMap((task) => byTask.get(task) ?? []);
  const listed = chosen !== null || options.allTasks || (options.detail === 'full' && masters.length <= LISTED_UNASKED);
  const section = (title: string, lines: readonly string[]): string[] =>
    lines.length === 0 ? [] : ['', ...renderSection(title, lines, screen)];
  const count = `${formatCount(masters.length)} tasks`;
  const worstLine = `worst: task ${worst.task_id ?? ''}${hosts === 1 ? '' : ` on ${screen.safe(worst.host)}`}`;

  return [
    spread(`Job ${jobName(worst)}${name}`, count, screen, style.title, style.title),
    spread(place.join(` ${glyphs.dot} `), span(records, screen), screen, (text) => text, style.faint),
    '',
    ...renderGauges(
      worstTask.whole === null ? recordGauges(worst, screen) : wholeGauges(worstTask.whole, screen),
      screen,
    ),
    style.faint(`  ${worstLine}`),
    ...renderVerdict(decidingOf(worstTask), needs, nextTime(needs, whys, promiseOf(runs)), screen, own),
    ...renderStopped(records, screen),
    ...renderMost(needsOfTasks, screen),

    ...(options.detail === 'full' ? section('Requested', renderAsked(worstTask, screen)) : []),
    ...section('Tasks', renderSpread(records, screen, options.detail === 'full')),
    ...section('Ended', [
      endings(records, screen),
      ...renderOtherEnds(bad, worst, screen),
      ...(reruns > 0 ? [`${formatCount(reruns)} earlier runs of re-run tasks`] : []),
    ]),
    ...section('Classes', renderClassCounts(masters, screen.width - SECTION_INDENT, screen)),
    ...section('', listed ? renderRunTable(TASK_COLUMNS, rows, screen.width - SECTION_INDENT, screen) : []),
    ...renderSubmission(records, screen.width - 2, screen).map((line) => style.faint(`  ${line}`)),
    ...(listed
      ? []
      : [`  Each task: ${style.title(`--tasks`)}; one of them: ${style.title(`qmemacct job ${jobTaskName(worst)}`)}`]),
  ];
}
