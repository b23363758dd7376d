import type { JobLine } from '../../accounting/job-line';
import type { FieldName } from '../../record/fields';
import type { Totals } from '../../record/totals';
import { FAR_BELOW_LIMIT } from '../../record/sums';
import { formatInterval } from '../format/local-time';
import { countText, formatCount, formatPercent, plural } from '../format/units';
import { spread } from '../job/title';
import { busyTone, renderGauges, shareTone, type Gauge } from '../screen/gauge';
import { wrap } from '../screen/layout';
import type { Screen } from '../screen/screen';
import { columnsWithoutRoom, renderExplained, renderTable } from '../screen/table';
import { cellOf, RECORD_COLUMNS, summedLine, type ListLine, type RecordColumn, type RecordColumnName } from './columns';
import { cpuAmount, cpuShare, gridEngineText, memoryAmount, usedShare } from './unused';
import { WAITS_TEXT, WAITS_TITLE, waitTable, type QueueWaits } from './waits';

export interface RecordListReport {
  /** "Jobs of bob": escaped text. */
  readonly title: string;
  readonly since: Date;
  readonly until: Date;
  /** In the order in which they are shown. */
  readonly lines: readonly ListLine[];
  /** Sums over the records that count in sums, shown or not. */
  readonly totals: Totals;
  /** Number of these records. */
  readonly all: number;
  /** There are more lines than `lines`. */
  readonly more?: boolean;
  readonly view: RecordTableView;
  /** How long jobs waited, by queue and request, and from how many records that is known; left out: not asked for. */
  readonly waits?: { readonly queues: readonly QueueWaits[]; readonly records: number };
}

/** The fields of a record that a list with the usual columns needs, for its order and its notes, too. */
export const LIST_FIELDS: readonly FieldName[] = [
  ...(['cluster', 'job_id', 'task_id', 'pe_task_id', 'host', 'run_id', 'status', 'trust', 'revision'] as const),
  ...(['owner', 'job_name', 'queue', 'project', 'pe', 'slots', 'host_slots'] as const),
  ...(['submitted_at', 'started_at', 'ended_at', 'exit_status', 'signal', 'failed', 'grid_engine'] as const),
  ...(['h_vmem', 'requests', 'request_order', 'peak_rss', 'samples'] as const),
  ...(['wallclock_seconds', 'suspended_seconds', 'cpu_seconds'] as const),
];

function totalGauges(totals: Totals, screen: Screen): Gauge[] {
  const { dot } = screen.glyphs;
  const held = usedShare(totals);
  const busy = cpuShare(totals);
  return [
    { name: 'Memory', share: held, amount: memoryAmount(totals, dot), tone: shareTone(held) },
    { name: 'CPU', share: busy, amount: cpuAmount(totals, dot), tone: busyTone(busy) },
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
  const byGridEngine = gridEngineText(totals, screen.glyphs.dot);
  const apart = byGridEngine === null ? '' : ` ${byGridEngine}`;
  return wrap(words + rest + apart, screen.width - 2).map((line) => `  ${line}`);
}

function renderWaits({ waits, all }: RecordListReport, screen: Screen): string[] {
  if (waits === undefined || waits.queues.length === 0) return [];
  const { columns, rows } = waitTable(waits.queues, screen.safe);
  const part = waits.records < all ? ` Of the newest ${formatCount(waits.records)} records.` : '';
  return [
    '',
    screen.style.title(WAITS_TITLE),
    ...renderTable(columns, rows, screen, screen.width - 2).map((line) => `  ${line}`),
    ...wrap(WAITS_TEXT + part, screen.width - 2).map((line) => screen.style.faint(`  ${line}`)),
  ];
}

/** Jobs of an interval that have something in common: what they used of what they requested, then a line for each. */
export function renderRecordList(report: RecordListReport, screen: Screen): string[] {
  const { totals } = report;
  const { style, glyphs } = screen;
  const lines = report.lines.map(summedLine);
  const complexes = [...new Set(lines.flatMap((line) => line.complexes))].sort();
  const total = (of: (line: JobLine) => number): number => lines.reduce((sum, line) => sum + of(line), 0);
  const records = total((line) => line.records);
  const isCounted = lines.some((line) => line.is_counted);
  const selfReported = total((line) => line.self_reported);
  // How many self-reported ones there are in all is not known.
  const shown =
    selfReported > 0 || records >= report.all
      ? `only ${plural(records, 'record')}`
      : `${formatCount(records)} of ${plural(report.all, 'record')}`;
  const table = renderRecordTable(report.lines, report.view, screen);
  const shows = (name: RecordColumnName): boolean => !table.leftOut.includes(name);
  const legend = [
    ...(complexes.length > 0 && shows('limit') ? [`limit: ${complexes.map(screen.safe).join(', ')} on the host`] : []),
    `peak: resident memory${isCounted ? ', ~: of Grid Engine (maxvmem)' : ''}`,
    ...(lines.some((line) => line.unused_byte_seconds !== null) && shows('unused')
      ? [`unused: requested, never used, in GiB${glyphs.dot}h`]
      : []),
  ].join('; ');
  const notes = [
    ...(report.view.chosen ? [] : [legend]),
    ...(report.view.chosen && table.leftOut.length > 0
      ? [`no room for ${table.leftOut.join(', ')}: a wider terminal, or a pipe, has it`]
      : []),
    ...(selfReported > 0 ? [`${formatCount(selfReported)} self-reported by the owner: not in the site's sums`] : []),
    ...(records < report.all || report.more === true ? [`${shown} shown: --limit N, --sort KEY`] : []),
  ];
  return [
    spread(report.title, countText(totals), screen, style.title, style.title),
    style.faint(formatInterval(report.since, report.until, glyphs.arrow)),
    '',
    ...renderGauges(totalGauges(totals, screen), screen),
    '',
    ...renderFit(totals, screen),
    '',
    ...table.lines,
    ...renderWaits(report, screen),
    '',
    ...notes.flatMap((note) => wrap(note, screen.width)).map(style.faint),
  ];
}

/** Which columns a list of records has. */
export interface RecordTableView {
  readonly columns: readonly RecordColumnName[];
  /** The user chose the columns by name: where there is no room for all, the last ones are left out first. */
  readonly chosen: boolean;
  /** null: as wide as it needs. */
  readonly width: number | null;
}

interface RecordTable {
  readonly lines: readonly string[];
  readonly leftOut: readonly RecordColumnName[];
}

/** Lines of jobs with the columns of a view, as many as fit. */
export function renderRecordTable(lines: readonly ListLine[], view: RecordTableView, screen: Screen): RecordTable {
  const width = view.width ?? Number.MAX_SAFE_INTEGER;
  const columns = view.columns.map((name, index): RecordColumn => {
    const column = RECORD_COLUMNS[name];
    return view.chosen && index > 0 ? { ...column, dispensable: index } : column;
  });
  const rows = lines.map((line) => columns.map((column) => cellOf(column, line, screen)));
  const leftOut = columnsWithoutRoom(columns, rows, width);
  return {
    lines: renderTable(columns, rows, screen, width),
    leftOut: view.columns.filter((_, index) => leftOut.includes(index)),
  };
}

/** All columns and what they say, for `--columns help`. */
export function renderRecordColumns(screen: Screen): string[] {
  const rows = Object.entries<RecordColumn>(RECORD_COLUMNS).map(([name, column]) => [name, column.head, column.says]);
  return renderExplained(['--columns', 'heading', 'says'], rows, screen);
}
