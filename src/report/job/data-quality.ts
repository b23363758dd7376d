import { mayBeReservation } from '../../record/cause';
import { measuredUpper } from '../../record/peak-figure';
import type { BracketSource, JobRecord, OpenReason, Trust } from '../../record/record';
import { explainOpen, explainSource } from '../format/bracket';
import { PEAK_FIELDS, peakName } from './peaks';
import type { Screen } from '../screen/screen';
import { formatBytes, formatCount, formatDuration, formatPercent, plural } from '../format/units';
import { wrap } from '../screen/layout';
import { listed } from '../why/words';

const TRUST: Readonly<Record<Trust, string>> = {
  root: "measured by root's sampler",
  usage: "from Grid Engine's own usage of the job (getrusage by the shepherd)",
  accounting: "from Grid Engine's accounting file",
  'self-reported': "reported by the owner's own sampler, unverified",
};

/** Of a parallel job: whether some of its parts were sampled, others not. */
export const isSampledInPart = ({ samples, trust }: JobRecord): boolean =>
  (samples ?? 0) > 0 && (trust === 'usage' || trust === 'accounting');

function sampling(record: JobRecord): string {
  const parts: string[] = [];
  if (record.samples !== null) parts.push(plural(record.samples, 'sample'));
  if (record.interval_seconds !== null) parts.push(`one every ${formatDuration(record.interval_seconds)}`);
  if (record.longest_gap_seconds !== null) parts.push(`longest gap ${formatDuration(record.longest_gap_seconds)}`);
  const source = isSampledInPart(record) ? "measured in part, by root's sampler" : TRUST[record.trust];
  return `${source}${parts.length === 0 ? '' : `: ${parts.join(', ')}`}`;
}

function sources(record: JobRecord): string[] {
  const all = new Set<BracketSource>(PEAK_FIELDS.flatMap((field) => record[field]?.sources ?? []));
  return all.size === 0 ? [] : [`the peaks rest on ${listed([...all].map(explainSource))}`];
}

function openEnds(record: JobRecord, screen: Screen): string[] {
  const known = PEAK_FIELDS.filter((field) => record[field] !== null);
  const open = known.filter((field) => record[field]?.upper_bytes === null);
  if (open.length === 0) return [];
  const reasons = new Set<OpenReason>(open.flatMap((field) => record[field]?.open ?? []));
  return [
    `${screen.glyphs.atLeast} marks a lower bound; the upper bound is unknown:`,
    ...[...reasons].map((reason) => {
      const holders = open.filter((field) => record[field]?.open.includes(reason));
      const whom = holders.length === open.length ? '' : `${listed(holders.map(peakName))}: `;
      return `  ${whom}${explainOpen(reason)}`;
    }),
  ];
}

function claims(record: JobRecord): string[] {
  const note = (count: number, how: string): string[] =>
    count > 0 ? [`${formatCount(count)} process${count === 1 ? ' was' : 'es were'} known by ${how}`] : [];
  return [
    ...note(record.claimed_by_tree_only ?? 0, "the process tree only, not by the job's group id"),
    ...note(record.claimed_by_group_only ?? 0, "the job's group id only, outside of its process tree"),
  ];
}

function cost(record: JobRecord): string[] {
  if (record.sampler === null) return [];
  const { cpu_seconds: cpu, max_rss_bytes: memory, mode } = record.sampler;
  const share =
    record.wallclock_seconds !== null && record.wallclock_seconds > 0
      ? ` (${formatPercent(cpu / record.wallclock_seconds)} of one core)`
      : '';
  const small = mode === 'small' ? " in its small mode, as the job's limits could not be lifted" : '';
  return [`sampler overhead: ${formatDuration(cpu)} CPU${share} and ${formatBytes(memory)}${small}`];
}

/** Peaks whose upper bound is only the limit, and why nothing better is known. */
function limited(record: JobRecord): string[] {
  const names = PEAK_FIELDS.filter((field) => {
    const bracket = record[field];
    return bracket !== null && bracket.upper_bytes !== null && measuredUpper(bracket) === null;
  }).map(peakName);
  return names.length === 0
    ? []
    : [`${listed(names)}: the upper bound is only the limit: the peak before an exec is not recorded`];
}

/** For a job without a peak: why Grid Engine's maxvmem is not shown in its place. */
export const RESERVED = 'its maxvmem is left out: it is what was reserved, or exactly as much';

/** How far the figures can be trusted: their source, how often it sampled, which bounds are unknown and why, notes. */
export function renderTrust(record: JobRecord, width: number, screen: Screen): string[] {
  return trustFacts(record, screen).flatMap((fact) => {
    const indent = /^ */.exec(fact)?.[0] ?? '';
    return wrap(fact.slice(indent.length), width - indent.length - 2).map((line, index) =>
      index === 0 ? indent + line : `${indent}  ${line}`,
    );
  });
}

/**
 * The facts of `renderTrust`, one per line, not wrapped; a line that begins with blanks belongs to the one before it.
 */
export function trustFacts(record: JobRecord, screen: Screen): readonly string[] {
  const unseen = record.unobserved_start_seconds ?? 0;
  return [
    sampling(record),
    ...sources(record),
    ...(record.peak_rss === null && mayBeReservation(record) ? [RESERVED] : []),
    ...(unseen > 0 ? [`the first ${formatDuration(unseen)} were not sampled`] : []),
    ...openEnds(record, screen),
    ...limited(record),
    ...claims(record),
    ...cost(record),
    ...(record.status === 'unsampled' ? [] : record.notes).map((note) => `note: ${screen.safe(note)}`),
  ];
}
