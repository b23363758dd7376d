import { DAY_MS, twoDigits } from '../base/units';
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

// No hour 24, which Date.parse takes for the next midnight.
const ISO = /^\s*(\d{4}-\d\d-\d\d)[T ]((?:[01]\d|2[0-3]):\d\d:\d\d(?:\.\d{1,9})?)(Z|[+-]\d\d:?\d\d)?\s*$/;
const AMERICAN = /^\s*(\d\d)\/(\d\d)\/(\d{4}) ((?:[01]\d|2[0-3]):\d\d:\d\d(?:\.\d{1,9})?)\s*$/;

function isoTime(text: string): number | null {
  const match = ISO.exec(text);
  return match === null ? null : moment(`${match[1]}T${match[2]}`, match[3]);
}

function americanTime(text: string): number | null {
  const match = AMERICAN.exec(text);
  return match === null ? null : moment(`${match[3]}-${match[1]}-${match[2]}T${match[4]}`, undefined);
}

function moment(local: string, zone: string | undefined): number | null {
  const time = Date.parse(local + (zone ?? ''));
  // "Never" is printed as the epoch in local time: at most a day from 0.
  return time > (zone === undefined ? DAY_MS : 0) ? time : null;
}

/** A time as qstat prints it: ISO without a zone, in the local time of this process, to the second. */
export function printReportTime(ms: number): string {
  const moment = new Date(ms);
  const day = [moment.getFullYear(), twoDigits(moment.getMonth() + 1), twoDigits(moment.getDate())].join('-');
  return `${day}T${[moment.getHours(), moment.getMinutes(), moment.getSeconds()].map(twoDigits).join(':')}`;
}
