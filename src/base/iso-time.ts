import { DAY_MS } from './units';
import { remembered } from './remembered';

const MINUTE_MS = 60_000;
/** The range of a Date (ECMAScript, time values). */
const MOST_MS = 8.64e15;
const MOST_DAYS = 10_000;

const texts = (count: number, textOf: (number: number) => string): readonly string[] =>
  Array.from({ length: count }, (_item, number) => textOf(number));
const padded = (number: number, digits: number): string => String(number).padStart(digits, '0');
const MINUTES = texts(1440, (minute) => `${padded(Math.floor(minute / 60), 2)}:${padded(minute % 60, 2)}:`);
const SECONDS = texts(60, (second) => `${padded(second, 2)}.`);
const MILLISECONDS = texts(1000, (ms) => `${padded(ms, 3)}Z`);

/** "2026-11-24T" for a day, counted from 1970. */
const textOfDay = remembered(
  (day: number) => new Date(day * DAY_MS).toISOString().slice(0, -'00:00:00.000Z'.length),
  MOST_DAYS,
);

/** As `toISOString` of a Date, in a third of the time. Throws RangeError if there is no such date. */
export function isoTime(time: number): string {
  const ms = Math.trunc(time);
  if (!(Math.abs(ms) <= MOST_MS)) throw new RangeError(`${time} ms is not a time`);
  const day = Math.floor(ms / DAY_MS);
  const ofDay = ms - day * DAY_MS;
  const minute = Math.floor(ofDay / MINUTE_MS);
  const ofMinute = ofDay - minute * MINUTE_MS;
  const second = Math.floor(ofMinute / 1000);
  return `${textOfDay(day)}${MINUTES[minute] ?? ''}${SECONDS[second] ?? ''}${MILLISECONDS[ofMinute % 1000] ?? ''}`;
}

/** The same for a time that may be unknown. */
export const isoTimeOrNull = (time: number | null): string | null => (time === null ? null : isoTime(time));
