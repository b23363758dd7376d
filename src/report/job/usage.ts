import { H_VMEM } from '../../gridengine/memory-complex';
import { activeSeconds, cpuEfficiency, queueWait } from '../../record/efficiency';
import type { JobRecord, MemoryRequest } from '../../record/record';
import { limitOf, limitsKnown, requestOf } from '../../record/request';
import {
  formatBytes,
  formatCount,
  formatDuration,
  formatMemoryTime,
  formatMemoryTimes,
  formatPercent,
  gibHoursOf,
  formatRequested,
  plural,
} from '../format/units';
import type { Screen } from '../screen/screen';
import { SECTION_INDENT } from '../screen/layout';
import { renderTable } from '../screen/table';
import type { JobWhole } from './job-whole';

/** Seconds. */
const LEAST_SUSPENDED = 1;

function cpu(record: JobRecord, screen: Screen): string | null {
  if (record.cpu_seconds === null) return null;
  const time = formatDuration(record.cpu_seconds);
  const share = cpuEfficiency(record);
  const active = activeSeconds(record);
  if (share === null || active === null) return time;
  const slots = record.host_slots ?? record.slots ?? 1;
  const over = `${formatDuration(active)} ${screen.glyphs.times} ${slots} slot${slots === 1 ? '' : 's'}`;
  return `${time}, ${formatPercent(share)} of ${over}`;
}

/** null: hardly ever, or not known. */
export const suspendedTime = ({ suspended_seconds: suspended }: JobRecord): string | null =>
  (suspended ?? 0) < LEAST_SUSPENDED ? null : formatDuration(suspended ?? 0);

function processes(record: JobRecord): string | null {
  if (record.processes === null) return null;
  const parts = [formatCount(record.processes)];
  if (record.max_processes !== null) parts.push(`at most ${formatCount(record.max_processes)} at once`);
  if (record.max_threads !== null) parts.push(plural(record.max_threads, 'thread'));
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
  return `${texts.join(' of ')} ${unit} requested`;
}

const NAME_AND_VALUE = [
  { head: '', shrinksTo: 16 },
  { head: '', shrinksTo: 20 },
] as const;

type NameAndValue = readonly [name: string, value: string];

/** What the job used beside its peaks: CPU, processes, I/O, memory over time. */
export function renderConsumption(record: JobRecord, isOnly: boolean, screen: Screen): string[] {
  return renderTable(NAME_AND_VALUE, consumption(record, isOnly, screen), screen, screen.width - SECTION_INDENT);
}

/**
 * What the job used, by name; unknown values are left out. `isOnly`: the job ran once, so that the time from its
 * submission to its start is its queue wait.
 */
export function consumption(record: JobRecord, isOnly: boolean, screen: Screen): readonly NameAndValue[] {
  const wait = isOnly ? queueWait(record) : null;
  const all: readonly (readonly [string, string | null])[] = [
    ['CPU time', cpu(record, screen)],
    ['suspended', suspendedTime(record)],
    ['processes', processes(record)],
    ['I/O', transfer(record.read_bytes, record.written_bytes)],
    ['I/O by calls', transfer(record.read_chars, record.written_chars, ' (with page cache)')],
    ['memory-hours', memoryTime(record, screen)],
    ['queue wait', wait === null ? null : formatDuration(wait)],
  ];
  return all.flatMap(([name, value]) => (value === null ? [] : [[name, value] as const]));
}

function describeRequest(request: MemoryRequest, slots: number | null, where: string, screen: Screen): string {
  const { request_bytes: asked, limit_bytes: limit, per } = request;
  if (limit === null) return asked === null ? 'no limit' : formatRequested(asked);
  if (asked === null) return `${formatRequested(limit)} ${where}`;
  if (per === 'job') return `${formatRequested(limit)} for the whole job`;
  if (per === 'host') return `${formatRequested(asked)} on each host`;
  if (slots === null || slots <= 1) return formatRequested(limit);
  return `${formatRequested(asked)} per slot ${screen.glyphs.times} ${slots} slots = ${formatRequested(limit)} ${where}`;
}

/** For a job without a limit: an accounting line alone does not show the defaults of complexes. */
export const unlimitedText = ({ records: [master], total }: JobWhole): string =>
  requestOf(total) !== null || limitsKnown(master) ? 'no limit' : 'not known';

/** What the job requested: first the request that it is judged by, then its other memory requests. */
export function renderRequests(whole: JobWhole, screen: Screen): string[] {
  return renderTable(NAME_AND_VALUE, requested(whole, screen), screen, screen.width - SECTION_INDENT);
}

/** The requests, by complex; `hosts`: how the hosts of a parallel job are named. */
export function requested(
  whole: JobWhole,
  screen: Screen,
  hosts = plural(whole.sum?.hosts.length ?? 1, 'host'),
): readonly NameAndValue[] {
  const { sum, total } = whole;
  const slots = (sum === null ? total.host_slots : null) ?? total.slots;
  const where = sum === null ? 'on this host' : `on ${hosts}`;
  const request = requestOf(total);
  const all = { ...(total.h_vmem === null ? {} : { [H_VMEM]: total.h_vmem }), ...total.requests };
  const others = Object.entries(all)
    .filter(([complex]) => complex !== request?.complex)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return [
    request === null
      ? ['memory', unlimitedText(whole)]
      : [screen.safe(request.complex), describeRequest(request, slots, where, screen)],
    ...others.map(
      ([complex, request]) => [screen.safe(complex), describeRequest(request, slots, where, screen)] as const,
    ),
  ];
}
