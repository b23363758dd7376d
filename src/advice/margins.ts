import { SortedWindow } from './sorted-window';

/** The risks that a request may state: shares of runs that would need more. */
export const RISKS = [0.01, 0.02, 0.05, 0.1, 0.2] as const;

export type Risk = (typeof RISKS)[number];

/** The number of known runs at which each group begins; each has a group of steady and one of varying classes. */
export const GROUPS_BY_RUNS = [1, 2, 3, 6, 11, 21, 51, 101] as const;

export const GROUPS = GROUPS_BY_RUNS.length * 2;

/** The share of a distribution that each of a prior's scores stands for; finer at the upper tail, which matters. */
export const PRIOR_SHARES = [0.5, 0.3, 0.1, 0.05, 0.02, 0.01, 0.01, 0.005, 0.005] as const;

/**
 * Scores from classes at other sites, by risk (as RISKS) and group, smallest first, one for each of PRIOR_SHARES
 * (empty: unknown). They stand in until a class has scores of its own. A larger risk may have rows for the last groups
 * only: for the groups before, the next smaller risk's rows hold, as both risks rest on the same few runs.
 */
export type Prior = readonly (readonly (readonly number[])[])[];

function priorScores(prior: Prior, risk: number, group: number): readonly number[] {
  for (let index = risk; index >= 0; index--) {
    const rows = prior[index] ?? [];
    const row = rows[group - (GROUPS - rows.length)];
    if (row !== undefined) return row;
  }
  return [];
}

/** The prior weighs as much as this many of a class's own scores. */
const PRIOR_WEIGHT = 200;

const SCORES_KEPT = 1000;

/**
 * By how much a base must be raised so that the next run exceeds it with a given risk only: the split-conformal
 * quantile of the scores (logarithm of next peak / base) of the class's runs and of a prior (Vovk et al., Algorithmic
 * Learning in a Random World, chapter 4). A class with few runs of its own is judged by runs at other sites.
 */
export class Margins {
  /** By risk and group; null: none yet, as in most classes of a long history. */
  private scores: Map<number, SortedWindow>[] | null = null;

  constructor(private readonly prior: Prior) {}

  copy(): Margins {
    const margins = new Margins(this.prior);
    margins.scores =
      this.scores?.map((groups) => new Map([...groups].map(([group, own]) => [group, own.copy()]))) ?? null;
    return margins;
  }

  /** `ratio`: from ratiosTo. */
  add(risk: number, group: number, ratio: number): void {
    this.scores ??= RISKS.map(() => new Map());
    const groups = this.scores[risk];
    const window = groups?.get(group) ?? new SortedWindow(SCORES_KEPT);
    groups?.set(group, window);
    window.add(Math.log(ratio));
  }

  /** The factor for the risk with this index in RISKS; Infinity: too few scores to state it. */
  factor(risk: number, group: number): number {
    const own = this.scores?.[risk]?.get(group)?.sorted ?? [];
    const prior = priorScores(this.prior, risk, group);
    const priorWeight = prior.length === 0 ? 0 : PRIOR_WEIGHT;
    // The next run itself counts as one more score, above all others.
    let allowed = (RISKS[risk] ?? 0) * (own.length + priorWeight + 1) - 1;
    if (allowed < 0) return Infinity;
    let ownLeft = own.length;
    let priorLeft = prior.length;
    while (ownLeft + priorLeft > 0) {
      const ownScore = own[ownLeft - 1] ?? -Infinity;
      const priorScore = prior[priorLeft - 1] ?? -Infinity;
      const isOwn = ownScore >= priorScore;
      allowed -= isOwn ? 1 : (PRIOR_SHARES[priorLeft - 1] ?? 0) * priorWeight;
      if (allowed < -1e-9) return Math.exp(isOwn ? ownScore : priorScore);
      if (isOwn) ownLeft--;
      else priorLeft--;
    }
    return Infinity;
  }
}
