import { formatDay } from '../../report/format/local-time';
import { usageError } from '../command';

/** A local calendar day, half-open; the following night's run reports on it. */
export interface Night {
  readonly day: string;
  readonly since: Date;
  readonly until: Date;
}

function dayAfter(since: Date, days: number): Date {
  return new Date(since.getFullYear(), since.getMonth(), since.getDate() + days);
}

/** The local day so many days ago; 0: today. */
export const dayBefore = (now: Date, days: number): string => formatDay(dayAfter(now, -days));

function nightFrom(since: Date): Night {
  return { day: formatDay(since), since, until: dayAfter(since, 1) };
}

/** The night for a day written as 2026-11-20; null for anything else. */
export function nightOf(day: string): Night | null {
  const parts = /^(\d{4})-(\d\d)-(\d\d)$/.exec(day)?.slice(1).map(Number);
  if (parts === undefined) return null;
  const [year = 0, month = 0, date = 0] = parts;
  const night = nightFrom(new Date(year, month - 1, date));
  return night.day === day ? night : null;
}

/** Yesterday. */
export function lastNight(now: Date): Night {
  return nightFrom(dayAfter(now, -1));
}

/** Parses --date. Throws a usage error if it is no day, or the day is not over yet. */
export function parseNight(text: string, now: Date): Night {
  const night = nightOf(text);
  if (night === null) throw usageError(`--date: "${text}" is not a day; write 2026-11-20`);
  if (night.until > now) throw usageError(`--date: ${text} is not over yet; the newest is ${lastNight(now).day}`);
  return night;
}

interface DueNights {
  /** Oldest first. */
  readonly due: readonly Night[];
  /** Days missed so long ago that no report is made any more. */
  readonly skipped: readonly string[];
}

/** After a gap, only nights of the last so many days are caught up. */
export const MOST_CAUGHT_UP = 7;
/** How many days back missed nights are looked for. */
export const LOOK_BACK_DAYS = 60;

/** The nights of the last LOOK_BACK_DAYS, the newest first. */
export const nightsBack = (now: Date): readonly Night[] =>
  Array.from({ length: LOOK_BACK_DAYS }, (_, index) => nightFrom(dayAfter(now, -1 - index)));

/** The state of a night; "by date": it was begun only because --date asked for it. */
export type NightKnown = 'unknown' | 'begun' | 'begun by date' | 'settled' | 'settled by date';

/**
 * The nights to do now: all that are not settled since the oldest known one within LOOK_BACK_DAYS; if none is known,
 * only last night. A night that only --date asked for does not count as the oldest known one.
 */
export function dueNights(now: Date, known: (day: string) => NightKnown): DueNights {
  const back = nightsBack(now).toReversed();
  const first = back.findIndex(({ day }) => ['begun', 'settled'].includes(known(day)));
  const open = (first < 0 ? back.slice(-1) : back.slice(first)).filter(({ day }) => !known(day).startsWith('settled'));
  const oldest = dayAfter(now, -MOST_CAUGHT_UP);
  return {
    due: open.filter(({ since }) => since >= oldest),
    skipped: open.filter(({ since }) => since < oldest).map(({ day }) => day),
  };
}

interface ChosenNights {
  readonly nights: readonly Night[];
  readonly skipped: readonly string[];
}

/** The nights that a run does: that of `date`, or all that are due; `force`: also a night that is done. */
export function chooseNights(
  now: Date,
  known: (day: string) => NightKnown,
  { date, force = false }: { readonly date?: string; readonly force?: boolean },
): ChosenNights {
  if (date !== undefined) {
    const asked = parseNight(date, now);
    return { nights: force || !known(asked.day).startsWith('settled') ? [asked] : [], skipped: [] };
  }
  const { due, skipped } = dueNights(now, known);
  return { nights: due.length === 0 && force ? [lastNight(now)] : due, skipped };
}
