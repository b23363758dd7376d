import { shareOf } from '../../record/peak-figure';
import type { JobRecord } from '../../record/record';
import { limitOf } from '../../record/request';
import { adviseRequest } from '../advice/advice';
import { nextTime, type NextTime } from '../advice/next-time';
import { renderConsumption, renderRequests } from './usage';
import { hitLimit } from './ending';
import { renderGauges, type Gauge } from '../screen/gauge';
import { cpuGauges, endingTone, memoryGauges, renderVerdict } from './headline';
import { renderGridEngine, wholeAccount } from './grid-engine';
import { renderHostTable } from './host-table';
import { type JobViewOptions, latestRuns, promiseOf, recordsOf, type JobRun } from './job-run';
import { wholeOf, type JobWhole } from './job-whole';
import { renderMemoryChart } from '../screen/memory-chart';
import { renderPeaks } from './peaks';
import { blank, renderEnding, renderWarning, RUNS_COLUMNS, statusText } from './run';
import { renderRunTable } from './run-table';
import type { Screen } from '../screen/screen';
import { renderSection, SECTION_INDENT, wrap } from '../screen/layout';
import { describeSpan, jobLabel, renderSubmission, spread } from './title';
import { growingHost, renderTrend } from './running';
import { renderTrust } from './data-quality';
import { formatBytes, formatCount, formatPercent, formatRequested, plural } from '../format/units';
import { renderClasses } from '../rules/class-lines';
import { whyEnded, type Why } from '../why/why';
import { wordsOf } from '../why/words';

const TASK_COLUMNS = ['host', 'peTask', 'slots', 'limit', 'peak', 'memory', 'cpu', 'ran', 'ending'] as const;

/** Who, on how many hosts, with how many slots. */
export function describeHosts({ sum, total }: JobWhole, screen: Screen): readonly string[] {
  const place = [
    total.owner === null ? '' : screen.safe(total.owner),
    plural(sum.hosts.length, 'host'),
    sum.slots === null
      ? ''
      : `${sum.slots} slot${sum.slots === 1 ? '' : 's'}` + (total.pe === null ? '' : ` (${screen.safe(total.pe)})`),
    total.project === null || total.project === 'NONE' ? '' : `project ${screen.safe(total.project)}`,
  ];
  return place.filter((part) => part !== '');
}

/** As renderTitle, of all hosts. */
export function renderParallelTitle(whole: JobWhole, screen: Screen): string[] {
  const { total } = whole;
  const { style, glyphs } = screen;
  const name = total.job_name === null ? '' : `  ${screen.safe(total.job_name)}`;
  return [
    spread(
      `Job ${jobLabel(total, screen)}${name}`,
      statusText(total, screen),
      screen,
      style.title,
      style[endingTone(total)],
    ),
    spread(
      describeHosts(whole, screen).join(` ${glyphs.dot} `),
      describeSpan(total, screen),
      screen,
      (text) => text,
      style.faint,
    ),
  ];
}

/** The bars of a parallel job: the memory of its fullest host over the limit there, all CPU over all slots. */
export function wholeGauges({ sum, total, memoryHost, fullest }: JobWhole, screen: Screen): Gauge[] {
  const on = (record: JobRecord): string => (sum.hosts.length < 2 ? '' : ` on ${screen.safe(record.host)}`);
  const named = (record: JobRecord, name: string): Gauge[] =>
    memoryGauges(record, screen)
      .filter((gauge) => gauge.name === name)
      .map((gauge) => ({ ...gauge, amount: `${gauge.amount}${on(record)}` }));
  return [...named(memoryHost, 'Memory'), ...named(fullest, 'Address space'), ...cpuGauges(total)];
}

/** "all 4 hosts at one time: about 31.2 GiB of 64 GiB (49 %), by their samples" */
function renderTogether({ sum, hosts }: JobWhole, screen: Screen): string[] {
  const { together_rss_bytes: held } = sum;
  if (hosts.length < 2 || held === null) return [];
  const limits = hosts.map(limitOf);
  const limit = limits.includes(null) ? null : limits.reduce<number>((all, one) => all + (one ?? 0), 0);
  const share = shareOf(held, limit);
  const of = limit === null || share === null ? '' : ` of ${formatRequested(limit)} (${formatPercent(share)})`;
  const all = hosts.length === 2 ? 'both hosts' : `all ${formatCount(hosts.length)} hosts`;
  const seen = hosts.length === sum.hosts.length ? all : `the ${formatCount(hosts.length)} hosts seen`;
  const words = `${seen} at one time: about ${formatBytes(held)}${of}, by their samples`;
  return wrap(words, screen.width - 2).map((line) => screen.style.faint(`  ${line}`));
}

/** "2 of 4 hosts were not sampled"; null: all of it was. */
function notSampled({ sum, parts }: JobWhole): string | null {
  const bare = parts.filter((records) => records.every(({ peak_rss: peak }) => peak === null)).length;
  const hosts = sum.hosts.filter(({ seen }) => !seen).length + bare;
  const partly = parts.filter((records) => records.some(({ peak_rss: peak }) => peak !== null));
  const tasks = sum.unseen_tasks + partly.flat().filter(({ peak_rss: peak }) => peak === null).length;
  const missing = hosts > 0 ? hosts : tasks;
  if (missing === 0) return null;
  const what = hosts > 0 ? `${formatCount(hosts)} of ${plural(sum.hosts.length, 'host')}` : plural(tasks, 'task');
  return `${what} ${missing === 1 ? 'was' : 'were'} not sampled`;
}

/**
 * What was not sampled may have needed more: then nothing is said of what to ask for, unless the job was killed for it or
 * what is known already needs more.
 */
export function renderWholeFit(whole: JobWhole, next: NextTime | null, screen: Screen, why: Why | null): string[] {
  const { fullest, needs } = whole;
  const missing = notSampled(whole);
  if (missing === null || hitLimit(fullest) || why !== null || adviseRequest(needs)?.kind === 'raise')
    return renderVerdict(fullest, needs, next, screen, why);
  if (fullest.status !== 'finished') return [];
  const words = `${missing}: what the job needs is unknown.`;
  return ['', ...wrap(words, screen.width - 2).map((line) => `  ${screen.style.warning(line)}`)];
}

function trustWords({ sum }: JobWhole, records: readonly JobRecord[], room: number): string[] {
  const hosts = sum.hosts.filter(({ seen }) => seen).length;
  const tasks = sum.unseen_tasks;
  const words = [
    `the sums are over ${plural(records.length, 'record')} of ${plural(hosts, 'host')}; a task that left no trace is not in them`,
    ...(tasks > 0 ? [`${plural(tasks, 'task')} with a lower number than a recorded one left no record`] : []),
  ];
  return words.flatMap((one) => wrap(one, room - 2).map((line, index) => (index === 0 ? line : `  ${line}`)));
}

/** One screen on a parallel job: all its hosts as one, then each of them; its earlier runs. */
export function renderParallel(runs: readonly JobRun[], options: JobViewOptions, screen: Screen): string[] {
  const latest = latestRuns(runs);
  const [first, ...others] = recordsOf(latest);
  if (first === undefined) return [];
  const records = [first, ...others] as const;
  const whole = wholeOf(records, latest[0]?.attempt ?? 1);
  const { sum, total, fullest } = whole;
  const why = whyEnded(records, wordsOf(screen), options.dialect);
  const growing = whole.hosts.map((host, index) => growingHost(host.host, whole.parts[index] ?? [], limitOf(host)));
  const room = screen.width - SECTION_INDENT;
  const section = (name: string, lines: readonly string[]): string[] => blank(renderSection(name, lines, screen));
  const where = `on ${plural(sum.hosts.length, 'host')}`;
  const mastersOnly = runs.filter(({ record }) => record.pe_task_id === null);
  const earlier = options.allTasks || mastersOnly.length === 0 ? runs : mastersOnly;
  return [
    ...renderParallelTitle(whole, screen),
    ...blank([...renderWarning(total, screen), ...renderTrend(total, growing, screen)]),
    ...blank([
      ...renderGauges(wholeGauges(whole, screen), screen),
      ...renderTogether(whole, screen),
      ...renderWholeFit(whole, nextTime(whole.needs, [why], promiseOf(latest)), screen, why),
    ]),
    ...section('Requested', [
      ...renderRequests({ ...total, host_slots: total.slots }, screen, where),
      ...renderSubmission(records, room, screen),
    ]),
    // Each host knows its own limit only: they stand in their table.
    ...section('Peaks', renderPeaks(total, room, screen, false)),
    ...section('Hosts', renderHostTable(sum, options.allHosts ?? options.allTasks, room, screen)),
    ...section('Tasks', options.allTasks ? renderRunTable(TASK_COLUMNS, latest, room, screen) : []),
    ...section('Used', renderConsumption(total, screen)),
    ...section(
      'qacct',
      renderGridEngine({ ...total, grid_engine: wholeAccount(records) }, room, screen, options.dialect),
    ),
    ...section('Ended', renderEnding(fullest, why, room, screen)),
    ...section('Classes', renderClasses(latest[0]?.classes ?? null, room, screen)),
    ...section('Quality', [...trustWords(whole, records, room), ...renderTrust(total, room, screen)]),
    ...section('Memory', renderMemoryChart({ ...total, peak_process_vmem: null }, room, screen)),
    ...(latest.length === runs.length ? [] : section('Runs', renderRunTable(RUNS_COLUMNS, earlier, room, screen))),
  ];
}
