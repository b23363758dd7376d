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
  return isoTime(text) ?? epochToMs(text.trim()) ?? americanTime(text);
}

function isoTime(text: string): number | null {
  const match =
    /^\s*(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:?\d\d)?\s*$/.exec(text);
  if (match === null) return null;
  const [, year, month, day, hour, minute, second, fraction = '', zone] = match;
  const parts = [year, month, day, hour, minute, second].map(Number);
  return moment(parts, milliseconds(fraction), zone);
}

function americanTime(text: string): number | null {
  const match = /^\s*(\d\d)\/(\d\d)\/(\d{4}) (\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?\s*$/.exec(text);
  if (match === null) return null;
  const [, month, day, year, hour, minute, second, fraction = ''] = match;
  return moment([year, month, day, hour, minute, second].map(Number), milliseconds(fraction), undefined);
}

function moment(parts: readonly number[], ms: number, zone: string | undefined): number | null {
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts;
  if (year < 1970 || month < 1 || month > 12 || day < 1 || day > 31 || hour > 23 || minute > 59 || second > 60) return null;
  // Grid Engine prints the epoch itself for "never", in local time: at most a day from 0.
  const time =
    zone === undefined
      ? new Date(year, month - 1, day, hour, minute, second, ms).getTime()
      : Date.UTC(year, month - 1, day, hour, minute, second, ms) - offset(zone);
  return Number.isFinite(time) && time > 86_400_000 ? time : null;
}

function milliseconds(fraction: string): number {
  return fraction === '' ? 0 : Math.floor(Number(`0.${fraction}`) * 1000 + 1e-6);
}

function offset(zone: string): number {
  if (zone === 'Z') return 0;
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(-2));
  return (zone.startsWith('-') ? -minutes : minutes) * 60_000;
}
