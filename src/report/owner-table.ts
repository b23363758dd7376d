import type { JobRecord } from '../sampler/record';
import { formatBracket } from './bracket';
import { endingLabel, succeeded } from './ending';
import { limitOf } from './fit';
import { shareTone } from './gauge';
import { heardOf, runningLabel } from './heard-of';
import { groupBy } from './job-run';
import { hostsOf, type OwnerLine } from './owner-lines';
import { formatMinute, parseTime } from './local-time';
import type { Screen } from './screen';
import { renderTable, type Column } from './table';
import { jobLabel } from './title';
import { formatBytes, formatCount, formatDuration, formatGibHours, formatPercent, formatRequested } from './units';

interface OwnerColumn extends Column {
  readonly cell: (line: OwnerLine, screen: Screen) => string;
}

const sum = (line: readonly JobRecord[], of: (record: JobRecord) => number | null): number | null =>
  line.reduce<number | null>((total, record) => {
    const value = of(record);
    return value === null ? total : (total ?? 0) + value;
  }, null);

const largest = (line: OwnerLine, of: (record: JobRecord) => number | null): JobRecord =>
  line.reduce((most, record) => ((of(record) ?? -1) > (of(most) ?? -1) ? record : most));

const unused = (record: JobRecord): number | null => {
  const limit = limitOf(record);
  if (limit === null || record.wallclock_seconds === null || record.peak_rss === null) return null;
  return Math.max(0, limit - record.peak_rss.lower_bytes) * record.wallclock_seconds;
};

const peakOf = (record: JobRecord): number | null => record.peak_rss?.lower_bytes ?? null;

function whenCell(line: OwnerLine, screen: Screen): string {
  const record = largest(line, (one) => parseTime(one.ended_at ?? one.started_at)?.getTime() ?? null);
  const moment = parseTime(record.ended_at ?? record.started_at);
  if (moment === null) return '';
  const text = formatMinute(moment).slice(moment.getFullYear() === screen.now.getFullYear() ? 5 : 0);
  return record.ended_at === null ? `${text} ${screen.glyphs.ellipsis}` : text;
}

function efficiencyCell(line: OwnerLine): string {
  const cpu = sum(line, (record) => (record.cpu_efficiency === null ? null : record.cpu_seconds));
  const slots = sum(line.length === 1 ? line : hostsOf(line), (record) =>
    record.cpu_efficiency === null || record.wallclock_seconds === null
      ? null
      : record.wallclock_seconds * (record.host_slots ?? record.slots ?? 1),
  );
  return cpu === null || slots === null || slots <= 0 ? '' : formatPercent(cpu / slots);
}

function memoryCell(line: OwnerLine, screen: Screen): string {
  const worst = largest(line, (record) => record.memory_efficiency);
  const share = worst.memory_efficiency;
  return share === null ? '' : screen.style[shareTone(share)](formatPercent(share));
}

/** How a record stands among others of its job. */
function labelOf(record: JobRecord, screen: Screen): string {
  return heardOf(record, screen)?.silent ? 'silent' : endingLabel(record);
}

function endingCell(line: OwnerLine, screen: Screen): string {
  if (line.length === 1 && line[0].status === 'running') return screen.style.warning(runningLabel(line[0], screen));
  const groups = [...groupBy(line, (record) => labelOf(record, screen))].sort(([, a], [, b]) => b.length - a.length);
  const bad = line.some((record) => succeeded(record) === false);
  const plain = line.every((record) => endingLabel(record) === 'ok');
  const text = groups
    .map(([label, group]) => (line.length === 1 ? label : `${formatCount(group.length)} ${label}`))
    .join(', ');
  return bad ? screen.style.bad(text) : plain ? text : screen.style.warning(text);
}

/** "4711", "4711.3"; for several records "4720 ×20" tasks, "4711 (2 runs)". */
function jobCell(line: OwnerLine, screen: Screen): string {
  const tasks = new Set(line.map((record) => record.task_id)).size;
  if (line.length === 1) return jobLabel(line[0], screen);
  return tasks > 1 ? `${line[0].job_id} ${screen.glyphs.times}${tasks}` : `${line[0].job_id} (${line.length} runs)`;
}

const COLUMNS: readonly OwnerColumn[] = [
  {
    head: 'job',
    cell: (line, screen) => jobCell(line, screen),
  },
  { head: 'name', shrinksTo: 14, cell: ([record], screen) => screen.safe(record.job_name ?? '') },
  {
    head: 'host',
    dispensable: 4,
    shrinksTo: 8,
    cell: (line, screen) => {
      const hosts = new Set(line.map(({ host }) => host));
      return hosts.size === 1 ? screen.safe(line[0].host) : `${hosts.size} hosts`;
    },
  },
  { head: 'until', dispensable: 1, cell: whenCell },
  {
    head: 'ran',
    align: 'right',
    cell: (line) => {
      const seconds = largest(line, (record) => record.wallclock_seconds).wallclock_seconds;
      return seconds === null ? '' : formatDuration(seconds);
    },
  },
  {
    head: 'slots',
    dispensable: 3,
    align: 'right',
    cell: ([record]) => String(record.host_slots ?? record.slots ?? ''),
  },
  {
    head: 'asked',
    align: 'right',
    cell: (line) => {
      const limit = limitOf(largest(line, limitOf));
      return limit === null ? '' : formatRequested(limit);
    },
  },
  {
    head: 'peak',
    align: 'right',
    cell: (line, { glyphs }) => {
      const bracket = largest(line, peakOf).peak_rss;
      if (bracket === null) return glyphs.none;
      // In a list the range is told by its upper end: what must have been enough.
      return bracket.upper_bytes === null ? formatBracket(bracket, glyphs) : formatBytes(bracket.upper_bytes, 'up');
    },
  },
  { head: 'of it', align: 'right', cell: memoryCell },
  { head: 'CPU', align: 'right', cell: efficiencyCell },
  {
    head: 'unused',
    dispensable: 2,
    align: 'right',
    cell: (line) => {
      const bytes = sum(line.length === 1 ? line : hostsOf(line), unused);
      return bytes === null ? '' : formatGibHours(bytes);
    },
  },
  { head: 'ended', cell: endingCell },
];

/** Lines of jobs: asked, peak, how much of it, CPU, how they ended; as many columns as fit. */
export function renderOwnerTable(lines: readonly OwnerLine[], screen: Screen): string[] {
  const rows = lines.map((line) => COLUMNS.map((column) => column.cell(line, screen)));
  return renderTable(COLUMNS, rows, screen);
}
