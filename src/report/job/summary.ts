import { categoryRequests, requestedSeconds } from '../../gridengine/category-requests';
import type { Dialect } from '../../gridengine/dialect';
import { countedByGridEngine, mayBeReservation } from '../../record/cause';
import { queueWait } from '../../record/efficiency';
import { measuredUpper, shareOfLimit } from '../../record/peak-figure';
import type { Bracket, JobRecord, Trust } from '../../record/record';
import { limitOf } from '../../record/request';
import { adviseRequest } from '../advice/advice';
import { bracketStanding, formatPeak } from '../format/bracket';
import { formatBytes, formatCount, formatDuration, formatPercent, formatRequested } from '../format/units';
import { renderChart } from '../screen/chart';
import { renderBar, shareTone } from '../screen/gauge';
import { blank, fitLines, wrap } from '../screen/layout';
import type { Screen, Tone } from '../screen/screen';
import { renderTable } from '../screen/table';
import { truncate } from '../screen/text-width';
import { renderWorstClass } from '../rules/class-lines';
import { countedOf, countedText } from './counted';
import { isSampledInPart, RESERVED } from './data-quality';
import { cpuGauges, sizedByAddressSpace } from './headline';
import { predictionOf, type JobRun } from './job-run';
import type { JobWhole } from './job-whole';
import { renderWholeFit } from './parallel';
import { latestRun, renderTitle, renderWarning, statusText } from './run';
import { renderTrend } from './running';
import { jobLabel, onHost, renderSubmission } from './title';
import { suspendedTime, unlimitedText } from './usage';

const CHART_ROWS = 4;
const BAR_WIDTH = 16;

/** A line of requested against used; `share` null: not known. */
interface Measured {
  readonly name: string;
  readonly requested: string;
  readonly used: string;
  readonly share: number | null;
  readonly tone: Tone;
}

/** The limit on the host whose memory is shown; the job's limit where the host's is unknown. */
function requestedText(whole: JobWhole, screen: Screen): string {
  const { memoryHost, total } = whole;
  const limit = limitOf(memoryHost);
  if (limit !== null) return `${formatRequested(limit)}${onHost(whole, memoryHost, screen)}`;
  const ofJob = limitOf(total);
  return ofJob === null ? unlimitedText(whole) : formatRequested(ofJob);
}

/** For a job without a measured peak: Grid Engine's own figure, or the most that its cgroup held. */
function unmeasuredText(whole: JobWhole): string {
  const counted = countedOf(whole);
  if (counted !== null) return countedText(counted);
  const { peak_footprint: ofGroup } = whole.memoryHost;
  const most = ofGroup === null ? null : measuredUpper(ofGroup);
  return most === null ? 'unknown' : `at most ${formatBytes(most, 'up')}`;
}

function memoryRow(name: string, bracket: Bracket | null, whole: JobWhole, screen: Screen): Measured {
  const share = bracket === null ? null : shareOfLimit(bracket, limitOf(whole.memoryHost));
  return {
    name,
    requested: requestedText(whole, screen),
    used: bracket === null ? unmeasuredText(whole) : formatPeak(bracket, screen.glyphs),
    share,
    tone: share === null ? 'good' : shareTone(share),
  };
}

/** Seconds of h_rt as the accounting line has it; null: none, or not known yet. */
function requestedTime({ grid_engine: account }: JobRecord): number | null {
  const category = account?.category ?? null;
  return category === null ? null : requestedSeconds(categoryRequests(category), 'h_rt');
}

/** Memory (and address space, where that decides the request), CPU and time: requested and used. */
export function measuredRows(whole: JobWhole, screen: Screen): readonly Measured[] {
  const { total, memoryHost } = whole;
  const [cpu] = cpuGauges(total);
  const slots = total.host_slots ?? total.slots ?? 1;
  const limit = requestedTime(total);
  const elapsed = total.wallclock_seconds;
  const suspended = suspendedTime(total);
  const time = limit === null || elapsed === null ? null : elapsed / limit;
  return [
    memoryRow('Memory', memoryHost.peak_rss, whole, screen),
    ...(sizedByAddressSpace(memoryHost)
      ? [memoryRow('Address space', memoryHost.peak_process_vmem, whole, screen)]
      : []),
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
    ...(suspended === null
      ? []
      : [{ name: 'Suspended', requested: '', used: suspended, share: null, tone: 'good' } as const]),
  ];
}

function renderMeasured(whole: JobWhole, screen: Screen): string[] {
  const rows = measuredRows(whole, screen).map(({ name, requested, used, share, tone }) => [
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
function renderQuality({ total, memoryHost, records }: JobWhole, screen: Screen): string[] {
  const { peak_rss: peak } = memoryHost;
  const samples = total.samples === null || total.samples === 0 ? '' : `, ${formatCount(total.samples)} samples`;
  const every = total.interval_seconds === null ? '' : `, every ${formatDuration(total.interval_seconds)}`;
  const standing = peak === null ? '' : `; ${STANDINGS[bracketStanding(peak)] ?? ''}`;
  const counted = peak === null && countedByGridEngine(memoryHost) !== null ? '; ~: its maxvmem' : '';
  const reserved = peak === null && records.some(mayBeReservation) ? `; ${RESERVED}` : '';
  const source = isSampledInPart(total) ? 'sampled in part' : SOURCES[total.trust];
  const words = `Data quality: ${source}${samples}${every}${standing}${counted}${reserved}`;
  return wrap(words, screen.width - 2).map((line) => screen.style.faint(`  ${line}`));
}

function renderSmallChart({ total }: JobWhole, screen: Screen): string[] {
  if (total.series === null) return [];
  return renderChart(total.series, limitOf(total), screen.width - 2, screen, CHART_ROWS).map((line) => `  ${line}`);
}

/**
 * A job on `mostLines` lines: state, requested and used, cause and advice, the worst class, memory over time, how it
 * was submitted, data quality. Where there is too little room the submission is left out first, then the chart.
 */
export function renderSummary(
  runs: readonly JobRun[],
  screen: Screen,
  dialect: Dialect | undefined,
  mostLines: number,
): string[] {
  const run = latestRun(runs, screen, dialect);
  if (run === null) return [];
  const { whole, why, next, classes, state } = run;
  const { total } = whole;
  const attempts = new Set(runs.map(({ attempt }) => attempt)).size;
  const wait = attempts > 1 ? null : queueWait(total);
  const waited = wait === null ? '' : `Queue wait: ${formatDuration(wait)}. `;
  const again = attempts > 1 ? `Run ${attempts} times; this is the last run. ` : waited;
  const verdict = renderWholeFit(whole, next, screen, why);
  const chart = renderSmallChart(whole, screen);
  const submission = renderSubmission(whole.records, screen.width - 2, screen);
  const worst = renderWorstClass(classes, verdict.lines.length > 0, screen);
  return fitLines(
    [
      { lines: renderTitle(whole, screen, state) },
      { lines: blank([...renderWarning(total, screen, state), ...renderTrend(whole, screen)]) },
      { lines: blank(renderMeasured(whole, screen)) },
      verdict,
      { lines: blank(worst.lines), short: blank(worst.short) },
      { lines: blank(chart), short: [] },
      { lines: [''] },
      { lines: submission.map((line) => screen.style.faint(`  ${line}`)), short: [] },
      { lines: [...renderQuality(whole, screen), screen.style.faint(`  ${again}More: --full, --json`)] },
    ],
    mostLines,
  );
}

/** Six lines, like those of Slurm's seff. */
export function renderBrief(runs: readonly JobRun[], screen: Screen, dialect: Dialect | undefined): string[] {
  const run = latestRun(runs, screen, dialect);
  if (run === null) return [];
  const { latest, whole, why, needs, next, state } = run;
  const { total } = whole;
  const fits = adviseRequest(needs, predictionOf(latest))?.kind === 'keep';
  const rows = measuredRows(whole, screen);
  const line = (name: string, measured = name): string => {
    const row = rows.find((one) => one.name === measured);
    const share = row?.share == null ? '' : `, ${formatPercent(row.share)} of ${row.requested}`;
    return `${name}: ${row?.used ?? 'unknown'}${share}`;
  };
  const cause = why === null ? '' : ` ${screen.glyphs.dash} ${why.sentence}`;
  return [
    truncate(
      `Job: ${jobLabel(total, screen)}${total.job_name === null ? '' : ` ${screen.safe(total.job_name)}`}${total.owner === null ? '' : ` (${screen.safe(total.owner)})`} on ${screen.safe(total.host)}`,
      screen.width,
      screen.glyphs.ellipsis,
    ),
    truncate(`State: ${statusText(total, screen, state)}${cause}`, screen.width, screen.glyphs.ellipsis),
    line('Elapsed', 'Time'),
    line('CPU'),
    line('Memory'),
    `Next time: ${next?.line ?? (fits ? 'no change' : 'unknown')}`,
  ];
}
