import { isValid } from 'date-fns/isValid';
import { parseISO } from 'date-fns/parseISO';
import { startOfDay } from 'date-fns/startOfDay';
import { subDays } from 'date-fns/subDays';
import { subHours } from 'date-fns/subHours';
import { subMinutes } from 'date-fns/subMinutes';
import { subWeeks } from 'date-fns/subWeeks';
import { usageError } from './command';

const AGO = new Map<string, (now: Date, count: number) => Date>([
  ['m', subMinutes],
  ['h', subHours],
  // Days and weeks are calendar days and weeks: the same time of day, also across a change of daylight saving time.
  ['d', subDays],
  ['w', subWeeks],
]);

const WORDS = new Map<string, (now: Date) => Date>([
  ['now', (now) => now],
  ['today', startOfDay],
  ['yesterday', (now) => startOfDay(subDays(now, 1))],
]);

const MOMENT = /^\d{4}-\d\d-\d\d(?:[ T]\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:\d\d)?)?$/;

function timeOf(text: string, now: Date): Date | null {
  const word = WORDS.get(text);
  if (word !== undefined) return word(now);
  const span = /^(\d{1,6})([mhdw])$/.exec(text);
  if (span !== null) return AGO.get(span[2] ?? '')?.(now, Number(span[1])) ?? null;
  return MOMENT.test(text) ? parseISO(text.replace(' ', 'T')) : null;
}

/**
 * A time as people write it: "7d", "12h", "30m", "2w" (ago), "today", "yesterday" (their first moment), "2026-11-01",
 * "2026-11-01 08:00" (local zone, unless one is given). Throws a usage error that names the option.
 */
export function parseTimeArgument(option: string, text: string, now: Date): Date {
  const time = timeOf(text.trim(), now);
  if (time === null || !isValid(time))
    throw usageError(
      `${option}: "${text}" is not a time; write 7d, 12h, today, yesterday, 2026-11-01 or '2026-11-01 08:00'`,
    );
  return time;
}

/** From `since` up to, but not including, `until`. */
export interface Interval {
  readonly since: Date;
  readonly until: Date;
}

/** The interval of --since and --until (default: now). Throws a usage error if the interval is empty. */
export function parseInterval(since: string, until: string | undefined, now: Date): Interval {
  const interval = {
    since: parseTimeArgument('--since', since, now),
    until: until === undefined ? now : parseTimeArgument('--until', until, now),
  };
  if (interval.since >= interval.until)
    throw usageError(`--since ${since} is not before --until ${until ?? 'now'}: nothing lies between them`);
  return interval;
}

/** "; --since 30d looks further back" if `since` is later than that; otherwise empty. */
export function furtherBack(since: Date, now: Date, further = '30d'): string {
  return since > parseTimeArgument('--since', further, now) ? `; --since ${further} looks further back` : '';
}

/** A risk: "1%", "0.5", in percent from 0.1 to 50. Throws a usage error that names the option. */
export function parseRisk(option: string, text: string): number {
  const percent = /^\d{1,2}(?:\.\d{1,6})?(?=\s?%?$)/.exec(text.trim())?.[0];
  const risk = percent === undefined ? 0 : Number(percent) / 100;
  if (risk < 0.001 || risk > 0.5)
    throw usageError(`${option}: "${text}" is not a percentage from 0.1 to 50; write 1, 0.5 or 5%`);
  return risk;
}
