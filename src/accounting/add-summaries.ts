import type { CoverageReason } from '../record/coverage';
import { TOTALS_NAMES, noTotals, type Totals } from '../record/totals';
import { COVERAGE_REASONS } from '../record/coverage';
import type { RecordsAnswer, Shown } from './store';
import type { HourOfDay, SummaryAnswer, SummaryGroup, SummaryQuery } from './summary';
import { chosenGroups } from './summary-answer';
import { SHARE_STEPS } from '../record/sums';

/** Totals of no records. */
export const NO_TOTALS: Totals = noTotals();

/** 1: adds both; -1: takes the second, which is a part of the first, from the first. */
type Sign = 1 | -1;

/** Rounding may leave a difference slightly off 0. */
function plus(a: number, b: number, sign: Sign): number {
  const sum = a + sign * b;
  return sign < 0 && sum < 1e-9 * a ? 0 : sum;
}

/** Totals of two sets of records that have none in common; with -1: of the first set without the second. */
export function sumTotals(a: Totals, b: Totals, sign: Sign = 1): Totals {
  const sums = TOTALS_NAMES.map((name) => [name, plus(a[name], b[name], sign)] as const);
  return Object.fromEntries(sums) as Record<keyof Totals, number>;
}

/** If one answer shows only a part, so do both together. */
function shownOf(...answers: readonly { readonly shown?: Shown }[]): { readonly shown?: Shown } {
  const shown = answers.flatMap((answer) => answer.shown ?? [])[0];
  return shown === undefined ? {} : { shown };
}

const addLists = (a: readonly number[], b: readonly number[], sign: Sign): number[] =>
  Array.from({ length: Math.max(a.length, b.length) }, (_, index) => plus(a[index] ?? 0, b[index] ?? 0, sign));

function addHours(a: readonly HourOfDay[], b: readonly HourOfDay[], sign: Sign): HourOfDay[] {
  return a.map((hour, index) => ({
    requested_gib_hours: plus(hour.requested_gib_hours, b[index]?.requested_gib_hours ?? 0, sign),
    used_gib_hours: plus(hour.used_gib_hours, b[index]?.used_gib_hours ?? 0, sign),
    slot_hours: plus(hour.slot_hours, b[index]?.slot_hours ?? 0, sign),
  }));
}

function addGroups(a: readonly SummaryGroup[], b: readonly SummaryGroup[], sign: Sign): SummaryGroup[] {
  const groups = new Map(a.map(({ key, totals }) => [key, totals] as const));
  for (const { key, totals } of b) groups.set(key, sumTotals(groups.get(key) ?? NO_TOTALS, totals, sign));
  return [...groups].flatMap(([key, totals]) => (totals.records > 0 ? [{ key, totals }] : []));
}

function coverageOf(value: (reason: CoverageReason) => number): Record<CoverageReason, number> {
  const counts = COVERAGE_REASONS.map((reason) => [reason, value(reason)] as const);
  return Object.fromEntries(counts) as Record<CoverageReason, number>;
}

const NO_HOUR: HourOfDay = { requested_gib_hours: 0, used_gib_hours: 0, slot_hours: 0 };

/** The summary of no records. */
export const NO_SUMMARY: SummaryAnswer = {
  groups: [],
  totals: NO_TOTALS,
  hours: Array.from({ length: 24 }, () => NO_HOUR),
  shares: Array.from({ length: SHARE_STEPS + 1 }, () => 0),
  coverage: coverageOf(() => 0),
  read: 0,
};

/**
 * The summary of two sets of records that have none in common; with -1: of the first set without the second, a part of
 * it. Both summaries must have all their groups. The groups of the result are in no order.
 */
export function addSummaries(a: SummaryAnswer, b: SummaryAnswer, sign: Sign = 1): SummaryAnswer {
  return {
    groups: addGroups(a.groups, b.groups, sign),
    totals: sumTotals(a.totals, b.totals, sign),
    hours: addHours(a.hours, b.hours, sign),
    shares: addLists(a.shares, b.shares, sign),
    coverage: coverageOf((reason) => plus(a.coverage[reason], b.coverage[reason], sign)),
    read: a.read + b.read,
    ...shownOf(a, b),
  };
}

/** A summary with the groups that a query asks for, in the query's order. */
export function chooseGroups(answer: SummaryAnswer, query: Pick<SummaryQuery, 'by' | 'sort' | 'limit'>): SummaryAnswer {
  return { ...answer, groups: chosenGroups(answer.groups, query) };
}

/** Records and totals of two answers, which must have no record in common. */
export function addRecords(a: RecordsAnswer, b: RecordsAnswer): RecordsAnswer {
  return { records: [...a.records, ...b.records], totals: sumTotals(a.totals, b.totals), ...shownOf(a, b) };
}
