import { JobClass } from './job-class';
import { Margins, RISKS, type Prior } from './margins';

/** A request that is this many times what was needed so far is no advice. */
const MOST_FACTOR = 1.6;

/** Below these numbers of runs nothing, or no small risk, is promised. */
const LEAST_RUNS = 3;
const LEAST_RUNS_SMALL_RISK = 6;
const SMALL_RISK = 0.02;

/** A run at its limit needed more than that: half as much again, until a run says more. */
const CENSORED = 1.5;

/** What was known of a job's class when the job was submitted. */
export interface Known {
  readonly jobClass: JobClass;
  /** Runs of the class that had ended. */
  readonly runs: number;
  /** Enough of them for advice. */
  readonly advisable: boolean;
  readonly group: number;
  /** By risk, as RISKS. */
  readonly bases: readonly number[];
}

export interface MemoryRequest {
  readonly bytes: number;
  /** The risk that this request can promise: the wanted one, or the smallest larger one. */
  readonly risk: number;
  readonly runs: number;
}

export interface Need {
  readonly peakBytes: number;
  /** It ended at this limit, so it needed more; null: the peak is what it needed. */
  readonly stoppedAtBytes: number | null;
}

/** Learns from ended runs, in the order in which they ended, what the next run of a class should ask for. */
export class Predictor {
  private readonly classes = new Map<string, JobClass>();
  private readonly margins: Margins;

  constructor(prior: Prior) {
    this.margins = new Margins(prior);
  }

  /** What is known of the narrowest of these classes that has enough runs; of the widest where none has. */
  known(classes: readonly string[]): Known | null {
    const found = classes.flatMap((name) => this.classes.get(name) ?? []);
    const jobClass = found.find(({ runs }) => runs >= LEAST_RUNS) ?? found.at(-1);
    if (jobClass === undefined) return null;
    return {
      jobClass,
      runs: jobClass.runs,
      advisable: jobClass.runs >= LEAST_RUNS,
      group: jobClass.group(),
      bases: RISKS.map((risk) => jobClass.base(risk)),
    };
  }

  /** The request for the next run at this risk, or at the smallest larger one that can be promised; null: none can. */
  request(known: Known, wanted: number): MemoryRequest | null {
    if (!known.advisable) return null;
    for (const [index, risk] of RISKS.entries()) {
      if (risk < wanted || (risk < SMALL_RISK && known.runs < LEAST_RUNS_SMALL_RISK)) continue;
      const factor = this.margins.factor(index, known.group);
      if (factor <= MOST_FACTOR) return { bytes: (known.bases[index] ?? 0) * factor, risk, runs: known.runs };
    }
    return null;
  }

  /** A run has ended. `known`: what was known when it was submitted. */
  learn(classes: readonly string[], known: Known | null, { peakBytes, stoppedAtBytes }: Need): void {
    if (known !== null)
      for (const [index, base] of known.bases.entries())
        this.margins.add(index, known.group, stoppedAtBytes === null ? peakBytes / base : Infinity);
    const needed = stoppedAtBytes === null ? peakBytes : Math.max(peakBytes, stoppedAtBytes * CENSORED);
    for (const name of classes) {
      const jobClass = this.classes.get(name) ?? new JobClass();
      jobClass.add(needed);
      this.classes.set(name, jobClass);
    }
  }

  /** Own scores by risk and group: what a prior is made of. */
  scores(): readonly (readonly (readonly number[])[])[] {
    return this.margins.all();
  }
}
