import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DAY_MS, HOUR_MS } from '../../base/units';
import { dayOf, isoDay } from '../../accounting/sums/periods';
import { suffixOf, type FormatName } from '../../export/format';
import type { Interval } from '../arguments';

/** A file to write, and the interval that it covers. */
interface OutputPart {
  readonly path: string;
  readonly interval: Interval;
}

/** A day's file is written only once, so it waits this long for records that hosts deliver late. */
const LATE_MS = 6 * HOUR_MS;

/**
 * One file in `directory` ("records-2026-11-01.csv") for each whole UTC day of the interval that ended at least six
 * hours before `now`. Days that have a file are left out, so that an export continues where the last one ended.
 */
export function daysToWrite(
  directory: string,
  [subject, format]: readonly [string, FormatName],
  { since, until }: Interval,
  now: Date,
): readonly OutputPart[] {
  const first = Math.ceil(since.getTime() / DAY_MS);
  const end = dayOf(Math.min(until.getTime(), now.getTime() - LATE_MS));
  return Array.from({ length: Math.max(0, end - first) }, (_none, index) => first + index)
    .map((day) => ({
      path: join(directory, `${subject}-${isoDay(day)}.${suffixOf(format)}`),
      interval: { since: new Date(day * DAY_MS), until: new Date((day + 1) * DAY_MS) },
    }))
    .filter(({ path }) => !existsSync(path));
}
