import { figureOf, measuredUpper, type Ends } from '../../record/peak-figure';
import type { Bracket, BracketSource, OpenReason } from '../../record/record';
import type { Glyphs } from '../screen/screen';
import { formatBytes } from './units';

/** Grid Engine's own figure: "~1.53 GiB". */
export const formatCounted = (bytes: number): string => `~${formatBytes(bytes)}`;

/** A peak's figure alone, rounded down, since it is a lower bound: "1.53 GiB". */
export function formatHeld(bytes: number): string {
  return formatBytes(bytes, 'down');
}

/** A peak as one number, where there is no room for two: "1.53 GiB", "≥ 1.53 GiB" without a measured upper bound. */
export function formatPeak(bracket: Ends, glyphs: Glyphs): string {
  const held = formatHeld(figureOf(bracket));
  return measuredUpper(bracket) === null ? `${glyphs.atLeast} ${held}` : held;
}

/**
 * A peak's bounds: "1.53 GiB", "1.50 – 1.62 GiB", "≥ 1.53 GiB". Lower bounds are rounded down, upper bounds up; an
 * upper bound that is only a limit is not shown.
 */
export function formatBracket(bracket: Ends & Pick<Bracket, 'exact'>, glyphs: Glyphs): string {
  const lower = formatHeld(figureOf(bracket));
  const end = measuredUpper(bracket);
  if (end === null) return `${glyphs.atLeast} ${lower}`;
  if (bracket.exact) return lower;
  const upper = formatBytes(end, 'up');
  if (lower === upper) return lower;
  const [number, unit] = lower.split(' ');
  return upper.endsWith(` ${unit ?? ''}`)
    ? `${number ?? ''} ${glyphs.dash} ${upper}`
    : `${lower} ${glyphs.dash} ${upper}`;
}

/** How far a peak's bounds can be relied on, in a few words. */
export function bracketStanding(bracket: Bracket): string {
  if (bracket.upper_bytes !== null && measuredUpper(bracket) === null) return 'up to the limit';
  if (bracket.exact) return 'exact';
  if (bracket.proved) return 'proved';
  return bracket.upper_bytes === null ? 'at least' : 'estimated';
}

/** As formatBracket, with its standing: "1.53 GiB (exact)", "1.50 – 1.62 GiB (proved)", "≥ 1.53 GiB". */
export function describeBracket(bracket: Bracket, glyphs: Glyphs): string {
  const ends = formatBracket(bracket, glyphs);
  return bracket.upper_bytes === null ? ends : `${ends} (${bracketStanding(bracket)})`;
}

const OPEN_REASONS: Readonly<Record<OpenReason, string>> = {
  'no-samples': 'nothing was sampled',
  'no-exit-records': 'no kernel exit records: a process that lived between two samples may have held more',
  'no-lineage': 'no fork and exit events: a process may have come and gone unseen',
  'start-gap': 'the first moments of the job were not sampled',
  'end-gap': 'the last moments of the job were not sampled',
  exec: 'a process started another program (exec), which wipes the mark of what it held until then',
  'failed-read': "a process's figures could not be read",
  'fallen-mark': "a process's high-water mark fell (clear_refs, or huge pages that were split)",
  'sampler-lost': 'the sampler was lost before the job ended',
  'no-page-accounting': 'the kernel gave no page accounting (smaps) for a process',
  'lost-records': 'the kernel had to drop fork, exec or exit records',
  'listener-lost': 'the process that receives fork, exec and exit events was away for a while',
  'unknown-origin': 'a process of the job was not seen being forked',
  'unseen-host': 'a host of the job has no record: it was idle, or nobody sampled there',
  'unseen-task': 'a task of the job may have run without being seen',
  swap: 'the kernel does not record swap peaks',
};

/** Why an upper bound is unknown, in plain words. */
export function explainOpen(reason: OpenReason): string {
  return OPEN_REASONS[reason];
}

const SOURCES: Readonly<Record<BracketSource, string>> = {
  sample: 'samples',
  mark: "the kernel's high-water marks",
  usage: "the shepherd's getrusage",
  'exit-record': "the kernel's exit records",
  cgroup: "the job's cgroup",
  limit: "the job's limit",
};

/** What a bound rests on, in plain words. */
export function explainSource(source: BracketSource): string {
  return SOURCES[source];
}
