import type { Bracket, BracketSource, OpenReason } from './record';
import { BRACKET_SOURCES, OPEN_REASONS } from './fields';
import { highestSum } from './highest-sum';
import { isExact, measuredUpper } from './peak-figure';

/** The peak of one part of a job, and from when to when that part lived, in ms by the clock of its host. */
export interface Part {
  readonly host: string;
  /** null: not known. */
  readonly bracket: Bracket | null;
  readonly from: number;
  readonly to: number;
}

/**
 * The peak of the sum of parts, from each part's own peak. null: no part's peak is known. `missing`: why `parts` may be
 * incomplete; then nothing rules out a higher sum.
 *
 * Lower end: the greatest lower end of a part, since the others held at least nothing at that moment. No higher sum can
 * be proved: two parts reach their lower ends at different moments, and samples say nothing of what a part held between
 * them.
 *
 * Upper end: each living part held at most its upper end, so the sum was never above the greatest sum of the upper ends
 * of parts that may have lived at the same time. Parts that ran one after the other are not added; the clocks of two
 * hosts may differ by CLOCK_TOLERANCE_MS.
 */
export function sumOfBrackets(parts: readonly Part[], missing: readonly OpenReason[]): Bracket | null {
  const known = parts.flatMap(({ bracket }) => bracket ?? []);
  const first = known[0];
  if (first === undefined) return null;
  if (parts.length === 1 && missing.length === 0) return first;
  const open = reasonsOf(parts, missing);
  const spans = parts.map(({ host, from, to, bracket }) => ({
    clock: host,
    from,
    to,
    value: bracket?.upper_bytes ?? 0,
  }));
  const highest = known.reduce((most, bracket) => (bracket.lower_bytes > most.lower_bytes ? bracket : most), first);
  const upper = open.length > 0 ? null : Math.max(highestSum(spans), highest.lower_bytes);
  const proved = upper !== null && known.every((bracket) => bracket.proved);
  return {
    lower_bytes: highest.lower_bytes,
    upper_bytes: upper,
    slack_bytes: known.reduce((sum, { slack_bytes: slack }) => sum + slack, 0),
    proved,
    exact: isExact(proved, highest.lower_bytes, upper),
    open,
    sources: inOrder<BracketSource>(
      BRACKET_SOURCES,
      known.flatMap(({ sources }) => sources),
    ),
    at: highest.at,
    command: highest.command,
  };
}

/** The largest value of one process, from the largest of each part: nothing is added, so the times do not matter. */
export function largestOfBrackets(parts: readonly Part[], missing: readonly OpenReason[]): Bracket | null {
  const sum = sumOfBrackets(parts, missing);
  if (sum?.upper_bytes == null) return sum;
  const upper = parts.reduce((most, { bracket }) => Math.max(most, bracket?.upper_bytes ?? 0), sum.lower_bytes);
  const slack = parts.reduce((most, { bracket }) => Math.max(most, bracket?.slack_bytes ?? 0), 0);
  const exact = isExact(sum.proved, sum.lower_bytes, upper);
  // If a measured upper end is the largest one, the result does not rest on a limit.
  const measured = parts.some(({ bracket }) => bracket && measuredUpper(bracket) === upper);
  const sources = measured ? sum.sources.filter((source) => source !== 'limit') : sum.sources;
  return { ...sum, upper_bytes: upper, slack_bytes: slack, exact, sources };
}

function reasonsOf(parts: readonly Part[], missing: readonly OpenReason[]): readonly OpenReason[] {
  const reasons = parts.flatMap(({ bracket }): readonly OpenReason[] => {
    if (bracket?.upper_bytes != null) return [];
    return bracket === null || bracket.open.length === 0 ? ['no-samples'] : bracket.open;
  });
  return inOrder(OPEN_REASONS, [...reasons, ...missing]);
}

function inOrder<T>(vocabulary: readonly T[], items: readonly T[]): readonly T[] {
  return vocabulary.filter((item) => items.includes(item));
}
