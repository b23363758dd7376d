import { RAISE } from '../../advice/job-class';
import { cpuEfficiency } from '../../record/efficiency';
import { figureOf, measuredUpper, shareOfLimit } from '../../record/peak-figure';
import type { Bracket, JobRecord } from '../../record/record';
import { limitOf } from '../../record/request';
import type { Prediction } from '../advice/class-advice';
import { hasUnknownPart, HEADROOM, SMALLEST, type Advice } from '../advice/advice';
import { formatHeld, formatPeak } from '../format/bracket';
import { endingSignal, endUnknown, succeeded } from './ending';
import { fitOf, needOf, type Fit } from '../advice/fit';
import type { JobWhole } from './job-whole';
import { shareTone, type Gauge } from '../screen/gauge';
import type { NextTime } from '../advice/next-time';
import type { Screen, Tone } from '../screen/screen';
import { formatBytes, formatCount, formatPercent, formatRequested } from '../format/units';
import { askedFor } from '../why/bad-end';
import type { Cause } from '../why/hypothesis';
import type { Why } from '../why/why';
import { blank, wrap, type Part } from '../screen/layout';
import { truncate } from '../screen/text-width';
import { onHost } from './title';

/** Address space gets a bar of its own where it is more than this many times the memory in use. */
const REMARKABLE = 1.25;

/** Whether address space, not memory in use, decides what the request must be. */
export function sizedByAddressSpace(record: JobRecord): boolean {
  const need = needOf(record);
  const used = record.peak_rss_swap ?? record.peak_rss;
  return need?.quantity === 'peak_process_vmem' && (used === null || need.bytes > figureOf(used) * REMARKABLE);
}

/** CPU time over elapsed time and slots. */
export function cpuGauges(record: JobRecord): Gauge[] {
  const slots = record.host_slots ?? record.slots ?? 1;
  const share = cpuEfficiency(record);
  if (share === null) return [];
  return [
    {
      name: 'CPU',
      share,
      amount: `${(share * slots).toFixed(slots < 10 ? 2 : 1)} of ${slots} slot${slots === 1 ? '' : 's'}`,
      tone: share > 1.1 ? 'bad' : shareTone(Math.min(share, 0.8)),
    },
  ];
}

/**
 * The bars: memory (and address space, where that decides the request) of the host nearest to its limit, and CPU of all
 * hosts over all slots.
 */
export function jobGauges(whole: JobWhole, screen: Screen): Gauge[] {
  const { total, memoryHost, fullest } = whole;
  const memory = (name: string, record: JobRecord, bracket: Bracket | null): Gauge[] => {
    if (bracket === null) return [];
    const limit = limitOf(record);
    const share = shareOfLimit(bracket, limit);
    const peak = formatPeak(bracket, screen.glyphs);
    const of = limit === null ? ', no limit' : ` of ${formatRequested(limit)}`;
    const amount = `${peak}${of}${onHost(whole, record, screen)}`;
    return [{ name, share, amount, tone: share === null ? 'good' : shareTone(share) }];
  };
  return [
    ...memory('Memory', memoryHost, memoryHost.peak_rss),
    ...(sizedByAddressSpace(fullest) ? memory('Address space', fullest, fullest.peak_process_vmem) : []),
    ...cpuGauges(total),
  ];
}

/** "8 times the memory it needed"; without an upper bound "8 times its observed peak". */
function asMuch({ excess, bounded }: Advice): string {
  const ratio = excess ?? 1;
  return ratio >= 2.5
    ? `${formatCount(ratio)} times ${bounded ? 'the memory it needed' : 'its observed peak'}`
    : `more memory than ${bounded ? 'it needed' : 'its observed peak'}`;
}

/** Causes that are not about the job's own run: the verdict then says nothing on what a full run needs. */
const NOT_OF_ITS_RUN: ReadonlySet<Cause> = new Set<Cause>(['never-ran', 'failed-afterwards', 'rescheduled']);

function whyWords(why: Why, next: NextTime | null): readonly [Tone, string] {
  const isComplete = next !== null || why.causes.some((cause) => NOT_OF_ITS_RUN.has(cause));
  return [
    why.confidence === 'unknown' ? 'warning' : 'bad',
    isComplete ? why.sentence : `${why.sentence} What a full run needs is unknown.`,
  ];
}

/** How close a run came to its limit. */
const CLOSENESS: Readonly<Partial<Record<Fit, readonly [Tone, string]>>> = {
  above: ['bad', 'It used more than it requested.'],
  close: ['warning', 'It came close to its limit.'],
  'perhaps-close': ['warning', 'It may have come close to its limit.'],
};

/** Why a run should request more although its own figures did not come close to its limit. */
const raiseWords = (byOthers: boolean): string =>
  byOthers
    ? 'Another run of its kind needed nearly all of this request, or more.'
    : "By Grid Engine's figure it came close to its limit.";

/** Why a run, or the tasks of an array, should request more; `byOthers`: the advice rests on past runs of its kind. */
export function raiseReason(records: readonly JobRecord[], byOthers: boolean): string {
  const fits = new Set(records.map(fitOf));
  const closest = (['above', 'close', 'perhaps-close'] as const).find((fit) => fits.has(fit));
  return (closest && CLOSENESS[closest]?.[1]) ?? raiseWords(byOthers);
}

/** For a job with hosts or tasks that were not sampled. */
export const NOT_WHOLE = 'Not all of its hosts and tasks were sampled: what it needs is unknown.';

/** Whether the job has its limit from the complex's default or from its queue, as Grid Engine's line shows. */
function isByDefault({ grid_engine: account }: JobRecord, complex: string): boolean {
  const asked = account === null ? null : askedFor([account]);
  return asked !== null && !asked.some(({ name }) => name === complex);
}

function verdictOf(
  record: JobRecord,
  advice: Advice | null,
  records: readonly JobRecord[],
): readonly [Tone, string] | null {
  const fit: Fit = fitOf(record);
  if (succeeded(record) === false) return ['warning', 'It failed: what a full run needs is unknown.'];
  if (fit === 'unknown' || fit === 'no-limit') return null;
  if (advice?.kind === 'lower')
    return [
      'warning',
      isByDefault(record, advice.complex)
        ? `It requested no ${advice.complex}: the default is ${asMuch(advice)}.`
        : `It requested ${asMuch(advice)}.`,
    ];
  const close = CLOSENESS[fit];
  if (close !== undefined) return close;
  if (advice?.kind === 'raise') return ['warning', raiseWords(!advice.counted && advice.prediction !== null)];
  return hasUnknownPart(records) ? ['warning', NOT_WHOLE] : ['good', 'The request fits.'];
}

/** "the peak (1.53 GiB)", "the peak (1.62 GiB at most)": what the advice rests on. */
function needWords({ counted, need }: Advice): string {
  if (counted) return `what Grid Engine counted (${formatBytes(need.bytes)})`;
  const what = need.quantity === 'peak_process_vmem' ? 'the largest address space' : 'the peak';
  const { bytes, bracket } = need;
  const atMost = bracket !== null && measuredUpper(bracket) !== null && !bracket.exact;
  if (atMost) return `${what} (${formatBytes(bytes, 'up')} at most)`;
  return `${what} (${formatHeld(bracket === null ? bytes : figureOf(bracket))})`;
}

function adviceReason(advice: Advice, records: readonly JobRecord[], screen: Screen): string {
  if (advice.prediction !== null) return predictionWords(advice.prediction, advice);
  if (advice.stoppedAt !== null)
    return `${RAISE} ${screen.glyphs.times} the limit; the refused amount is not recorded, so double it if that is too little`;
  const isLeast = advice.totalBytes <= SMALLEST * advice.slots;
  const least = isLeast ? `; ${formatBytes(SMALLEST)} is the smallest request advised` : '';
  const earlier = records.some(({ started_at: start }) => start === advice.record.started_at)
    ? ''
    : ' of an earlier run';
  return `${needWords(advice)}${earlier} and ${formatPercent(HEADROOM - 1)} headroom${least}`;
}

/** "a risk of 1.0 % by 42 runs of its kind, of which the largest needed 1.98 GiB". */
function predictionWords({ risk, runs, largest, stoppedAt }: Prediction, { slots, counted }: Advice): string {
  const most =
    stoppedAt === null
      ? `needed ${counted ? '~' : ''}${formatBytes(largest, 'up')}`
      : `was stopped at ${formatRequested(stoppedAt)}`;
  return `a risk of ${formatPercent(risk ?? 1)} by ${formatCount(runs)} runs of its kind, of which the largest ${most}${slots > 1 ? ' per slot' : ''}`;
}

const OPEN_BOUND = '; that figure is a lower bound: leave more if runs differ';

/** What the advice rests on, and what that leaves open. `records`: those of the run that is shown. */
export function memoryReason(advice: Advice, records: readonly JobRecord[], screen: Screen): string {
  const { guess, stoppedAt, bounded, prediction } = advice;
  const isWhole = stoppedAt !== null || (bounded && !guess) || prediction !== null;
  const open = isWhole ? '' : guess ? '; it was stopped and may need more' : OPEN_BOUND;
  return `${adviceReason(advice, records, screen)}${open}`;
}

function withTotal(advice: Advice, records: readonly JobRecord[], screen: Screen): string {
  const { slots, totalBytes } = advice;
  const total = slots > 1 ? `${screen.glyphs.times} ${slots} slots = ${formatBytes(totalBytes)}: ` : '';
  return `${total}${memoryReason(advice, records, screen)}`;
}

function renderNext(next: NextTime, records: readonly JobRecord[], screen: Screen): string[] {
  const { style, glyphs } = screen;
  const reasons = [...(next.memory === null ? [] : [withTotal(next.memory, records, screen)]), ...next.reasons];
  return [
    `  ${style.accent(glyphs.advice)} Next time: ${style.title(next.line)}`,
    ...reasons.flatMap((reason) => wrap(reason, screen.width - 4).map((line) => style.faint(`    ${line}`))),
  ];
}

/** At most this many lines of a verdict, where there is no room for all. */
const SHORT_VERDICT = 3;
const SEE_FULL = '(--full)';

function cutVerdict(lines: readonly string[], width: number, { glyphs }: Screen): readonly string[] {
  const last = lines[SHORT_VERDICT - 1];
  if (last === undefined || lines.length === SHORT_VERDICT) return lines;
  const cut = truncate(`${last} ${SEE_FULL}`, width - SEE_FULL.length - 1, glyphs.ellipsis);
  return [...lines.slice(0, SHORT_VERDICT - 1), `${cut} ${SEE_FULL}`];
}

/**
 * The verdict on the request, or why the job ended badly, and what to request next time (`next`). `records`: those of
 * all hosts and tasks. In short with only the beginning of a long cause.
 */
export function renderVerdict(
  record: JobRecord,
  records: readonly JobRecord[],
  next: NextTime | null,
  screen: Screen,
  why: Why | null,
): Required<Part> {
  if (record.status === 'running' || (record.status !== 'finished' && why === null && next === null))
    return { lines: [], short: [] };
  const [tone, words] = (why === null ? verdictOf(record, next?.memory ?? null, records) : whyWords(why, next)) ?? [];
  const width = screen.width - 2;
  const wrapped = words === undefined ? [] : wrap(words, width);
  const advice = next === null ? [] : renderNext(next, records, screen);
  const shown = (lines: readonly string[]): string[] =>
    blank([...lines.map((line) => `  ${screen.style[tone ?? 'faint'](line)}`), ...advice]);
  return { lines: shown(wrapped), short: shown(cutVerdict(wrapped, width, screen)) };
}

/** Green for what went well, red for what did not. */
export function endingTone(record: JobRecord): Tone {
  if (record.status === 'running' || endUnknown(record)) return 'warning';
  return succeeded(record) === false || endingSignal(record) > 0 ? 'bad' : 'good';
}
