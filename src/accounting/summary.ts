import type { CoverageReason } from '../record/coverage';
import type { Totals } from '../record/totals';
import type { RecordFilter, Shown } from './store';

/** What a day's jobs are summed by in the roll-ups. */
export const DIMENSIONS = ['owner', 'project', 'queue', 'host', 'job_name'] as const;
export type Dimension = (typeof DIMENSIONS)[number];

/**
 * Roll-ups answer a query if one of their grouping sets (GROUPING_SETS) has the dimensions that it filters and groups
 * by; any other query is answered from the records of the interval.
 */
export interface SummaryQuery extends RecordFilter {
  /** `job_name` groups by name class: digits that a name differs in are one `#`. */
  readonly by: Dimension | 'day' | 'cluster';
  /** At most this many groups, by `sort` (default: all). */
  readonly limit?: number;
  readonly sort?: keyof Totals;
}

export interface SummaryGroup {
  /** The owner, host ...; null: records have none. For 'day' the ISO date (UTC) at which it begins. */
  readonly key: string | null;
  readonly totals: Totals;
}

/** What an hour of the day (0 to 23, local time of the reader) saw, over all days of the interval. */
export interface HourOfDay {
  readonly requested_gib_hours: number;
  readonly used_gib_hours: number;
  readonly slot_hours: number;
}

export interface SummaryAnswer {
  readonly groups: readonly SummaryGroup[];
  /** Over all records, also those of groups that `limit` leaves out. */
  readonly totals: Totals;
  /** 24 items. */
  readonly hours: readonly HourOfDay[];
  /** Ended records by peak over limit: below 5 %, 10 %, ... 100 %, and above: 21 items. */
  readonly shares: readonly number[];
  readonly coverage: Readonly<Record<CoverageReason, number>>;
  /** Records that were read one by one, since their days have no up-to-date roll-up. */
  readonly read: number;
  readonly shown?: Shown;
}
