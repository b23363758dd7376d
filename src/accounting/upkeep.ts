import { DAY_MS } from '../base/units';
import type { LongWork, Pruned, Retention } from './history-store';
import { dayOf } from './sums/periods';

/**
 * The steps of roll-ups and retention: those that change the store are a short transaction each, in which no other
 * process writes. Between them others write, and may be at the same work. What removes resolves to how many have gone;
 * null: nothing was left.
 */
export interface Upkeep {
  /** Days whose records have changed since they were summed up, in order. */
  staleDays(): Promise<readonly number[]>;
  /** Sums a day up; false: another process has done it. */
  putDay(day: number): Promise<boolean>;
  /** Sums up the first month or year that is missing by now, of its days or months; false: none is. */
  putNext(): Promise<boolean>;
  /** How many records there are of before a day. */
  countRecords(before: number): Promise<number>;
  /** Sums a day of them up or, where that is done, removes some; these sums stay as they are from then on. */
  removeRecords(before: number): Promise<number | null>;
  removeSeries(before: number): Promise<number | null>;
  /** Of days, and of the months and years that they are no longer whole in: the next roll-up makes these of the days left. */
  removeSums(before: number): Promise<number | null>;
  /** What has gone leaves room; resolves to the bytes of it that the file system has again. */
  giveSpaceBack(gone: Omit<Pruned, 'freed' | 'complete'>, interrupted: () => boolean): Promise<number>;
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

/** The first UTC day that is kept of what is kept for `days` days; null: all are. */
export const firstKept = (days: number, now: number): number | null =>
  days > 0 ? Math.max(0, dayOf(now - days * DAY_MS)) : null;

/** How many records are of days that go. */
export async function countOld(store: Upkeep, { records: days }: Retention, now: number): Promise<number> {
  const first = firstKept(days, now);
  return first === null ? 0 : store.countRecords(first);
}

/** Removes whole UTC days that are older than `rules` allow; sums are kept as long as the records that they are of. */
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
  const freed = interrupted() ? 0 : await store.giveSpaceBack(done, interrupted);
  return { ...done, freed, complete: !interrupted() };
}
