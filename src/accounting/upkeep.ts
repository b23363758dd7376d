import { DAY_MS } from '../base/units';
import { UserError } from '../base/user-error';
import type { LongWork, Pruned, Retention } from './history-store';
import { dayOf, isoDay } from './sums/periods';

/**
 * The steps of roll-ups and retention: each step that changes the store is a short transaction, in which no other
 * process writes. Between steps others write, and may do the same work. Steps that remove resolve to how many rows they
 * removed; null: nothing was left.
 */
export interface Upkeep {
  /** Days whose records have changed since they were summed up, in order. */
  staleDays(): Promise<readonly number[]>;
  /** Sums a day up; false: another process has done it. */
  putDay(day: number): Promise<boolean>;
  /** Sums up the first month or year that is over and has no sums, from its days or months; false: there is none. */
  putNext(): Promise<boolean>;
  /** When the newest record counts (ms); null: there are no records. */
  newest(): Promise<number | null>;
  /** How many records are from before the day. */
  countRecords(before: number): Promise<number>;
  /** Sums up one of the days or, once that is done, removes some of their records; those sums never change again. */
  removeRecords(before: number): Promise<number | null>;
  removeSeries(before: number): Promise<number | null>;
  /** Removes sums of days, and of months and years that lose days: the next roll-up makes these from the days left. */
  removeSums(before: number): Promise<number | null>;
  /** Gives the space of removed rows back to the file system; resolves to the bytes given back. */
  giveSpaceBack(interrupted: () => boolean): Promise<number>;
}

/** Sums up the days whose records have changed since, and their months and years; resolves to how many days. */
export async function rollUp(store: Upkeep, { signal, onProgress }: LongWork): Promise<number> {
  const days = await store.staleDays();
  let rolled = 0;
  for (const [index, day] of days.entries()) {
    if (signal?.aborted) return rolled;
    if (await store.putDay(day)) rolled++;
    onProgress?.(index + 1, days.length);
  }
  for (let more = true; more && !signal?.aborted;) more = await store.putNext();
  return rolled;
}

/** The first UTC day that is kept if rows are kept for `days` days; null: all are. */
export const firstKept = (days: number, now: number): number | null =>
  days > 0 ? Math.max(0, dayOf(now - days * DAY_MS)) : null;

/** Which jobs a list or sum from `since` on (ms since the epoch) lacks, as records are kept for `days` days only; null: none. */
export function prunedWords(days: number, since: number, now: number, what: string): string | null {
  const first = firstKept(days, now);
  return first === null || since >= first * DAY_MS
    ? null
    : `jobs from before ${isoDay(first)} UTC are not ${what}: their records are kept ${days} days (keep_records_days)`;
}

/** A cluster without any job for longer than this is rarer than a clock that is ahead. */
const MOST_SILENT_DAYS = 90;

/** Throws UserError if `now` is so late that the clock may be ahead: all that is kept could be lost by it. */
async function requireLikelyClock(store: Upkeep, now: number): Promise<void> {
  const newest = await store.newest();
  const days = newest === null ? 0 : Math.floor((now - newest) / DAY_MS);
  if (newest === null || days <= MOST_SILENT_DAYS) return;
  throw new UserError(
    `the newest record is of ${isoDay(dayOf(newest))}, ${days} days before this host's clock (${isoDay(dayOf(now))}): nothing is removed`,
    { hint: 'set the clock right; if no job has run since, set keep_*_days to 0' },
  );
}

/** How many records `prune` would remove. Rejects as `prune`. */
export async function countOld(store: Upkeep, { records: days }: Retention, now: number): Promise<number> {
  const first = firstKept(days, now);
  if (first === null) return 0;
  await requireLikelyClock(store, now);
  return store.countRecords(first);
}

/**
 * Removes whole UTC days that are older than `rules` allow; sums are kept at least as long as their records. Rejects with
 * UserError if the clock seems to be ahead.
 */
export async function prune(
  store: Upkeep,
  rules: Retention,
  now: number,
  { signal, onProgress }: LongWork,
): Promise<Pruned> {
  const [records, series, sums] = [
    firstKept(rules.records, now),
    firstKept(rules.series, now),
    firstKept(rules.rollups, now),
  ];
  if (records === null && series !== null) await requireLikelyClock(store, now);
  const done = { records: 0, series: 0, rollups: 0 };
  const interrupted = (): boolean => signal?.aborted ?? false;
  const expected = await countOld(store, rules, now);
  const say = (): void => {
    const sum = done.records + done.series + done.rollups;
    onProgress?.(sum, Math.max(sum, expected));
  };
  const repeat = async (what: keyof typeof done, remove: () => Promise<number | null>): Promise<void> => {
    for (let gone: number | null = 0; gone !== null && !interrupted();) {
      gone = await remove();
      done[what] += gone ?? 0;
      say();
    }
  };
  if (records !== null) await repeat('records', () => store.removeRecords(records));
  if (series !== null) await repeat('series', () => store.removeSeries(series));
  if (sums !== null && records !== null) await repeat('rollups', () => store.removeSums(Math.min(sums, records)));
  const freed = interrupted() ? 0 : await store.giveSpaceBack(interrupted);
  return { ...done, freed, complete: !interrupted() };
}
