import { twoDigits as two } from '../../base/units';

/** Local calendar day: "2026-11-20". */
export function formatDay(date: Date): string {
  return `${String(date.getFullYear()).padStart(4, '0')}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** Local time of day: "14:02:11". */
export function formatClock(date: Date): string {
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** Local day and time: "2026-11-20 14:02:11". */
export function formatMoment(date: Date): string {
  return `${formatDay(date)} ${formatClock(date)}`;
}

/** Local day and time to the minute: "2026-11-20 14:02". */
export function formatMinute(date: Date): string {
  return formatMoment(date).slice(0, -3);
}

/** The local zone at that moment: "UTC", "UTC+01:00". */
export function formatZone(date: Date): string {
  const minutes = -date.getTimezoneOffset();
  if (minutes === 0) return 'UTC';
  const size = Math.abs(minutes);
  return `UTC${minutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`;
}

/** "2026-11-20 14:02 → 2026-11-21 15:25 UTC+01:00"; both times have their zone where it changes in between. */
export function formatInterval(from: Date, to: Date, between: string, format = formatMinute): string {
  const [first, last] = [formatZone(from), formatZone(to)];
  return `${format(from)}${first === last ? '' : ` ${first}`} ${between} ${format(to)} ${last}`;
}

/** A record's time (ISO 8601); null where there is none or it can't be read. */
export function parseTime(text: string | null): Date | null {
  if (text === null) return null;
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? null : date;
}
