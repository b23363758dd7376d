import type { JobRecord } from '../sampler/record';
import { formatBracket } from './bracket';
import { displayWidth, truncate, widest } from './display-width';
import { endingLabel, succeeded } from './ending';
import { limitOf } from './fit';
import { shareTone } from './gauge';
import { groupBy } from './job-run';
import { formatMinute, parseTime } from './local-time';
import type { Screen } from './screen';
import { renderTable, type Column } from './table';
import { jobLabel } from './title';
import { formatBytes, formatCount, formatDuration, formatGibHours, formatPercent, formatRequested } from './units';

/** The records behind one line: one, or the tasks of an array. */
type Line = readonly [JobRecord, ...JobRecord[]];

interface OwnerColumn extends Column {
  readonly name: string;
  readonly cell: (line: Line, screen: Screen) => string;
}

const sum = (line: Line, of: (record: JobRecord) => number | null): number | null =>
  line.reduce<number | null>((total, record) => {
    const value = of(record);
    return value === null ? total : (total ?? 0) + value;
  }, null);

const largest = (line: Line, of: (record: JobRecord) => number | null): JobRecord =>
  line.reduce((most, record) => ((of(record) ?? -1) > (of(most) ?? -1) ? record : most));

const unused = (record: JobRecord): number | null => {
  const limit = limitOf(record);
  if (limit === null || record.wallclock_seconds === null || record.peak_rss === null) return null;
  return Math.max(0, limit - record.peak_rss.lower_bytes) * record.wallclock_seconds;
};

const peakOf = (record: JobRecord): number | null => record.peak_rss?.lower_bytes ?? null;

function whenCell(line: Line, screen: Screen): string {
  const record = largest(line, (one) => parseTime(one.ended_at ?? one.started_at)?.getTime() ?? null);
  const moment = parseTime(record.ended_at ?? record.started_at);
  if (moment === null) return '';
  const text = formatMinute(moment).slice(moment.getFullYear() === screen.now.getFullYear() ? 5 : 0);
  return record.ended_at === null ? `${text} ${screen.glyphs.ellipsis}` : text;
}

function efficiencyCell(line: Line): string {
  const cpu = sum(line, (record) => (record.cpu_efficiency === null ? null : record.cpu_seconds));
  const slots = sum(line, (record) =>
    record.cpu_efficiency === null || record.wallclock_seconds === null
      ? null
      : record.wallclock_seconds * (record.host_slots ?? record.slots ?? 1),
  );
  return cpu === null || slots === null || slots <= 0 ? '' : formatPercent(cpu / slots);
}

function memoryCell(line: Line, screen: Screen): string {
  const worst = largest(line, (record) => record.memory_efficiency);
  const share = worst.memory_efficiency;
  return share === null ? '' : screen.style[shareTone(share)](formatPercent(share));
}

function endingCell(line: Line, screen: Screen): string {
  const groups = [...groupBy(line, endingLabel)].sort(([, a], [, b]) => b.length - a.length);
  const bad = line.some((record) => succeeded(record) === false);
  const plain = line.every((record) => endingLabel(record) === 'ok');
  const text = groups.map(([label, group]) => (line.length === 1 ? label : `${formatCount(group.length)} ${label}`)).join(', ');
  return bad ? screen.style.bad(text) : plain ? text : screen.style.warning(text);
}

const COLUMNS: readonly OwnerColumn[] = [
  {
    name: 'job',
    head: 'job',
    cell: (line, screen) => (line.length === 1 ? jobLabel(line[0], screen) : `${line[0].job_id} ${screen.glyphs.times}${line.length}`),
  },
  { name: 'name', head: 'name', cell: ([record], screen) => screen.safe(record.job_name ?? '') },
  {
    name: 'host',
    head: 'host',
    cell: (line, screen) => {
      const hosts = new Set(line.map(({ host }) => host));
      return hosts.size === 1 ? screen.safe(line[0].host) : `${hosts.size} hosts`;
    },
  },
  { name: 'ended', head: 'ended', cell: whenCell },
  {
    name: 'ran',
    head: 'ran',
    align: 'right',
    cell: (line) => {
      const seconds = largest(line, (record) => record.wallclock_seconds).wallclock_seconds;
      return seconds === null ? '' : formatDuration(seconds);
    },
  },
  {
    name: 'slots',
    head: 'slots',
    align: 'right',
    cell: ([record]) => String(record.host_slots ?? record.slots ?? ''),
  },
  {
    name: 'asked',
    head: 'asked',
    align: 'right',
    cell: (line) => {
      const limit = limitOf(largest(line, limitOf));
      return limit === null ? '' : formatRequested(limit);
    },
  },
  {
    name: 'peak',
    head: 'peak',
    align: 'right',
    cell: (line, { glyphs }) => {
      const bracket = largest(line, peakOf).peak_rss;
      if (bracket === null) return glyphs.none;
      // In a list the range is told by its upper end: what must have been enough.
      return bracket.upper_bytes === null ? formatBracket(bracket, glyphs) : formatBytes(bracket.upper_bytes, 'up');
    },
  },
  { name: 'memory', head: 'of it', align: 'right', cell: memoryCell },
  { name: 'cpu', head: 'CPU', align: 'right', cell: efficiencyCell },
  {
    name: 'unused',
    head: 'unused',
    align: 'right',
    cell: (line) => {
      const bytes = sum(line, unused);
      return bytes === null ? '' : formatGibHours(bytes);
    },
  },
  { name: 'ending', head: 'end', cell: endingCell },
];

/** What goes first where the screen is narrow. */
const DISPENSABLE = ['host', 'slots', 'unused'];
const SHORTEST_NAME = 14;
const LONGEST_NAME = 28;
const GAP = 2;

function linesOf(records: readonly JobRecord[], grouped: boolean): Line[] {
  const groups = grouped
    ? [...groupBy(records, ({ cluster, job_id: job, submitted_at: submitted }) => `${cluster} ${job} ${submitted ?? ''}`).values()]
    : records.map((record) => [record]);
  return groups.flatMap(([first, ...rest]) => (first === undefined ? [] : [[first, ...rest] as const]));
}

export interface OwnerTable {
  readonly lines: readonly string[];
  /** Records behind the lines. */
  readonly shown: number;
}

/** One line per record (or array job): asked, peak, how much of it, CPU, how it ended; as many columns as fit. */
export function renderOwnerTable(
  records: readonly JobRecord[],
  options: { readonly grouped: boolean; readonly lines: number },
  screen: Screen,
): OwnerTable {
  const lines = linesOf(records, options.grouped).slice(0, options.lines);
  const cells = COLUMNS.map((column) => lines.map((line) => column.cell(line, screen)));
  const widths = COLUMNS.map(({ head }, index) => Math.max(displayWidth(head), widest(cells[index] ?? [])));
  const widthOf = (name: string): number => widths[COLUMNS.findIndex((column) => column.name === name)] ?? 0;

  const shown = new Set(COLUMNS.map(({ name }) => name));
  const nameWidth = Math.min(LONGEST_NAME, widthOf('name'));
  const room = (): number =>
    screen.width - [...shown].reduce((total, name) => total + (name === 'name' ? 0 : widthOf(name) + GAP), 0);
  for (const name of DISPENSABLE) if (room() < Math.min(SHORTEST_NAME, nameWidth)) shown.delete(name);

  const limit = Math.max(4, Math.min(nameWidth, room()));
  const visible = COLUMNS.map((column, index) => ({ column, index })).filter(({ column }) => shown.has(column.name));
  const rows = lines.map((_, row) =>
    visible.map(({ column, index }) => {
      const text = cells[index]?.[row] ?? '';
      return column.name === 'name' ? truncate(text, limit, screen.glyphs.ellipsis) : text;
    }),
  );
  return {
    lines: renderTable(
      visible.map(({ column }) => column),
      rows,
      screen,
    ),
    shown: lines.reduce((total, line) => total + line.length, 0),
  };
}
