import { jobName, jobTaskName } from '../../record/job-name';
import { groupBy } from '../../base/group-by';
import type { FieldName } from '../../record/fields';
import type { JobRecord } from '../../record/record';
import { limitOf } from '../../record/request';
import type { Prediction } from '../advice/class-advice';
import type { ArrayNeeds } from '../advice/array-needs';
import {
  ArrayFacts,
  COUNTED_MEMORY,
  COUNTED_OVER_HOSTS,
  MOST_NAMED,
  PEAK_MEMORY,
  taskOf,
  type BadTask,
  type Task,
} from './array-facts';
import { ChosenTasks } from './choose-tasks';
import { countedText, SUM_OVER_HOSTS } from './counted';
import { renderGauges } from '../screen/gauge';
import { jobGauges, renderVerdict } from './headline';
import { adviseRequest } from '../advice/advice';
import { nextTime } from '../advice/next-time';
import { isRun, type RunRecords } from './job-whole';
import { asRun, type JobViewOptions, latestRuns, predictionOf, recordsOf, type JobRun } from './job-run';
import { parseTime } from '../format/local-time';
import { renderRequests } from './usage';
import { renderRunTable } from './run-table';
import type { Screen } from '../screen/screen';
import { blank, fitLines, renderSection, SECTION_INDENT, unbroken, wrap } from '../screen/layout';
import { truncate } from '../screen/text-width';
import { renderTable } from '../screen/table';
import { describePlace, formatSpan, renderSubmitted, spread } from './title';
import { formatBytes, formatCount, formatRequested, plural } from '../format/units';
import { wordsOf } from '../why/words';
import { renderClassCounts } from '../rules/class-lines';
import { ClassCounts, type ClassCount, type Judges } from '../rules/judge';

/** The fields that the screen of an array is made from, read for every task. */
export const TASK_FIELDS: readonly FieldName[] = [
  ...(['task_id', 'host', 'trust', 'owner', 'job_name', 'pe', 'slots', 'host_slots', 'granted_hosts'] as const),
  ...(['status', 'exit_status', 'signal', 'failed', 'submitted_at', 'started_at', 'ended_at', 'revision'] as const),
  ...(['h_vmem', 'requests', 'request_order', 'grid_engine', 'metrics'] as const),
  ...(['wallclock_seconds', 'suspended_seconds', 'cpu_seconds'] as const),
  ...(['peak_rss', 'peak_rss_swap', 'peak_process_vmem', 'peak_footprint'] as const),
];

/** The same, and the fields that are read only for tasks that are shown individually. */
export const ARRAY_FIELDS: readonly FieldName[] = [
  ...TASK_FIELDS,
  ...(['cluster', 'job_id', 'pe_task_id', 'run_id', 'queue', 'project', 'program', 'samples', 'notes'] as const),
];

/** With --full, tasks are listed if there are at most this many; --tasks lists all. */
const LISTED_UNASKED = 24;

/** At most this many kinds of bad ends are explained. */
const KINDS = 3;

/** Without --full at most this many ways to end are named. */
const MOST_ENDINGS = 3;

const TASK_COLUMNS = ['task', 'host', 'started', 'ran', 'peak', 'memory', 'cpu', 'ending'] as const;

function renderSpreads(spreads: ArrayFacts['spreads'], screen: Screen): string[] {
  return renderTable(
    [
      { head: '', shrinksTo: 16 },
      { head: 'min', align: 'right', dispensable: 1 },
      { head: 'median', align: 'right' },
      { head: 'max', align: 'right' },
      { head: 'in task', align: 'right' },
    ],
    spreads.flatMap((one) => {
      const row = one.row();
      return row === null ? [] : [row];
    }),
    screen,
    screen.width - SECTION_INDENT,
  );
}

/** "19 ok · 1 SIGKILL (task 7)": the `most` most frequent ways to end, on lines of `width` columns. */
function renderEndings(facts: ArrayFacts, most: number, width: number, { glyphs }: Screen): string[] {
  const all = facts.endings();
  const shown = all.slice(0, most).map(({ label, count, tasks }) => {
    const which =
      label === 'ok' || tasks.length > MOST_NAMED ? '' : ` (task${tasks.length === 1 ? '' : 's'} ${tasks.join(', ')})`;
    return unbroken(`${formatCount(count)} ${label}${which}`);
  });
  const others = all.slice(most).reduce((sum, { count }) => sum + count, 0);
  const rest = others === 0 ? [] : [unbroken(`${formatCount(others)} otherwise: --full`)];
  return wrap([...shown, ...rest].join(` ${glyphs.dot} `), width);
}

function span({ firstStart, lastEnd }: ArrayFacts, screen: Screen): string {
  const first = parseTime(firstStart);
  return first === null ? '' : formatSpan(first, parseTime(lastEnd), screen);
}

/** How many tasks ran into the limit, and what the others needed: perhaps only a few need a larger request. */
function renderStopped({ tasks, stopped, mostOfOthers }: ArrayFacts, screen: Screen): string[] {
  if (stopped === 0 || stopped === tasks) return [];
  const about = mostOfOthers !== null && mostOfOthers.need?.bytes !== mostOfOthers.bytes ? '~' : '';
  const others =
    mostOfOthers === null
      ? ''
      : `; highest observed peak of the others: ${about}${formatBytes(mostOfOthers.bytes, 'up')}`;
  const words = `${formatCount(stopped)} of ${formatCount(tasks)} tasks hit their limit${others}.`;
  return wrap(words, screen.width - 4).map((line) => screen.style.faint(`    ${line}`));
}

/** The request that would have been enough for 99 % of many tasks: the rest can be submitted with a larger one. */
function renderMost(needs: ArrayNeeds, screen: Screen): string[] {
  const most = needs.most();
  return most === null ? [] : [screen.style.faint(`    ${most} would have been enough for 99 % of the tasks.`)];
}

/** Bad ends of other kinds than the worst task's: of each kind the lines on one example, and how many are like it. */
function renderOtherEnds(bad: readonly BadTask[], worst: JobRecord, screen: Screen): readonly string[][] {
  const shown = bad.find(({ task }) => task === worst.task_id)?.why.causes.join();
  const kinds = [...groupBy(bad, ({ why }) => why.causes.join())].filter(([causes]) => causes !== shown);
  const room = screen.width - SECTION_INDENT;
  return kinds
    .sort(([, a], [, b]) => b.length - a.length)
    .slice(0, KINDS)
    .flatMap(([, [first, ...others]]) => {
      if (first === undefined) return [];
      const like = others.length === 0 ? '' : ` and ${formatCount(others.length)} others like it`;
      return [wrap(`task ${first.task ?? ''}${like}: ${first.why.sentence}`, room)];
    });
}

/** The tasks of an array. */
interface ArrayTasks {
  /** The latest run of each task, in the order of the tasks. */
  readonly tasks: Iterable<RunRecords>;
  /** How many earlier runs its tasks had. */
  readonly reruns: number;
  /** The prediction from past runs of the same kind. */
  readonly prediction: Prediction | null;
  /** Counts the classes of the tasks while they are read; null: they are not classified. */
  readonly classes: ClassCounts | null;
}

/** An array's tasks added up, with those that are shown individually. */
interface AddedArray extends Omit<ArrayTasks, 'tasks' | 'classes'> {
  readonly classes: readonly ClassCount[];
  readonly facts: ArrayFacts;
  /** The task nearest to its limit. */
  readonly worst: RunRecords;
  /** The tasks to list; null: no list. */
  readonly listed: readonly RunRecords[] | null;
}

/** null: there are no tasks. */
export function addArray(
  { tasks, reruns, prediction, classes: counts }: ArrayTasks,
  { detail, dialect, tasks: choice, allTasks }: JobViewOptions,
  screen: Screen,
): AddedArray | null {
  const full = detail === 'full';
  const listing = choice ?? (allTasks ? {} : full ? { limit: LISTED_UNASKED } : null);
  const chosen = listing === null ? null : new ChosenTasks<RunRecords>(listing);
  const facts = new ArrayFacts(chosen?.adding(tasks) ?? tasks, { full, words: wordsOf(screen), dialect, counts });
  const isTooLong = choice === undefined && !allTasks && facts.tasks > LISTED_UNASKED;
  const listed = isTooLong ? null : (chosen?.list() ?? null);
  if (facts.worst === null) return null;
  return { reruns, prediction, classes: counts?.found() ?? [], facts, worst: facts.worst.whole.records, listed };
}

/** The tasks of an array from all of its runs. */
function arrayOf(runs: readonly JobRun[], judges: Judges | undefined): ArrayTasks {
  const latest = [...groupBy(runs, ({ record }) => record.task_id).values()]
    .map(latestRuns)
    .sort(([a], [b]) => (a?.record.task_id ?? 0) - (b?.record.task_id ?? 0));
  const tasks = latest.map(recordsOf).filter(isRun);
  return {
    tasks,
    reruns: runs.length - tasks.reduce((sum, { length }) => sum + length, 0),
    prediction: predictionOf(runs),
    classes: judges === undefined ? null : new ClassCounts(judges),
  };
}

/** The screen of an array job: the task nearest to its limit, a request that fits all, the spread, the tasks. */
export function renderArray(
  runs: readonly JobRun[],
  options: JobViewOptions,
  screen: Screen,
  { judges, mostLines }: { readonly judges: Judges | undefined; readonly mostLines: number },
): string[] {
  const added = addArray(arrayOf(runs, judges), options, screen);
  return added === null ? [] : renderAdded(added, options, screen, mostLines);
}

/** "median 0:06:41, most 0:08:20 (task 200)" */
function spreadText({ spreads }: ArrayFacts, names: readonly string[]): string {
  const row = names.flatMap((name) => spreads.find(({ measure }) => measure.name === name)?.row() ?? []);
  const [name, , middle, most, task] = row;
  const sum = name === COUNTED_OVER_HOSTS ? `, ${SUM_OVER_HOSTS}` : '';
  return most === undefined ? 'unknown' : `median ${middle ?? ''}, most ${most} (task ${task ?? ''})${sum}`;
}

/** Six lines, like those of a single job. */
function renderBriefArray({ facts, worst, prediction }: AddedArray, screen: Screen): string[] {
  const [record] = worst;
  const { decisive } = facts.needs;
  const whys = facts.bad.map(({ why }) => why);
  const fits = adviseRequest(decisive, prediction)?.kind === 'keep';
  const hosts = facts.hosts.size;
  const place = hosts === 1 ? screen.safe(record.host) : `${formatCount(hosts)} hosts`;
  const name = record.job_name === null ? '' : ` ${screen.safe(record.job_name)}`;
  const owner = record.owner === null ? '' : ` (${screen.safe(record.owner)})`;
  return [
    ...[
      `Job: ${jobName(record)}${name}${owner}, ${formatCount(facts.tasks)} tasks on ${place}`,
      `State: ${renderEndings(facts, MOST_ENDINGS, Infinity, screen).join('')}`,
      `Elapsed: ${spreadText(facts, ['ran'])}`,
      `CPU: ${spreadText(facts, ['CPU over slots'])}`,
      `Memory: ${spreadText(facts, [PEAK_MEMORY, COUNTED_MEMORY, COUNTED_OVER_HOSTS])}`,
    ].map((line) => truncate(line, screen.width, screen.glyphs.ellipsis)),
    `Next time: ${nextTime(decisive, whys, prediction)?.line ?? (fits ? 'no change' : 'unknown')}`,
  ];
}

/** ", ~106 MiB of 2 GiB by Grid Engine (maxvmem)"; '' for a task whose peak was measured. */
function countedOfLimit({ counted, record, whole }: Task): string {
  if (counted === null) return '';
  const limit = limitOf(counted.isSum ? whole.total : record);
  const ofLimit = limit === null ? '' : ` of ${formatRequested(limit)}`;
  return `, ${countedText(counted)}${ofLimit} by Grid Engine (maxvmem)`;
}

function renderListed(listed: readonly RunRecords[], room: number, screen: Screen): string[] {
  const tasks = listed.map(taskOf);
  const rows = tasks.map(({ record, counted }) => ({
    ...asRun(record),
    counted: counted?.bytes ?? null,
  }));
  const sums = tasks.some(({ counted }) => counted?.isSum === true) ? [`~: maxvmem, ${SUM_OVER_HOSTS}`] : [];
  return [...renderRunTable(TASK_COLUMNS, rows, room, screen), ...sums.map(screen.style.faint)];
}

/** The shortest table of spreads. */
const SHORT_SPREADS: ReadonlySet<string> = new Set([PEAK_MEMORY, COUNTED_MEMORY, 'ran']);

/**
 * The screen of an array whose tasks are already added up: without a list of tasks and `--full` on `mostLines` lines.
 */
export function renderAdded(
  added: AddedArray,
  { detail }: JobViewOptions,
  screen: Screen,
  mostLines: number,
): string[] {
  if (detail === 'brief') return renderBriefArray(added, screen);
  const { facts, worst: worstRecords, listed, reruns, prediction, classes } = added;
  const { style, glyphs } = screen;
  const full = detail === 'full';
  const worstTask = taskOf(worstRecords);
  const { record: worst, whole } = worstTask;
  const { bad, needs } = facts;
  const next = nextTime(
    needs.decisive,
    bad.map(({ why }) => why),
    prediction,
  );
  const own = bad.find(({ task }) => task === worst.task_id)?.why ?? null;
  const name = worst.job_name === null ? '' : `  ${screen.safe(worst.job_name)}`;
  const owner = worst.owner === null ? '' : screen.safe(worst.owner);
  const hosts = facts.hosts.size;
  const place = hosts === 1 ? describePlace(worst, screen) : [owner, `${hosts} hosts`].filter((part) => part !== '');
  const section = (title: string, lines: readonly string[]): string[] => blank(renderSection(title, lines, screen));
  const below = (title: string, lines: readonly string[]): string[] =>
    full ? section(title, lines) : renderSection(title, lines, screen);
  const continued = (lines: readonly string[]): string[] => renderSection('', lines, screen);
  const room = screen.width - SECTION_INDENT;
  const worstLine = `worst: task ${worst.task_id ?? ''}${hosts === 1 ? '' : ` on ${screen.safe(worst.host)}`}${countedOfLimit(worstTask)}`;
  const single = style.title(`qmemacct job ${jobTaskName(worst)}`);
  const more = full ? ['--tasks'] : ['--full', '--tasks'];
  const counted = renderClassCounts(classes, room, screen);
  const fewSpreads = facts.spreads.filter(({ measure }) => SHORT_SPREADS.has(measure.name));

  const parts = [
    {
      lines: [
        spread(`Job ${jobName(worst)}${name}`, `${formatCount(facts.tasks)} tasks`, screen, style.title, style.title),
        spread(place.join(` ${glyphs.dot} `), span(facts, screen), screen, (text) => text, style.faint),
        '',
        ...(facts.knowsWorst
          ? [
              ...renderGauges(jobGauges(whole, screen), screen),
              ...wrap(worstLine, screen.width - 2).map((line) => style.faint(`  ${line}`)),
            ]
          : []),
      ],
    },
    renderVerdict(whole.fullest, needs.decisive, next, screen, own),
    { lines: renderStopped(facts, screen), short: [] },
    { lines: renderMost(needs, screen), short: [] },
    { lines: full ? section('Requested', renderRequests(whole, screen)) : [] },
    {
      lines: section('Tasks', renderSpreads(facts.spreads, screen)),
      short: section('Tasks', renderSpreads(fewSpreads, screen)),
    },
    { lines: below('Ended', renderEndings(facts, full ? Infinity : MOST_ENDINGS, room, screen)) },
    ...renderOtherEnds(bad, worst, screen).map((lines) => ({ lines: continued(lines), short: [] })),
    {
      lines: continued(
        reruns > 0 ? [plural(reruns, 'earlier run of a re-run task', 'earlier runs of re-run tasks')] : [],
      ),
    },
    { lines: below('Classes', full ? counted.lines : counted.short), short: [] },
    { lines: section('', listed === null ? [] : renderListed(listed, room, screen)) },
    {
      lines: renderSubmitted(facts.submitCommand, screen.width - 2, screen).map((line) => style.faint(`  ${line}`)),
      short: [],
    },
    { lines: listed === null ? [`  More: ${more.map(style.title).join(', ')}; a task: ${single}`] : [] },
  ];
  return fitLines(parts, full || listed !== null ? Infinity : mostLines);
}
