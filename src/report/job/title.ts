import { jobTaskName } from '../../record/job-name';
import type { JobRecord } from '../../record/record';
import { displayWidth, truncate } from '../screen/text-width';
import { formatClock, formatDay, formatMoment, formatZone, parseTime } from '../format/local-time';
import type { Screen } from '../screen/screen';
import { formatDuration } from '../format/units';

/** "4711", "4711.3", "4711.3 (1.node07)", "run-7". */
export function jobLabel(record: JobRecord, screen: Screen): string {
  const peTask = record.pe_task_id === null ? '' : ` (${screen.safe(record.pe_task_id)})`;
  return `${jobTaskName(record)}${peTask}`;
}

/** A line with text at both ends; the left gives way. `paintRight` gets the right text only. */
export function spread(
  left: string,
  right: string,
  screen: Screen,
  paintLeft: (text: string) => string,
  paintRight: (text: string) => string,
): string {
  const shown = truncate(left, screen.width - displayWidth(right) - 2, screen.glyphs.ellipsis);
  const gap = ' '.repeat(Math.max(2, screen.width - displayWidth(shown) - displayWidth(right)));
  return `${paintLeft(shown)}${gap}${paintRight(right)}`;
}

/** "2026-11-20 14:02:11 → 15:25:56 UTC+01:00"; the day stands once. */
export function formatSpan(started: Date, ended: Date | null, screen: Screen): string {
  if (ended === null) return `started ${formatMoment(started)} ${formatZone(started)}`;
  const end = formatDay(ended) === formatDay(started) ? formatClock(ended) : formatMoment(ended);
  return `${formatMoment(started)} ${screen.glyphs.arrow} ${end} ${formatZone(ended)}`;
}

/** From when to when a record's job ran, and how long. */
export function describeSpan(record: JobRecord, screen: Screen): string {
  const started = parseTime(record.started_at);
  const ended = parseTime(record.ended_at);
  if (started === null) return ended === null ? '' : `ended ${formatMoment(ended)} ${formatZone(ended)}`;
  const ran =
    ended === null || record.wallclock_seconds === null ? '' : ` (${formatDuration(record.wallclock_seconds)})`;
  return formatSpan(started, ended, screen) + ran;
}

/** The command line of the submission, clipped to a line; nothing where it is not known. */
export function renderSubmission(records: readonly JobRecord[], width: number, screen: Screen): string[] {
  const known = records.find(({ grid_engine: account }) => account?.submit_command != null);
  return renderSubmitted(known?.grid_engine?.submit_command ?? null, width, screen);
}

export function renderSubmitted(command: string | null, width: number, screen: Screen): string[] {
  return command === null ? [] : [truncate(`Submitted: ${screen.safe(command)}`, width, screen.glyphs.ellipsis)];
}

/** Who, where, with how many slots. */
export function describePlace(record: JobRecord, screen: Screen): string[] {
  const queue =
    record.queue === null ? '' : record.queue.includes('@') ? record.queue : `${record.queue}@${record.host}`;
  const slots = record.host_slots ?? record.slots;
  const shared = record.slots !== null && slots !== null && record.slots !== slots ? ` of ${record.slots}` : '';
  const width =
    slots === null || (slots === 1 && record.pe === null) ? '' : `${slots}${shared} slot${slots === 1 ? '' : 's'}`;
  const pe = record.pe === null ? '' : ` (${screen.safe(record.pe)})`;
  return [
    record.owner === null ? '' : screen.safe(record.owner),
    screen.safe(queue === '' ? record.host : queue),
    width === '' ? '' : `${width}${pe}`,
    record.project === null || record.project === 'NONE' ? '' : `project ${screen.safe(record.project)}`,
  ].filter((part) => part !== '');
}
