import { GROUPS_BY_RUNS, Margins, RISKS, type Prior, type Risk } from './margins';
import { SortedWindow } from './sorted-window';

/** Older runs of a class say little about its next one. */
const RUNS_KEPT = 200;

/** About this many of the runs behind a base exceeded it: fewer say little, more reach back further than needed. */
const RUNS_ABOVE = 5;

/** A class varies if its largest peak is above e^0.3 = 1.35 times its median; otherwise it is steady. */
const STEADY_SPREAD = 0.3;

/** A request of more than this many times the base is too large to be advice. */
const MOST_FACTOR = 1.6;

/** With fewer runs than LEAST_RUNS no risk is stated, with fewer than LEAST_RUNS_SMALL_RISK none below SMALL_RISK. */
export const LEAST_RUNS = 3;
const LEAST_RUNS_SMALL_RISK = 6;
const SMALL_RISK = 0.02;

/** Scores of classes with this many runs or fewer hardly count beside the prior, but would fill most of the memory. */
const RUNS_BEFORE_SCORES = 20;

/** A run stopped at its memory limit needed more: it is taken to need the limit times this, until a run shows more. */
export const RAISE = 1.5;
/** A job stopped at its time limit may have just begun: half as much time again would hardly help. */
export const TIME_RAISE = 2;

/** How many of the last peaks the base for each risk rests on. */
const WINDOWS = RISKS.map((risk) => Math.min(RUNS_KEPT, Math.round(RUNS_ABOVE / risk)));

const NEVER: readonly number[] = [];

/** What a run needed of one resource: memory in bytes per slot, or elapsed time in seconds. */
export interface Need {
  readonly needed: number;
  /** The run was stopped at this limit, so it needed more; null: it needed what it used. */
  readonly stoppedAt: number | null;
}

interface ClassRequest {
  /** Bytes per slot, or seconds. */
  readonly amount: number;
  /** The risk that can be stated for this request. */
  readonly risk: number;
  /** How many runs the request rests on. */
  readonly runs: number;
}

/** What was known about a class when a job was submitted. */
export interface Moment {
  readonly runs: number;
  readonly group: number;
  /** One base per risk, in the order of RISKS. */
  readonly bases: readonly number[];
}

const NOTHING: Moment = { runs: 0, group: 0, bases: RISKS.map(() => 0) };

/** What a run is taken to need; `raise`: the factor for a limit at which a run was stopped. */
export const takenNeed = ({ needed, stoppedAt }: Need, raise: number): number =>
  Math.max(needed, (stoppedAt ?? 0) * raise);

/** For each of RISKS: what a run needed, over the base known at its submission; Infinity: it was stopped at a limit. */
export const ratiosTo = ({ bases }: Moment, { needed, stoppedAt }: Need): readonly number[] =>
  bases.map((base) => (stoppedAt === null ? needed / base : Infinity));

/** What a request costs on average: a run that needs more is lost, and tried again with twice as much. */
const costOf = (amount: number, risk: number): number => amount * (1 + 2 * risk);

/** Runs that are likely to need about the same, in the order in which they ended. */
export class JobClass {
  private peaks = new SortedWindow(RUNS_KEPT);
  /** For each of RISKS: the last peaks that its base rests on; undefined: all peaks kept. */
  private recent: (SortedWindow | undefined)[] = [];
  private margins: Margins;
  private moment: Moment | null = null;
  private learned = 0;
  /** The numbers of the kept runs that were stopped at a limit; all runs learned are numbered from 1. */
  private stopped = NEVER;
  /** For each of RISKS: the current factor over the base; null: not worked out yet. */
  private factors: readonly number[] | null = null;

  constructor(
    private readonly prior: Prior,
    private readonly raise: number,
  ) {
    this.margins = new Margins(prior);
  }

  /** A class that has learned the same runs. */
  copy(): JobClass {
    const copy = new JobClass(this.prior, this.raise);
    copy.peaks = this.peaks.copy();
    copy.recent = this.recent.map((window) => window?.copy());
    copy.margins = this.margins.copy();
    copy.learned = this.learned;
    copy.stopped = this.stopped;
    return copy;
  }

  get isAdvisable(): boolean {
    return this.peaks.size >= LEAST_RUNS;
  }

  /** Most of its runs were stopped at a limit, so what would have been enough is not known. */
  get isMostlyStopped(): boolean {
    return this.stopped.length * 2 > this.peaks.size;
  }

  /** What is known now. */
  now(): Moment {
    if (this.peaks.size === 0) return NOTHING;
    this.moment ??= { runs: this.peaks.size, group: this.group(), bases: RISKS.map((risk) => this.base(risk)) };
    return this.moment;
  }

  /**
   * The request for the next run: of those with at most the wanted risk the one that wastes least on average, else the
   * one with the smallest larger risk that can be stated; null: no risk can be stated.
   */
  request(wanted: number): ClassRequest | null {
    const { runs, group, bases } = this.now();
    if (!this.isAdvisable || this.isMostlyStopped) return null;
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

  /** Learns from a run that has ended; `then`: what was known when the run was submitted. */
  learn(then: Moment, need: Need): void {
    if (then.runs > RUNS_BEFORE_SCORES)
      for (const [index, ratio] of ratiosTo(then, need).entries()) this.margins.add(index, then.group, ratio);
    const peak = takenNeed(need, this.raise);
    this.peaks.add(peak);
    this.learned++;
    if ((this.stopped[0] ?? Infinity) <= this.learned - RUNS_KEPT) this.stopped = this.stopped.slice(1);
    if (need.stoppedAt !== null) this.stopped = [...this.stopped, this.learned];
    for (const [index, runs] of WINDOWS.entries()) if (runs < this.peaks.size) this.addRecent(index, runs, peak);
    this.moment = null;
    this.factors = null;
  }

  /** The last `count` peaks, oldest first. */
  last(count: number): readonly number[] {
    return this.peaks.last(count);
  }

  private addRecent(index: number, runs: number, peak: number): void {
    const known = this.recent[index];
    if (known !== undefined) {
      known.add(peak);
      return;
    }
    const window = new SortedWindow(runs);
    for (const one of this.peaks.last(runs)) window.add(one);
    this.recent[index] = window;
  }

  /** The peak that about this share of the last runs exceeded; the largest if there are few runs. */
  base(risk: Risk): number {
    const { sorted } = this.recent[RISKS.indexOf(risk)] ?? this.peaks;
    return sorted[Math.min(sorted.length, Math.ceil((sorted.length + 1) * (1 - risk))) - 1] ?? 0;
  }

  /** The classes of one group have about as many known runs and vary about as much. */
  private group(): number {
    const { sorted } = this.peaks;
    const byRuns = GROUPS_BY_RUNS.findLastIndex((from) => sorted.length >= from);
    const largest = sorted.at(-1) ?? 0;
    const median = sorted[(sorted.length - 1) >> 1] ?? 0;
    return Math.max(0, byRuns) * 2 + (Math.log(largest / median) > STEADY_SPREAD ? 1 : 0);
  }
}
