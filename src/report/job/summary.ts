import { isParallel } from '../../accounting/job-sum';
import { categoryRequests, requestedSeconds } from '../../gridengine/category-requests';
import type { Dialect } from '../../gridengine/dialect';
import { countedByExecd } from '../../record/cause';
import { queueWait } from '../../record/efficiency';
import { shareOfLimit } from '../../record/peak-figure';
import type { Bracket, JobRecord, Trust } from '../../record/record';
import { limitOf } from '../../record/request';
import { nextTime } from '../advice/next-time';
import { bracketStanding, formatPeak } from '../format/bracket';
import { formatBytes, formatCount, formatDuration, formatPercent, formatRequested } from '../format/units';
import { renderChart } from '../screen/chart';
import { renderBar, shareTone } from '../screen/gauge';
import { wrap } from '../screen/layout';
import type { Screen, Tone } from '../screen/screen';
import { renderTable } from '../screen/table';
import { truncate } from '../screen/text-width';
import type { Classes } from '../rules/judge';
import { renderWorstClass } from '../rules/class-lines';
import { whyEnded, type Why } from '../why/why';
import { wordsOf } from '../why/words';
import { cpuGauges, renderVerdict, sizedByAddressSpace } from './headline';
import { latestRuns, promiseOf, recordsOf, type JobRun } from './job-run';
import { wholeOf } from './job-whole';
import { renderParallelTitle, renderWholeFit } from './parallel';
import { blank, renderTitle, renderWarning, statusText } from './run';
import { growingHost, growingJob, renderTrend } from './running';
import { jobLabel, renderSubmission } from './title';

const CHART_ROWS = 4;
const BAR_WIDTH = 16;

/** One run of a job, on one host or on several, as the short screens show it. */
interface Subject {
  readonly title: readonly string[];
  /** Sums over all hosts. */
  readonly total: JobRecord;
  /** The record whose memory is closest to its limit. */
  readonly memory: JobRecord;
  /** "on node07" where there are several hosts. */
  readonly where: string;
  readonly why: Why | null;
  readonly verdict: readonly string[];
  readonly next: string | null;
  readonly trend: readonly string[];
  readonly classes: Classes | null;
}

function subjectOf(latest: readonly JobRun[], screen: Screen, dialect: Dialect): Subject | null {
  const [first, ...others] = recordsOf(latest);
  if (first === undefined) return null;
  const records = [first, ...others] as const;
  const why = whyEnded(records, wordsOf(screen), dialect);
  const promise = promiseOf(latest);
  const classes = latest[0]?.classes ?? null;
  if (!isParallel(records)) {
    const next = nextTime(records, [why], promise);
    return {
      title: renderTitle(first, screen),
      total: first,
      memory: first,
      where: '',
      why,
      verdict: renderVerdict(first, records, next, screen, why),
      next: next?.line ?? null,
      trend: renderTrend(first, [growingJob(first)], screen),
      classes,
    };
  }
  const whole = wholeOf(records, latest[0]?.attempt ?? 1);
  const next = nextTime(whole.needs, [why], promise);
  const growing = whole.hosts.map((host, index) => growingHost(host.host, whole.parts[index] ?? [], limitOf(host)));
  return {
    title: renderParallelTitle(whole, screen),
    total: whole.total,
    memory: whole.memoryHost,
    where: whole.sum.hosts.length < 2 ? '' : ` on ${screen.safe(whole.memoryHost.host)}`,
    why,
    verdict: renderWholeFit(whole, next, screen, why),
    next: next?.line ?? null,
    trend: renderTrend(whole.total, growing, screen),
    classes,
  };
}

type MeasuredOf = Pick<Subject, 'total' | 'memory' | 'where'>;

/** A line of requested against used; `share` null: not known. */
interface Measured {
  readonly name: string;
  readonly requested: string;
  readonly used: string;
  readonly share: number | null;
  readonly tone: Tone;
}

/** Grid Engine's own figure, where no peak was measured. */
function countedText(record: JobRecord): string {
  const counted = countedByExecd(record);
  return counted === null ? 'unknown' : `~${formatBytes(counted)}`;
}

function memoryRow(name: string, bracket: Bracket | null, { memory, where }: MeasuredOf, screen: Screen): Measured {
  const limit = limitOf(memory);
  const share = bracket === null ? null : shareOfLimit(bracket, limit);
  return {
    name,
    requested: limit === null ? 'no limit' : `${formatRequested(limit)}${where}`,
    used: bracket === null ? countedText(memory) : formatPeak(bracket, screen.glyphs),
    share,
    tone: share === null ? 'good' : shareTone(share),
  };
}

/** Seconds of h_rt as the accounting line has it; null: none, or not known yet. */
function requestedTime({ grid_engine: account }: JobRecord): number | null {
  const category = account?.category ?? null;
  return category === null ? null : requestedSeconds(categoryRequests(category), 'h_rt');
}

/** Memory (and address space, where that decides), CPU and time: what was requested of each, and used. */
export function measuredRows(subject: MeasuredOf, screen: Screen): readonly Measured[] {
  const { total, memory } = subject;
  const [cpu] = cpuGauges(total);
  const slots = total.host_slots ?? total.slots ?? 1;
  const limit = requestedTime(total);
  const elapsed = total.wallclock_seconds;
  const time = limit === null || elapsed === null ? null : elapsed / limit;
  return [
    memoryRow('Memory', memory.peak_rss, subject, screen),
    ...(sizedByAddressSpace(memory) ? [memoryRow('Address space', memory.peak_process_vmem, subject, screen)] : []),
    {
      name: 'CPU',
      requested: `${slots} slot${slots === 1 ? '' : 's'}`,
      used: total.cpu_seconds === null ? 'unknown' : `${formatDuration(total.cpu_seconds)} CPU time`,
      share: cpu?.share ?? null,
      tone: cpu?.tone ?? 'good',
    },
    {
      name: 'Time',
      requested: limit === null ? '' : formatDuration(limit),
      used: elapsed === null ? 'unknown' : formatDuration(elapsed),
      share: time,
      tone: time === null || time < 1 ? 'good' : 'bad',
    },
  ];
}

function renderMeasured(subject: Subject, screen: Screen): string[] {
  const rows = measuredRows(subject, screen).map(({ name, requested, used, share, tone }) => [
    name,
    requested,
    used,
    share === null ? '' : screen.style[tone](formatPercent(share)),
    share === null ? '' : renderBar(share, BAR_WIDTH, screen, screen.style[tone]),
  ]);
  const columns = [
    { head: '' },
    { head: 'requested', align: 'right', shrinksTo: 10 },
    { head: 'used', align: 'right' },
    { head: 'efficiency', align: 'right' },
    { head: '', dispensable: 1 },
  ] as const;
  return renderTable(columns, rows, screen, screen.width - 2).map((line) => `  ${line}`.trimEnd());
}

const SOURCES: Readonly<Record<Trust, string>> = {
  root: 'root sampler',
  usage: "Grid Engine's usage, not sampled",
  accounting: "Grid Engine's accounting, not sampled",
  'self-reported': 'self-reported by the owner, unverified',
};

const STANDINGS: Readonly<Record<string, string>> = {
  exact: 'peak exact',
  proved: 'peak proved',
  estimated: 'peak estimated',
  'at least': 'peak is a lower bound',
  'up to the limit': 'peak is a lower bound',
};

/** "Data quality: root sampler, 5,029 samples, every 1 s; peak exact". */
function renderQuality({ total, memory }: Subject, screen: Screen): string[] {
  const samples = total.samples === null || total.samples === 0 ? '' : `, ${formatCount(total.samples)} samples`;
  const every = total.interval_seconds === null ? '' : `, every ${formatDuration(total.interval_seconds)}`;
  const standing = memory.peak_rss === null ? '' : `; ${STANDINGS[bracketStanding(memory.peak_rss)] ?? ''}`;
  const counted = memory.peak_rss === null && countedByExecd(memory) !== null ? '; ~: its maxvmem' : '';
  const words = `Data quality: ${SOURCES[total.trust]}${samples}${every}${standing}${counted}`;
  return wrap(words, screen.width - 2).map((line) => screen.style.faint(`  ${line}`));
}

function renderSmallChart({ total }: Subject, screen: Screen): string[] {
  if (total.series === null) return [];
  return renderChart(total.series, limitOf(total), screen.width - 2, screen, CHART_ROWS).map((line) => `  ${line}`);
}

/**
 * A job on a terminal of 24 lines, or `mostLines`: state, requested and used, cause and advice, memory over time, how it was submitted, data
 * quality. The submission gives way where the others need its room, then the chart.
 */
export function renderSummary(
  runs: readonly JobRun[],
  screen: Screen,
  dialect: Dialect = 'unknown',
  mostLines = 24,
): string[] {
  const latest = latestRuns(runs);
  const subject = subjectOf(latest, screen, dialect);
  if (subject === null) return [];
  const attempts = new Set(runs.map(({ attempt }) => attempt)).size;
  const wait = attempts > 1 ? null : queueWait(subject.total);
  const waited = wait === null ? '' : `Queue wait: ${formatDuration(wait)}. `;
  const again = attempts > 1 ? `Run ${attempts} times; this is the last run. ` : waited;
  const start = [
    ...subject.title,
    ...blank([...renderWarning(subject.total, screen), ...subject.trend]),
    ...blank(renderMeasured(subject, screen)),
    ...subject.verdict,
    ...renderWorstClass(subject.classes, subject.verdict.length > 0, screen),
  ];
  const end = [...renderQuality(subject, screen), screen.style.faint(`  ${again}More: --full, --json`)];
  const chart = blank(renderSmallChart(subject, screen));
  const submission = renderSubmission(recordsOf(latest), screen.width - 2, screen);
  const submitted = submission.map((line) => screen.style.faint(`  ${line}`));
  const room = mostLines - start.length - end.length;
  const choices = [
    [...chart, '', ...submitted],
    [...chart, ''],
    ['', ...submitted],
  ];
  return [...start, ...(choices.find(({ length }) => length <= room) ?? ['']), ...end];
}

/** Six lines, as seff has them. */
export function renderBrief(runs: readonly JobRun[], screen: Screen, dialect: Dialect = 'unknown'): string[] {
  const subject = subjectOf(latestRuns(runs), screen, dialect);
  if (subject === null) return [];
  const { total, why, next } = subject;
  const [memory, ...others] = measuredRows(subject, screen);
  const [cpu, time] = others.slice(-2);
  const line = (name: string, row: Measured | undefined): string => {
    const share = row?.share == null ? '' : `, ${formatPercent(row.share)} of ${row.requested}`;
    return `${name}: ${row?.used ?? 'unknown'}${share}`;
  };
  const cause = why === null ? '' : ` ${screen.glyphs.dash} ${why.sentence}`;
  const [state = ''] = wrap(`State: ${statusText(total, screen)}${cause}`, screen.width);
  return [
    truncate(
      `Job: ${jobLabel(total, screen)}${total.job_name === null ? '' : ` ${screen.safe(total.job_name)}`}${total.owner === null ? '' : ` (${screen.safe(total.owner)})`} on ${screen.safe(total.host)}`,
      screen.width,
      screen.glyphs.ellipsis,
    ),
    state,
    line('Elapsed', time),
    line('CPU', cpu),
    line('Memory', memory),
    `Next time: ${next ?? 'no change'}`,
  ];
}
