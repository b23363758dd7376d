/** How much the clocks of two hosts may differ: times of two hosts that are this close may be the same moment. */
export const CLOCK_TOLERANCE_MS = 2000;

/** A value that may have been held at any moment from `from` to `to`, both included, in ms by that clock. */
export interface HeldValue {
  readonly clock: string;
  readonly from: number;
  readonly to: number;
  readonly value: number;
}

type Step = Omit<HeldValue, 'clock'>;

/** A change of the sum; at the same moment growth comes first, since spans include both ends. */
interface Change {
  readonly at: number;
  readonly by: number;
}

/**
 * The greatest sum of values that may have been held at one moment, where two clocks may be CLOCK_TOLERANCE_MS apart.
 *
 * First the values of each clock are summed over time, which needs no tolerance. Then each of these sums is widened by
 * the tolerance: at any true moment a clock's sum is one of those within the tolerance of another clock's time, so the
 * total of the widened sums is never too small.
 */
export function highestSum(spans: readonly HeldValue[]): number {
  const clocks = new Map<string, Change[]>();
  for (const span of spans) {
    const changes = clocks.get(span.clock) ?? [];
    clocks.set(span.clock, changes);
    changes.push(...changesOf(span));
  }
  const sums = [...clocks.values()];
  return sums.length === 1
    ? highest(sums[0] ?? [])
    : highest(sums.flatMap((changes) => envelope(stepsOf(changes).map(widened))));
}

function changesOf({ from, to, value }: Step): readonly Change[] {
  return [
    { at: from, by: value },
    { at: Math.max(from, to), by: -value },
  ];
}

function inOrder(changes: readonly Change[]): readonly Change[] {
  // Not the difference of times: they may be infinite.
  return [...changes].sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : b.by - a.by));
}

function highest(changes: readonly Change[]): number {
  let sum = 0;
  let most = 0;
  for (const { by } of inOrder(changes)) {
    sum += by;
    most = Math.max(most, sum);
  }
  return most;
}

/** The sum over time, as steps that include both their ends. */
function stepsOf(changes: readonly Change[]): readonly Step[] {
  const steps: Step[] = [];
  let since = -Infinity;
  let sum = 0;
  for (const { at, by } of inOrder(changes)) {
    if (sum > 0) steps.push({ from: since, to: at, value: sum });
    since = at;
    sum += by;
  }
  return steps;
}

function widened({ from, to, value }: Step): Step {
  return { from: from - CLOCK_TOLERANCE_MS, to: to + CLOCK_TOLERANCE_MS, value };
}

/** The changes over time of the greatest of overlapping steps. */
function envelope(steps: readonly Step[]): readonly Change[] {
  const counts = new Map<number, number>();
  const result: Change[] = [];
  let most = 0;
  for (const { at, by } of inOrder(steps.flatMap(changesOf))) {
    const value = Math.abs(by);
    const count = (counts.get(value) ?? 0) + Math.sign(by);
    if (count > 0) counts.set(value, count);
    else counts.delete(value);
    const before = most;
    if (by > 0) most = Math.max(most, value);
    else if (count <= 0 && value === most) most = [...counts.keys()].reduce((a, b) => Math.max(a, b), 0);
    if (most !== before) result.push({ at, by: most - before });
  }
  return result;
}
