import type { JobRecord } from '../sampler/record';
import { HEADROOM, RAISE, adviseRequest, type Advice } from './advice';
import { formatBracket } from './bracket';
import { endingSignal, memoryVerdict, succeeded } from './ending';
import { fitOf, limitOf, needOf, type Fit } from './fit';
import { shareTone, type Gauge } from './gauge';
import type { Screen, Tone } from './screen';
import { formatBytes, formatCount, formatPercent, formatRequested } from './units';
import { wrap } from './wrap';

/** Address space is worth a bar of its own where it, not the memory in use, decides what h_vmem must be. */
const REMARKABLE = 1.25;

function sizedByAddressSpace(record: JobRecord): boolean {
  const need = needOf(record);
  const used = record.peak_rss_swap ?? record.peak_rss;
  return need?.quantity === 'peak_process_vmem' && (used === null || need.bytes > used.lower_bytes * REMARKABLE);
}

function memoryGauges(record: JobRecord, screen: Screen): Gauge[] {
  const limit = limitOf(record);
  const brackets = [
    { name: 'Memory', bracket: record.peak_rss },
    { name: 'Address space', bracket: sizedByAddressSpace(record) ? record.peak_process_vmem : null },
  ];
  return brackets.flatMap(({ name, bracket }) => {
    if (bracket === null) return [];
    const peak = formatBracket(bracket, screen.glyphs);
    const share = limit === null || limit <= 0 ? null : (bracket.upper_bytes ?? bracket.lower_bytes) / limit;
    const amount = limit === null ? `${peak}, no limit` : `${peak} of ${formatRequested(limit)}`;
    return [{ name, share, amount, tone: share === null ? 'good' : shareTone(share) }];
  });
}

function cpuGauges(record: JobRecord): Gauge[] {
  if (record.cpu_efficiency === null) return [];
  const slots = record.host_slots ?? record.slots ?? 1;
  return [
    {
      name: 'CPU',
      share: record.cpu_efficiency,
      amount: `${(record.cpu_efficiency * slots).toFixed(slots < 10 ? 2 : 1)} of ${slots} slot${slots === 1 ? '' : 's'}`,
      tone: record.cpu_efficiency > 1.1 ? 'bad' : shareTone(Math.min(record.cpu_efficiency, 0.8)),
    },
  ];
}

/** The bars: memory (and address space, where that decides) over the limit, CPU over the slots. */
export function recordGauges(record: JobRecord, screen: Screen): Gauge[] {
  return [...memoryGauges(record, screen), ...cpuGauges(record)];
}

const asMuch = (ratio: number): string =>
  ratio >= 2.5 ? `${formatCount(ratio)} times the memory it needed` : 'more memory than it needed';

function verdictOf(record: JobRecord, advice: Advice | null, fit: Fit): readonly [Tone, string] | null {
  const verdict = memoryVerdict(record);
  if (verdict?.consistent) return ['bad', verdict.text];
  if (succeeded(record) === false)
    return ['warning', 'It failed: what a full run needs can not be told from this one.'];
  if (fit === 'unknown' || fit === 'no-limit') return null;
  if (advice?.kind === 'lower') return ['warning', `It asked for ${asMuch(advice.excess ?? 1)}.`];
  if (fit === 'above') return ['bad', 'It used more than it asked for.'];
  if (fit === 'close') return ['warning', 'It came close to its limit.'];
  return ['good', 'The request fits.'];
}

function adviceReason(advice: Advice, screen: Screen): string {
  const { times } = screen.glyphs;
  const total = advice.slots > 1 ? `${times} ${advice.slots} slots = ${formatBytes(advice.totalBytes)}: ` : '';
  if (advice.guess) return `${total}${RAISE} ${times} the limit; how much it wanted leaves no mark`;
  const what =
    advice.need.quantity === 'peak_process_vmem' && sizedByAddressSpace(advice.record)
      ? `the largest address space (${formatBytes(advice.need.bytes)})`
      : `the peak (${formatBytes(advice.need.bytes)})`;
  return `${total}${what} and ${formatPercent(HEADROOM - 1)} room`;
}

function renderAdvice(advice: Advice, screen: Screen): string[] {
  if (advice.kind === 'keep') return [];
  const { style, glyphs } = screen;
  const why = adviceReason(advice, screen);
  const open = advice.guess || advice.bounded ? '' : '; a lower bound (see Trust): leave more where runs differ';
  return [
    `  ${style.accent(glyphs.advice)} Next time: ${style.title(`qsub -l ${advice.request}`)}`,
    ...wrap(`${why}${open}`, screen.width - 4).map((line) => style.faint(`    ${line}`)),
  ];
}

/** The word on the request, and what to ask for next time; `records`: all hosts and tasks that the advice must fit. */
export function renderVerdict(record: JobRecord, records: readonly JobRecord[], screen: Screen): string[] {
  if (record.status !== 'finished') return [];
  const advice = adviseRequest(records);
  const verdict = verdictOf(record, advice, fitOf(record));
  const words =
    verdict === null ? [] : wrap(verdict[1], screen.width - 2).map((line) => `  ${screen.style[verdict[0]](line)}`);
  const lines = [...words, ...(advice === null ? [] : renderAdvice(advice, screen))];
  return lines.length === 0 ? [] : ['', ...lines];
}

/** Green for what went well, red for what did not. */
export function endingTone(record: JobRecord): Tone {
  if (record.status !== 'finished') return 'warning';
  return succeeded(record) === false || endingSignal(record) > 0 ? 'bad' : 'good';
}
