import type { Bracket, BracketSource, OpenReason } from '../sampler/record';
import type { Glyphs } from './screen';
import { formatBytes } from './units';

/** A peak's ends: "1.53 GiB", "1.50 – 1.62 GiB", "≥ 1.53 GiB". Lower ends are rounded down, upper ends up. */
export function formatBracket(bracket: Pick<Bracket, 'lower_bytes' | 'upper_bytes' | 'exact'>, glyphs: Glyphs): string {
  if (bracket.exact) return formatBytes(bracket.lower_bytes);
  const lower = formatBytes(bracket.lower_bytes, 'down');
  if (bracket.upper_bytes === null) return `${glyphs.atLeast} ${lower}`;
  const upper = formatBytes(bracket.upper_bytes, 'up');
  if (lower === upper) return lower;
  const [number, unit] = lower.split(' ');
  return upper.endsWith(` ${unit ?? ''}`)
    ? `${number ?? ''} ${glyphs.dash} ${upper}`
    : `${lower} ${glyphs.dash} ${upper}`;
}

/** What the ends are worth, in one or two words. */
export function bracketStanding(bracket: Bracket): string {
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
  'start-gap': 'the first moments of the job were not observed',
  'end-gap': 'the last moments of the job were not observed',
  exec: 'a process started another program (exec), which wipes the mark of what it held until then',
  'failed-read': "a process's figures could not be read",
  'fallen-mark': "a process's high-water mark was reset (clear_refs)",
  'sampler-lost': 'the sampler was lost before the job ended',
  'no-page-accounting': 'the kernel gave no page accounting (smaps) for a process',
  'lost-records': 'the kernel had to drop fork, exec or exit records',
  'listener-lost': 'the process that hears fork, exec and exit events was away for a while',
  'unknown-origin': 'a process of the job was not seen being forked',
  'unseen-host': 'a host of the job has no record: it was idle, or nobody sampled there',
  'unseen-task': 'a task of the job may have run without being seen',
  swap: 'the kernel keeps no mark of what was swapped out',
};

/** Why an upper end is open, in plain words. */
export function explainOpen(reason: OpenReason): string {
  return OPEN_REASONS[reason];
}

const SOURCES: Readonly<Record<BracketSource, string>> = {
  sample: 'samples',
  mark: "the kernel's high-water marks",
  usage: "the shepherd's getrusage",
  'exit-record': "the kernel's exit records",
  cgroup: "the job's cgroup",
  limit: "the job's address space limit",
};

/** What an end rests on, in plain words. */
export function explainSource(source: BracketSource): string {
  return SOURCES[source];
}
