import { newSums } from '../record/sums';
import { noTotals, type Totals } from '../record/totals';
import type { RecordsAnswer, Shown } from './store';
import type { HourOfDay, SummaryAnswer, SummaryGroup } from './summary';
import { chosenGroups, summaryAnswer, type GroupOrder } from './summary-answer';

/** Totals of no records. */
export const NO_TOTALS: Totals = noTotals();

/** 1: adds both; -1: takes the second, which is a part of the first, from the first. */
type Sign = 1 | -1;

/** Rounding may leave a difference slightly off 0. */
function plus(a: number, b: number, sign: Sign): number {
  const sum = a + sign * b;
  return sign < 0 && sum < 1e-9 * a ? 0 : sum;
}

/** Adds figures of the same names. */
function plusEach<F extends Readonly<Record<keyof F, number>>>(a: F, b: F, sign: Sign): F {
  const names = Object.keys(a) as (keyof F)[];
  return Object.fromEntries(names.map((name) => [name, plus(a[name], b[name], sign)])) as F;
}

/** Totals of two sets of records that have none in common; with -1: of the first set without the second. */
export const sumTotals = (a: Totals, b: Totals, sign: Sign = 1): Totals => plusEach(a, b, sign);

/** If one answer shows only a part, so do both together. */
function shownOf(...answers: readonly { readonly shown?: Shown }[]): { readonly shown?: Shown } {
  const shown = answers.flatMap((answer) => answer.shown ?? [])[0];
  return shown === undefined ? {} : { shown };
}

function addGroups(a: readonly SummaryGroup[], b: readonly SummaryGroup[], sign: Sign): SummaryGroup[] {
  const groups = new Map(a.map(({ key, totals }) => [key, totals] as const));
  for (const { key, totals } of b) groups.set(key, sumTotals(groups.get(key) ?? NO_TOTALS, totals, sign));
  return [...groups].flatMap(([key, totals]) => (totals.records > 0 ? [{ key, totals }] : []));
}

const NO_HOUR: HourOfDay = { requested_gib_hours: 0, used_gib_hours: 0, slot_hours: 0 };

/** The summary of no records. */
export const NO_SUMMARY: SummaryAnswer = summaryAnswer({ ...newSums(), groups: [], read: 0 }, { by: 'cluster' });

/**
 * The summary of two sets of records that have none in common; with -1: of the first set without the second, a part of
 * it. Both summaries must have all their groups. The groups of the result are in no order.
 */
export function addSummaries(a: SummaryAnswer, b: SummaryAnswer, sign: Sign = 1): SummaryAnswer {
  return {
    groups: addGroups(a.groups, b.groups, sign),
    totals: sumTotals(a.totals, b.totals, sign),
    hours: a.hours.map((hour, index) => plusEach(hour, b.hours[index] ?? NO_HOUR, sign)),
    shares: a.shares.map((count, index) => plus(count, b.shares[index] ?? 0, sign)),
    coverage: plusEach(a.coverage, b.coverage, sign),
    read: a.read + b.read,
    ...shownOf(a, b),
  };
}

/** A summary with the groups that a query asks for, in the query's order. */
export function chooseGroups(answer: SummaryAnswer, query: GroupOrder): SummaryAnswer {
  return { ...answer, groups: chosenGroups(answer.groups, query) };
}

/** Records and totals of two answers, which must have no record in common. */
export function addRecords(a: RecordsAnswer, b: RecordsAnswer): RecordsAnswer {
  return { records: [...a.records, ...b.records], totals: sumTotals(a.totals, b.totals), ...shownOf(a, b) };
}
