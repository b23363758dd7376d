import { Heap } from './heap';
import type { Need } from './job-class';
import type { Known, Predictor } from './predictor';
import { PLAIN_RULES, type PlainRule } from './plain-rules';

/** A run of the past; times in seconds. */
export interface PastRun extends Need {
  readonly submit: number;
  readonly end: number;
  /** From narrow to wide. */
  readonly classes: readonly string[];
  readonly seconds: number;
  /** What its user requested, above 0; null: nothing, or unknown. */
  readonly requested: number | null;
}

/** What a way of requesting would have done. */
export interface Outcome {
  /** Without those that are undecided, of which nothing else here is known either. */
  readonly jobs: number;
  /** Jobs that needed more than their request. */
  readonly failed: number;
  /** Jobs that were stopped at a limit below the request: whether it is enough is not known. */
  readonly undecided: number;
  /** Mean of the risks that were stated; null: the way states none. */
  readonly stated: number | null;
  /** Byte seconds that were requested and not used, failed attempts included; of a stopped job no other attempt is known. */
  readonly wasted: number;
  /** Byte seconds that were needed, as far as that is known. */
  readonly used: number;
}

export interface ReplayAnswer {
  readonly runs: number;
  /** By wanted risk. */
  readonly advice: readonly {
    readonly risk: number;
    /** Requests at the wanted risk, or a smaller one. */
    readonly within: Outcome;
    /** Those at a larger one only: few runs, or runs that differ much. */
    readonly larger: Outcome;
  }[];
  /** Jobs whose class had enough runs for any advice. */
  readonly advisable: number;
  /** What the users requested for those jobs; null: not known of any. */
  readonly users: Outcome | null;
  readonly plain: readonly { readonly name: string; readonly outcome: Outcome }[];
}

/** Adds up what requests would have done: a job that fails costs its whole run, and asks for twice as much. */
export class Tally {
  private jobs = 0;
  private failed = 0;
  private undecided = 0;
  private stated: number | null = null;
  private wasted = 0;
  private used = 0;

  add(run: PastRun, asked: number, risk: number | null): void {
    const { needed, stoppedAt, seconds } = run;
    if (stoppedAt !== null && !isTooLittle(asked, run)) {
      this.undecided++;
      return;
    }
    this.jobs++;
    if (risk !== null) this.stated = (this.stated ?? 0) + risk;
    let request = asked;
    if (isTooLittle(request, run)) this.failed++;
    for (; isTooLittle(request, run); request *= 2) this.wasted += request * seconds;
    if (stoppedAt !== null) return;
    this.wasted += (request - needed) * seconds;
    this.used += needed * seconds;
  }

  outcome(): Outcome {
    const { jobs, failed, undecided, wasted, used } = this;
    return { jobs, failed, undecided, stated: this.stated === null ? null : this.stated / jobs, wasted, used };
  }
}

/** Whether a run is known to need more than this. */
const isTooLittle = (request: number, { needed, stoppedAt }: PastRun): boolean =>
  needed > request || (stoppedAt !== null && stoppedAt >= request);

export const bySubmission = <Run extends PastRun>(runs: readonly Run[]): readonly Run[] =>
  runs.toSorted((a, b) => a.submit - b.submit);

/**
 * Plays the advice over past runs, which come in the order in which they were submitted, knowing at each only what had
 * ended by then; `predictor` has learned from all of them in the end. `rules`: others to compare with.
 */
export function replay(
  runs: Iterable<PastRun>,
  risks: readonly number[],
  predictor: Predictor,
  rules: readonly PlainRule[] = PLAIN_RULES,
): ReplayAnswer {
  const running = new Heap<{ readonly run: PastRun; readonly known: readonly Known[] }>(({ run }) => run.end);
  const advice = risks.map((risk) => ({ risk, within: new Tally(), larger: new Tally() }));
  const plain = rules.map(({ name, request }) => ({ name, request, tally: new Tally() }));
  const users = new Tally();
  let advisable = 0;
  let played = 0;
  for (const run of runs) {
    played++;
    for (let { first } = running; first !== undefined && first.run.end <= run.submit; { first } = running) {
      predictor.learn(first.known, first.run);
      running.takeFirst();
    }
    const known = predictor.known(run.classes);
    const jobClass = predictor.advisable(known);
    if (jobClass !== null) {
      advisable++;
      for (const { risk, within, larger } of advice) {
        const request = jobClass.request(risk);
        if (request !== null) (request.risk <= risk ? within : larger).add(run, request.amount, request.risk);
      }
      for (const { request, tally } of plain) tally.add(run, request(jobClass), null);
      if (run.requested !== null) users.add(run, run.requested, null);
    }
    running.add({ run, known });
  }
  for (let ended = running.takeFirst(); ended !== undefined; ended = running.takeFirst())
    predictor.learn(ended.known, ended.run);
  const usersOutcome = users.outcome();
  return {
    runs: played,
    advice: advice.map(({ risk, within, larger }) => ({
      risk,
      within: within.outcome(),
      larger: larger.outcome(),
    })),
    advisable,
    users: usersOutcome.jobs + usersOutcome.undecided === 0 ? null : usersOutcome,
    plain: plain.map(({ name, tally }) => ({ name, outcome: tally.outcome() })),
  };
}
