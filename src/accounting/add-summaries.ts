import type { RecordsAnswer, Totals } from './store';
import type { CoverageReason, HourOfDay, SummaryAnswer, SummaryGroup, SummaryQuery } from './summary';

/** Totals of no records. */
export const NO_TOTALS: Totals = {
  records: 0,
  jobs: 0,
  running: 0,
  requested_gib_hours: 0,
  requested_with_used_gib_hours: 0,
  requested_with_peak_gib_hours: 0,
  used_gib_hours: 0,
  peak_gib_hours: 0,
  cpu_seconds: 0,
  slot_seconds: 0,
  above_request: 0,
  far_below: 0,
  limit_gib_hours: 0,
  energy_joules: 0,
  slot_seconds_with_energy: 0,
  failed: 0,
  killed_by_memory: 0,
  unsampled: 0,
  without_limit: 0,
  without_peak: 0,
  without_used: 0,
};

const TOTALS = Object.keys(NO_TOTALS) as readonly (keyof Totals)[];

/** Sums of both, or of the first without the second, which is a part of it. */
type Sign = 1 | -1;

/** What is left of a sum of fractions may be a hair below nothing. */
function plus(a: number, b: number, sign: Sign): number {
  const sum = a + sign * b;
  return sign < 0 && sum < 1e-9 * a ? 0 : sum;
}

/** Totals of records that no two have in common; with -1: of those of the first that the second has not. */
export function addTotals(a: Totals, b: Totals, sign: Sign = 1): Totals {
  const sums = TOTALS.map((name) => [name, plus(a[name], b[name], sign)] as const);
  return Object.fromEntries(sums) as Record<keyof Totals, number>;
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
  for (const { key, totals } of b) groups.set(key, addTotals(groups.get(key) ?? NO_TOTALS, totals, sign));
  return [...groups].flatMap(([key, totals]) => (totals.records > 0 ? [{ key, totals }] : []));
}

const COVERAGE: Readonly<Record<CoverageReason, number>> = {
  sampled: 0,
  'no-hooks': 0,
  'never-started': 0,
  limits: 0,
  unprivileged: 0,
  'switched-off': 0,
  'sampler-lost': 0,
  other: 0,
};

const NO_HOUR: HourOfDay = { requested_gib_hours: 0, used_gib_hours: 0, slot_hours: 0 };

/** The summary of no records. */
export const NO_SUMMARY: SummaryAnswer = {
  groups: [],
  totals: NO_TOTALS,
  hours: Array.from({ length: 24 }, () => NO_HOUR),
  shares: Array.from({ length: 21 }, () => 0),
  coverage: COVERAGE,
  read: 0,
};

/**
 * One summary of the records of two, which must have none in common and every group; with -1: of the records of the
 * first without those of the second, which are all among them. Groups are in no order.
 */
export function addSummaries(a: SummaryAnswer, b: SummaryAnswer, sign: Sign = 1): SummaryAnswer {
  const reasons = Object.keys(COVERAGE) as readonly CoverageReason[];
  const coverage = reasons.map((reason) => [reason, plus(a.coverage[reason], b.coverage[reason], sign)] as const);
  return {
    groups: addGroups(a.groups, b.groups, sign),
    totals: addTotals(a.totals, b.totals, sign),
    hours: addHours(a.hours, b.hours, sign),
    shares: addLists(a.shares, b.shares, sign),
    coverage: Object.fromEntries(coverage) as Record<CoverageReason, number>,
    read: a.read + b.read,
  };
}

/** The first groups in the order of the query: all by key where it has none. */
export function cutGroups(answer: SummaryAnswer, { sort, limit }: Pick<SummaryQuery, 'sort' | 'limit'>): SummaryAnswer {
  const byKey = (a: SummaryGroup, b: SummaryGroup): number => ((a.key ?? '') < (b.key ?? '') ? -1 : 1);
  const groups = answer.groups.toSorted(
    (a, b) => (sort === undefined ? 0 : b.totals[sort] - a.totals[sort]) || byKey(a, b),
  );
  return { ...answer, groups: limit === undefined ? groups : groups.slice(0, limit) };
}

/** Records of both, and totals over all of them; they must have none in common. */
export function addRecords(a: RecordsAnswer, b: RecordsAnswer): RecordsAnswer {
  return { records: [...a.records, ...b.records], totals: addTotals(a.totals, b.totals) };
}
