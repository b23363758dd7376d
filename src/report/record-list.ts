import type { Totals } from '../record/totals';
import { FAR_BELOW_LIMIT } from './fit';
import { renderGauges, shareTone, type Gauge } from './gauge';
import { formatMinute, formatZone } from './local-time';
import type { RecordLine } from './record-lines';
import { renderRecordTable, type RecordTableView } from './record-table';
import type { Screen } from './screen';
import { spread } from './title';
import { formatCount, formatMemoryTime, formatMemoryTimes, formatPercent, formatSlotTimes } from './units';
import { wrap } from './wrap';

interface RecordListReport {
  /** "Jobs of bob": harmless text. */
  readonly title: string;
  readonly since: Date;
  readonly until: Date;
  /** In the order in which they are shown. */
  readonly lines: readonly RecordLine[];
  /** Over all records of the interval, shown or not. */
  readonly totals: Totals;
  readonly view: RecordTableView;
}

const plural = (count: number, one: string): string => `${formatCount(count)} ${one}${count === 1 ? '' : 's'}`;

function memoryAmount(totals: Totals, dot: string): string {
  const { used_gib_hours: used, requested_with_used_gib_hours: asked } = totals;
  const { texts, unit } = formatMemoryTimes([used, asked], dot);
  if (asked > 0) return `${texts.join(' of ')} ${unit}`;
  if (totals.requested_gib_hours <= 0) return `${formatMemoryTime(used, dot)}, nothing asked for`;
  return `${formatMemoryTime(totals.requested_gib_hours, dot)} asked for, use not known`;
}

function cpuAmount(totals: Totals, dot: string): string {
  const { texts, unit } = formatSlotTimes([totals.cpu_seconds / 3600, totals.slot_seconds / 3600], `slot${dot}`);
  return `${texts.join(' of ')} ${unit}`;
}

function totalGauges(totals: Totals, screen: Screen): Gauge[] {
  const { dot } = screen.glyphs;
  const asked = totals.requested_with_used_gib_hours;
  const held = asked > 0 ? Math.min(totals.used_gib_hours, asked * 10) / asked : null;
  const busy = totals.slot_seconds > 0 ? totals.cpu_seconds / totals.slot_seconds : null;
  return [
    {
      name: 'Memory',
      share: held,
      amount: memoryAmount(totals, dot),
      tone: held === null ? 'good' : shareTone(held),
    },
    {
      name: 'CPU',
      share: busy,
      amount: cpuAmount(totals, dot),
      tone: busy === null ? 'good' : shareTone(Math.min(busy, 0.8)),
    },
  ];
}

function renderFit(totals: Totals, screen: Screen): string[] {
  const far = `far below (peak under ${formatPercent(FAR_BELOW_LIMIT)} of the limit)`;
  const words = `${formatCount(totals.above_request)} above their request, ${formatCount(totals.far_below)} ${far}.`;
  const leftOut = [
    ...(totals.without_limit > 0 ? [`${formatCount(totals.without_limit)} without a limit`] : []),
    ...(totals.without_peak > 0 ? [`${formatCount(totals.without_peak)} without a known peak`] : []),
  ];
  const rest = leftOut.length === 0 ? '' : ` Left out: ${leftOut.join(', ')}.`;
  return wrap(words + rest, screen.width - 2).map((line) => `  ${line}`);
}

/** Jobs of an interval that have something in common: what they used of what they asked for, then a line for each. */
export function renderRecordList(report: RecordListReport, screen: Screen): string[] {
  const { totals } = report;
  const { style, glyphs } = screen;
  const count = [
    plural(totals.jobs, 'job'),
    ...(totals.records === totals.jobs ? [] : [plural(totals.records, 'record')]),
    ...(totals.running > 0 ? [`${formatCount(totals.running)} running`] : []),
  ];
  const shown = report.lines.reduce((total, line) => total + line.length, 0);
  const legend = `asked: h_vmem on the host; peak: resident memory; unused: asked for, never used, in GiB${glyphs.dot}h`;
  const selfReported = report.lines.flat().filter(({ trust }) => trust === 'self-reported').length;
  const table = renderRecordTable(report.lines, report.view, screen);
  const notes = [
    ...(report.view.chosen ? [] : [legend]),
    ...(table.leftOut.length > 0
      ? [`no room for ${table.leftOut.join(', ')}: a wider terminal, or a pipe, has it`]
      : []),
    ...(selfReported > 0
      ? [`${formatCount(selfReported)} told of by the owner alone: a site's sums leave that out`]
      : []),
    ...(shown < totals.records
      ? [`${formatCount(shown)} of ${formatCount(totals.records)} records shown: --limit N, --sort KEY`]
      : []),
  ];
  return [
    spread(report.title, count.join(', '), screen, style.title, style.title),
    style.faint(
      `${formatMinute(report.since)} ${glyphs.arrow} ${formatMinute(report.until)} ${formatZone(report.until)}`,
    ),
    '',
    ...renderGauges(totalGauges(totals, screen), screen),
    '',
    ...renderFit(totals, screen),
    '',
    ...table.lines,
    '',
    ...notes.flatMap((note) => wrap(note, screen.width)).map(style.faint),
  ];
}
