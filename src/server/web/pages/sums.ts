import type { SummaryGroup } from '../../../accounting/summary';
import type { Totals } from '../../../record/totals';
import { formatCount, formatMemoryTime, formatPercent, plural } from '../../../report/format/units';
import {
  cpuAmount,
  cpuShare,
  gridEngineText,
  memoryAmount,
  unusedText,
  usedShare,
} from '../../../report/records/unused';
import { busyTone } from '../../../report/screen/gauge';
import type { Tone } from '../../../report/screen/screen';
import { shareBar } from '../charts/bar';
import { daysChart } from '../charts/days';
import { html, named, type Child, type Html } from '../html';
import { section } from '../layout';
import { table, tiles, type WebColumn } from '../table';

const DOT = '·';

/** '' if no job's peak is known. */
const unusedMemory = (totals: Totals): string =>
  totals.requested_with_peak_gib_hours + totals.requested_with_grid_engine_gib_hours > 0
    ? unusedText(totals, (sum) => formatMemoryTime(sum, DOT))
    : '';

function gauge(share: number | null, words: string, tone?: Tone): Child {
  return share === null ? words : html`${formatPercent(share)} <small>${words}</small> ${shareBar(share, tone)}`;
}

/** What jobs together requested and used. */
export function sumsPart(totals: Totals): Html {
  const counts: readonly (readonly [string, number])[] = [
    ['failed', totals.failed],
    ['killed by memory', totals.killed_by_memory],
    ['peak above the request', totals.above_request],
    ['peak far below the request', totals.far_below],
    ['running', totals.running],
    ['not sampled', totals.unsampled],
  ];
  const busy = cpuShare(totals);
  const unused = unusedMemory(totals);
  const apart = gridEngineText(totals, DOT);
  return html`${tiles([
    ['jobs and array tasks', html`${formatCount(totals.jobs)} <small>(${plural(totals.records, 'record')})</small>`],
    ['memory in use', gauge(usedShare(totals), memoryAmount(totals, DOT))],
    ...(unused === '' ? [] : [['unused', unused] as const]),
    ['CPU', gauge(busy, cpuAmount(totals, DOT), busyTone(busy ?? 0))],
    ...counts.flatMap(([name, count]) => (count === 0 ? [] : [[name, formatCount(count)] as const])),
  ])}${apart === null ? null : html`<p class="faint">${apart}</p>`}`;
}

/** At most this many days in a chart: the last of a longer period. */
export const MOST_DAYS = 400;

/** What jobs used and wasted day by day; null: there is nothing to draw. */
export function daysPart(days: readonly SummaryGroup[]): Html | null {
  const chart = daysChart(days);
  const last = days.length < MOST_DAYS ? '' : `, the last ${MOST_DAYS} days with jobs`;
  return chart && section(`Memory-hours by day${last}`, chart);
}

/** What `sumCells` shows. */
export const SUM_COLUMNS: readonly WebColumn[] = [
  { head: 'jobs', align: 'right' },
  { head: 'requested', align: 'right' },
  { head: 'in use', align: 'right' },
  { head: 'share', bar: true },
  { head: 'unused', align: 'right' },
  { head: 'killed by memory', align: 'right' },
];

/** The sums of a group of jobs, for a line of a table. */
export function sumCells(totals: Totals): readonly Child[] {
  const share = usedShare(totals);
  return [
    formatCount(totals.jobs),
    formatMemoryTime(totals.requested_gib_hours, DOT),
    share === null ? '' : formatPercent(share),
    share === null ? null : shareBar(share),
    unusedMemory(totals),
    totals.killed_by_memory === 0 ? '' : formatCount(totals.killed_by_memory),
  ];
}

/** Groups of jobs with their sums, in the order of the answer. `linkOf`: the address of a group's own page. */
export function groupsTable(
  what: string,
  groups: readonly SummaryGroup[],
  linkOf: (key: string) => string,
): Html | null {
  if (groups.length === 0) return null;
  const nameOf = (key: string | null): Child =>
    key === null ? '(none)' : html`<a href="${linkOf(key)}">${named(key)}</a>`;
  return table(
    `By ${what}, most requested memory-hours first`,
    [{ head: what }, ...SUM_COLUMNS],
    groups.map(({ key, totals }) => [nameOf(key), ...sumCells(totals)]),
  );
}
