import { measuredFor } from '../../gridengine/memory-complex';
import { measuredUpper, shareOfLimit } from '../../record/peak-figure';
import type { Bracket, JobRecord } from '../../record/record';
import { complexOf, limitOf } from '../../record/request';
import { bracketStanding, formatBracket } from '../format/bracket';
import { formatClock, parseTime } from '../format/local-time';
import type { Screen } from '../screen/screen';
import { renderTable, type Column } from '../screen/table';
import { formatDuration, formatPercent } from '../format/units';

export const PEAK_FIELDS = ['peak_rss', 'peak_rss_swap', 'peak_process_vmem', 'peak_vmem', 'peak_footprint'] as const;
type PeakField = (typeof PEAK_FIELDS)[number];

const NAMES: Readonly<Record<PeakField, string>> = {
  peak_rss: 'memory (RSS)',
  peak_rss_swap: 'RSS and swap',
  peak_process_vmem: 'largest address space',
  peak_vmem: 'sum of address spaces',
  peak_footprint: 'unshared (footprint)',
};

/** A peak's name for people. */
export function peakName(field: PeakField): string {
  return NAMES[field];
}

const sameEnds = (a: Bracket, b: Bracket): boolean =>
  a.lower_bytes === b.lower_bytes && measuredUpper(a) === measuredUpper(b) && a.exact === b.exact;

/**
 * Every known peak, with its share of the limit (for the quantities that the request limits; `shares` false: for none),
 * its time, and the command of the largest process.
 */
export function renderPeaks(record: JobRecord, width: number, screen: Screen, shares = true): string[] {
  const rows = peakRows(record, screen, shares);
  return rows.length === 0 ? ['not known'] : renderTable(peakColumns(record, screen), rows, screen, width);
}

/** The columns of `peakRows`. */
export function peakColumns(record: JobRecord, screen: Screen): readonly Column[] {
  return [
    { head: '' },
    { head: 'peak', align: 'right' },
    { head: '', dispensable: 3 },
    { head: `of ${screen.safe(complexOf(record))}`, align: 'right' },
    { head: 'at', align: 'right', dispensable: 1 },
    { head: 'after', align: 'right', dispensable: 2 },
    { head: 'largest process', shrinksTo: 8, dispensable: 4 },
  ];
}

/** The rows of the table of peaks, by `peakColumns`; empty: no peak is known. */
export function peakRows(record: JobRecord, screen: Screen, shares = true): readonly (readonly string[])[] {
  const limit = limitOf(record);
  const complex = complexOf(record);
  const underLimit: ReadonlySet<PeakField> = new Set(shares ? measuredFor(complex) : []);
  const started = parseTime(record.started_at);
  const swapless =
    record.peak_rss !== null && record.peak_rss_swap !== null && sameEnds(record.peak_rss, record.peak_rss_swap);

  return PEAK_FIELDS.flatMap((field) => {
    const bracket = record[field];
    if (bracket === null || (swapless && field === 'peak_rss_swap')) return [];
    const at = parseTime(bracket.at);
    const share = underLimit.has(field) ? shareOfLimit(bracket, limit) : null;
    return [
      [
        swapless && field === 'peak_rss' ? 'memory (RSS), no swap' : peakName(field),
        formatBracket(bracket, screen.glyphs),
        bracket.upper_bytes === null ? '' : bracketStanding(bracket),
        share === null ? '' : formatPercent(share),
        at === null ? '' : formatClock(at),
        at === null || started === null ? '' : formatDuration(Math.max(0, (at.getTime() - started.getTime()) / 1000)),
        bracket.command === null ? '' : screen.safe(bracket.command),
      ],
    ];
  });
}
