import { epochToMs } from './epoch-time';

/**
 * A time as qstat or qhost prints it, in milliseconds since the epoch; null if it is none.
 *
 * Most dialects print ISO without a zone, in the local time of the client that ran (so of this process, where it shares
 * TZ), with a fraction since Open Cluster Scheduler; its JSON has `Z`; Univa's compatible mode and qstat's text print
 * `MM/DD/YYYY HH:MM:SS`; qhost prints the epoch in the unit of its dialect. Of the two meanings that a local time has
 * when summer time ends, the first is taken.
 */
export function parseReportTime(text: string): number | null {
  if (text === '') return null;
  return isoTime(text) ?? epochToMs(text.trim()) ?? americanTime(text);
}

const iso = /^\s*(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:?\d\d)?\s*$/;

function isoTime(text: string): number | null {
  const match = iso.exec(text);
  if (match === null) return null;
  const [, year, month, day, hour, minute, second, fraction, zone] = match;
  return moment({ year, month, day, hour, minute, second, fraction, zone });
}

function americanTime(text: string): number | null {
  const match = /^\s*(\d\d)\/(\d\d)\/(\d{4}) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?\s*$/.exec(text);
  if (match === null) return null;
  const [, month, day, year, hour, minute, second, fraction] = match;
  return moment({ year, month, day, hour, minute, second, fraction, zone: undefined });
}

type Part = 'year' | 'month' | 'day' | 'hour' | 'minute' | 'second' | 'fraction' | 'zone';

function moment(text: Readonly<Record<Part, string | undefined>>): number | null {
  const year = Number(text.year);
  const month = Number(text.month);
  const day = Number(text.day);
  const hour = Number(text.hour);
  const minute = Number(text.minute);
  const second = Number(text.second);
  const ms = text.fraction === undefined ? 0 : milliseconds(text.fraction);
  if (year < 1970 || month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60) {
    return null;
  }
  if (text.zone !== undefined) {
    return after(0, Date.UTC(year, month - 1, day, hour, minute, second, ms) - offset(text.zone));
  }
  // "Never" is printed as the epoch in local time: at most a day from 0.
  return after(86_400_000, new Date(year, month - 1, day, hour, minute, second, ms).getTime());
}

function after(least: number, time: number): number | null {
  return time > least ? time : null;
}

function milliseconds(fraction: string): number {
  return Math.floor(Number(`0.${fraction}`) * 1000 + 1e-6);
}

function offset(zone: string): number {
  if (zone === 'Z') return 0;
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(-2));
  return (zone.startsWith('-') ? -minutes : minutes) * 60_000;
}

/** A time as qstat prints it: ISO without a zone, in the local time of this process, to the second. */
export function printReportTime(ms: number): string {
  const moment = new Date(ms);
  const two = (value: number): string => String(value).padStart(2, '0');
  const day = [moment.getFullYear(), two(moment.getMonth() + 1), two(moment.getDate())].join('-');
  return `${day}T${[moment.getHours(), moment.getMinutes(), moment.getSeconds()].map(two).join(':')}`;
}
