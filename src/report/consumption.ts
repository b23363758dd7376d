import { cpuEfficiency } from '../record/efficiency';
import type { JobRecord } from '../record/record';
import { limitOf } from './fit';
import type { Screen } from './screen';
import { renderTable } from './table';
import {
  formatBytes,
  formatCount,
  formatDuration,
  formatMemoryTime,
  formatMemoryTimes,
  formatPercent,
  gibHoursOf,
} from './units';

function cpu(record: JobRecord, screen: Screen): string | null {
  if (record.cpu_seconds === null) return null;
  const time = formatDuration(record.cpu_seconds);
  const share = cpuEfficiency(record);
  if (share === null || record.wallclock_seconds === null) return time;
  const slots = record.host_slots ?? record.slots ?? 1;
  const over = `${formatDuration(record.wallclock_seconds)} ${screen.glyphs.times} ${slots} slot${slots === 1 ? '' : 's'}`;
  return `${time}, ${formatPercent(share)} of ${over}`;
}

function processes(record: JobRecord): string | null {
  if (record.processes === null) return null;
  const parts = [formatCount(record.processes)];
  if (record.max_processes !== null) parts.push(`at most ${formatCount(record.max_processes)} at once`);
  if (record.max_threads !== null)
    parts.push(`${formatCount(record.max_threads)} thread${record.max_threads === 1 ? '' : 's'}`);
  return parts.join(', ');
}

function transfer(read: number | null, written: number | null, remark = ''): string | null {
  if (read === null && written === null) return null;
  const parts = [
    ...(read === null ? [] : [`${formatBytes(read)} read`]),
    ...(written === null ? [] : [`${formatBytes(written)} written`]),
  ];
  return parts.join(', ') + remark;
}

function memoryTime(record: JobRecord, screen: Screen): string | null {
  if (record.rss_byte_seconds === null) return null;
  const limit = limitOf(record);
  const { dot } = screen.glyphs;
  const held = gibHoursOf(record.rss_byte_seconds);
  if (limit === null || record.wallclock_seconds === null) return formatMemoryTime(held, dot);
  const { texts, unit } = formatMemoryTimes([held, gibHoursOf(limit * record.wallclock_seconds)], dot);
  return `${texts.join(' of ')} ${unit} asked for`;
}

/** What the job used beside its peaks: CPU, processes, I/O, memory over time. */
export function renderConsumption(record: JobRecord, screen: Screen): string[] {
  const rows = [
    ['CPU time', cpu(record, screen)],
    ['processes', processes(record)],
    ['I/O', transfer(record.read_bytes, record.written_bytes)],
    ['I/O by calls', transfer(record.read_chars, record.written_chars, ' (with page cache)')],
    ['RSS over time', memoryTime(record, screen)],
  ].flatMap(([name, value]) => (value == null ? [] : [[name ?? '', value]]));
  return renderTable([{ head: '' }, { head: '' }], rows, screen);
}
