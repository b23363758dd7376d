import { GROUPS_BY_RUNS, Margins, RISKS, type Prior, type Risk } from './margins';
import { SortedWindow } from './sorted-window';

/** Older runs of a class say little about its next one. */
const RUNS_KEPT = 200;

/** Of what a base rests on, about so many runs exceeded it: fewer say little, and more reach further back than they need. */
const RUNS_ABOVE = 5;

/** A class whose largest peak is above e^0.3 = 1.35 times its median varies. */
const STEADY_SPREAD = 0.3;

/** A request that is this many times what was needed so far is no advice. */
const MOST_FACTOR = 1.6;

/** Below these numbers of runs nothing, or no small risk, is promised. */
const LEAST_RUNS = 3;
const LEAST_RUNS_SMALL_RISK = 6;
const SMALL_RISK = 0.02;

/** Own scores of a class known by fewer runs change nothing beside a prior, and take most of the room of a long history. */
const RUNS_BEFORE_SCORES = 20;

/** A run at its limit needed more than that: half as much again, until a run says more. */
const CENSORED = 1.5;

/** What a run needed of one thing: bytes per slot, or seconds. */
export interface Need {
  readonly needed: number;
  /** It ended at this limit, so it needed more; null: it needed what it used. */
  readonly stoppedAt: number | null;
}

interface ClassRequest {
  /** Bytes per slot, or seconds. */
  readonly amount: number;
  /** The risk that this request can promise. */
  readonly risk: number;
  /** On how many runs it rests. */
  readonly runs: number;
}

/** What was known of a class when a job was submitted. */
export interface Moment {
  readonly runs: number;
  readonly group: number;
  /** By risk, as RISKS. */
  readonly bases: readonly number[];
}

/** By risk, as RISKS: what a run needed over the base that was known then; Infinity: more than its limit. */
export const ratiosTo = ({ bases }: Moment, { needed, stoppedAt }: Need): readonly number[] =>
  bases.map((base) => (stoppedAt === null ? needed / base : Infinity));

/** What such requests waste in the mean, less what is needed: a run that needs more is lost, and tried again with twice as much. */
const costOf = (amount: number, risk: number): number => amount * (1 + 2 * risk);

/** Runs that are likely to need alike, in the order in which they ended. */
export class JobClass {
  private readonly peaks = new SortedWindow(RUNS_KEPT);
  /** By risk, as RISKS: the last peaks that its base rests on. */
  private readonly recent = RISKS.map((risk) => {
    const runs = Math.round(RUNS_ABOVE / risk);
    return runs < RUNS_KEPT ? new SortedWindow(runs) : this.peaks;
  });
  private readonly margins: Margins;
  private moment: Moment | null = null;
  /** By risk, as RISKS: of now; null: not worked out. */
  private factors: readonly number[] | null = null;

  constructor(prior: Prior) {
    this.margins = new Margins(prior);
  }

  get isAdvisable(): boolean {
    return this.peaks.size >= LEAST_RUNS;
  }

  /** What is known now. */
  now(): Moment {
    this.moment ??= { runs: this.peaks.size, group: this.group(), bases: RISKS.map((risk) => this.base(risk)) };
    return this.moment;
  }

  /**
   * The request for the next run: of those with at most this risk the one that wastes least in the mean, else at the
   * smallest larger risk that can be promised; null: none can.
   */
  request(wanted: number): ClassRequest | null {
    const { runs, group, bases } = this.now();
    if (!this.isAdvisable) return null;
    this.factors ??= RISKS.map((_, index) => this.margins.factor(index, group));
    let best: ClassRequest | null = null;
    for (const [index, risk] of RISKS.entries()) {
      if (risk > wanted && best !== null) break;
      if (risk < SMALL_RISK && runs < LEAST_RUNS_SMALL_RISK) continue;
      const factor = this.factors[index] ?? Infinity;
      if (factor > MOST_FACTOR) continue;
      const amount = (bases[index] ?? 0) * factor;
      if (best === null || costOf(amount, risk) < costOf(best.amount, best.risk)) best = { amount, risk, runs };
    }
    return best;
  }

  /** A run has ended; `then`: what was known when it was submitted. */
  learn(then: Moment, need: Need): void {
    const { needed, stoppedAt } = need;
    if (then.runs > RUNS_BEFORE_SCORES)
      for (const [index, ratio] of ratiosTo(then, need).entries()) this.margins.add(index, then.group, ratio);
    const peak = stoppedAt === null ? needed : Math.max(needed, stoppedAt * CENSORED);
    this.peaks.add(peak);
    for (const window of this.recent) if (window !== this.peaks) window.add(peak);
    this.moment = null;
    this.factors = null;
  }

  /** The last `count` peaks, oldest first. */
  last(count: number): readonly number[] {
    return this.peaks.last(count);
  }

  /** The peak that about this share of the last runs exceeded; the largest where there are few. */
  base(risk: Risk): number {
    const sorted = this.recent[RISKS.indexOf(risk)]?.sorted ?? [];
    return sorted[Math.min(sorted.length, Math.ceil((sorted.length + 1) * (1 - risk))) - 1] ?? 0;
  }

  /** Classes of one group are alike in how well they are known, and in how much they vary. */
  private group(): number {
    const { sorted } = this.peaks;
    const byRuns = GROUPS_BY_RUNS.findLastIndex((from) => sorted.length >= from);
    const largest = sorted.at(-1) ?? 0;
    const median = sorted[(sorted.length - 1) >> 1] ?? 0;
    return Math.max(0, byRuns) * 2 + (Math.log(largest / median) > STEADY_SPREAD ? 1 : 0);
  }
}
