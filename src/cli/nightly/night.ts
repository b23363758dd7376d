import { formatDay } from '../../report/format/local-time';
import { usageError } from '../command';

/** A local calendar day, which the night after it reports on. Half-open. */
export interface Night {
  readonly day: string;
  readonly since: Date;
  readonly until: Date;
}

function dayAfter(since: Date, days: number): Date {
  return new Date(since.getFullYear(), since.getMonth(), since.getDate() + days);
}

function nightFrom(since: Date): Night {
  return { day: formatDay(since), since, until: dayAfter(since, 1) };
}

/** Of a day written as 2026-11-20; null for anything else. */
export function nightOf(day: string): Night | null {
  const parts = /^(\d{4})-(\d\d)-(\d\d)$/.exec(day)?.slice(1).map(Number);
  if (parts === undefined) return null;
  const [year = 0, month = 0, date = 0] = parts;
  const night = nightFrom(new Date(year, month - 1, date));
  return night.day === day ? night : null;
}

/** The day before the one that is now. */
export function lastNight(now: Date): Night {
  return nightFrom(dayAfter(now, -1));
}

/** --date. Throws a usage error. */
export function parseNight(text: string, now: Date): Night {
  const night = nightOf(text);
  if (night === null) throw usageError(`--date: "${text}" is not a day; write 2026-11-20`);
  if (night.until > now) throw usageError(`--date: ${text} is not over yet; the newest is ${lastNight(now).day}`);
  return night;
}

interface DueNights {
  /** Oldest first. */
  readonly due: readonly Night[];
  /** Missed so long ago that nobody gets a report any more. */
  readonly skipped: readonly string[];
}

/** After a longer gap only these newest nights are caught up. */
export const MOST_CAUGHT_UP = 7;
/** How far back a gap is looked for. */
export const LOOK_BACK_DAYS = 60;

/** What is known of a night: nothing; that it was begun, or is settled, and whether only since --date asked for it. */
export type NightKnown = 'unknown' | 'begun' | 'begun by date' | 'settled' | 'settled by date';

/**
 * What is to be done now: every night since the oldest one known of the last 60 days that is not settled; where none is
 * known, the last one alone. A night that was asked for with --date begins no such series.
 */
export function dueNights(now: Date, known: (day: string) => NightKnown): DueNights {
  const back = Array.from({ length: LOOK_BACK_DAYS }, (_, index) => nightFrom(dayAfter(now, index - LOOK_BACK_DAYS)));
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

/** The nights that a run takes: that of `date`, or those that are due; by force where it is done, too. */
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
