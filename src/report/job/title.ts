import { jobTaskName } from '../../record/job-name';
import type { JobRecord } from '../../record/record';
import type { JobWhole } from './job-whole';
import { displayWidth, truncate } from '../screen/text-width';
import { formatClock, formatDay, formatInterval, formatMoment, formatZone, parseTime } from '../format/local-time';
import type { Screen } from '../screen/screen';
import { formatDuration, plural } from '../format/units';

/** "4711", "4711.3", "4711.3 (1.node07)", "run-7". */
export function jobLabel(record: JobRecord, screen: Screen): string {
  const peTask = record.pe_task_id === null ? '' : ` (${screen.safe(record.pe_task_id)})`;
  return `${jobTaskName(record)}${peTask}`;
}

/** A line with text at both ends; if it is too long, the left text is cut. */
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

/** "2026-11-20 14:02:11 → 15:25:56 UTC+01:00"; a day that both share is printed once. */
export function formatSpan(started: Date, ended: Date | null, screen: Screen): string {
  if (ended === null) return `started ${formatMoment(started)} ${formatZone(started)}`;
  const { arrow } = screen.glyphs;
  const sameDay = formatDay(ended) === formatDay(started) && formatZone(ended) === formatZone(started);
  if (sameDay) return `${formatMoment(started)} ${arrow} ${formatClock(ended)} ${formatZone(ended)}`;
  return formatInterval(started, ended, arrow, formatMoment);
}

/** When a record's job started and ended, and how long it ran. */
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

/** " on node07" where the job has other hosts, too. */
export function onHost({ sum }: JobWhole, { host }: JobRecord, screen: Screen): string {
  return sum === null || sum.hosts.length < 2 ? '' : ` on ${screen.safe(host)}`;
}

/** Owner, host or number of hosts, slots, and project of a job. */
export function describePlaces({ sum, total }: JobWhole, screen: Screen): string[] {
  if (sum === null) return describePlace(total, screen);
  return placeWords(total, plural(sum.hosts.length, 'host'), slotsWords(sum.slots), screen);
}

/** Owner, queue or host, slots, and project of one record. */
export function describePlace(record: JobRecord, screen: Screen): string[] {
  const queue =
    record.queue === null ? '' : record.queue.includes('@') ? record.queue : `${record.queue}@${record.host}`;
  const slots = record.host_slots ?? record.slots;
  const shared = record.slots !== null && record.slots !== slots ? ` of ${record.slots}` : '';
  const width = slots === 1 && record.pe === null ? '' : slotsWords(slots, shared);
  return placeWords(record, screen.safe(queue === '' ? record.host : queue), width, screen);
}

const slotsWords = (slots: number | null, shared = ''): string =>
  slots === null ? '' : `${slots}${shared} slot${slots === 1 ? '' : 's'}`;

type Placed = Pick<JobRecord, 'owner' | 'pe' | 'project'>;

/** Owner, `where` and `slots` ('': not known), parallel environment and project. */
export function placeWords({ owner, pe, project }: Placed, where: string, slots: string, screen: Screen): string[] {
  return [
    owner === null ? '' : screen.safe(owner),
    where,
    slots === '' || pe === null ? slots : `${slots} (${screen.safe(pe)})`,
    project === null || project === 'NONE' ? '' : `project ${screen.safe(project)}`,
  ].filter((part) => part !== '');
}
