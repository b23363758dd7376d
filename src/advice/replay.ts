import { described, integer, list, nullable, number, object, string, type ValueOf } from '../base/shape';
import { Heap } from './heap';
import type { JobClass, Need } from './job-class';
import type { Known, Predictor } from './predictor';

/** A past run; times in seconds. */
export interface PastRun extends Need {
  readonly submit: number;
  readonly end: number;
  /** From narrow to wide. */
  readonly classes: readonly string[];
  readonly seconds: number;
  /** The user's request, above 0; null: none, or unknown. */
  readonly requested: number | null;
}

/** How the jobs would have fared under one way of choosing requests: part of the published contract (schema 1). */
const OUTCOME = {
  jobs: described(integer(0), 'jobs without the undecided ones, which count nowhere else here'),
  failed: described(integer(0), 'jobs that would have needed more than their request'),
  undecided: described(
    integer(0),
    'jobs that were stopped at a limit below the request: whether it is enough is not known',
  ),
  stated_risk: described(nullable(number(0, 1)), 'mean of the stated risks; null: none was stated'),
  /** Requested and not used, failed attempts included; of a stopped job only its failed attempts. */
  unused_byte_seconds: number(0),
  /** What was needed, by the jobs of which this is known. */
  used_byte_seconds: number(0),
};
const outcome = object(OUTCOME);
export type Outcome = ValueOf<typeof outcome>;

/** The replay of one history: part of the published contract (schema 1). */
export const replayShape = object(
  {
    runs: integer(0),
    advisable: described(integer(0), 'runs that had enough earlier runs for any advice'),
    /** By wanted risk: requests at that risk, or a smaller one; at a larger one, as the class has few or unlike runs. */
    advice: list(object({ risk: number(0, 1), within: outcome, larger: outcome })),
    /** null: no request is known. */
    users: described(nullable(outcome), "the users' own requests"),
    /** What other rules for requests did. */
    rules: list(object({ name: string, ...OUTCOME })),
  },
  'what the advice would have done for each of these runs, knowing only those before it',
);
export type ReplayAnswer = ValueOf<typeof replayShape>;

interface PlainRule {
  readonly name: string;
  readonly request: (jobClass: JobClass) => number;
}

/** Rules of thumb that others use, for comparison with our advice. */
const PLAIN_RULES: readonly PlainRule[] = [
  { name: 'last run + 20 %', request: (jobClass) => 1.2 * Math.max(...jobClass.last(1)) },
  { name: 'largest of 10 runs + 20 %', request: (jobClass) => 1.2 * Math.max(...jobClass.last(10)) },
  { name: 'largest of 30 runs + 20 %', request: (jobClass) => 1.2 * Math.max(...jobClass.last(30)) },
  // Kubernetes' Vertical Pod Autoscaler.
  { name: '90th percentile + 15 %', request: (jobClass) => 1.15 * jobClass.base(0.1) },
];

/** Adds up what requests would have done: a failed job costs its whole run, and is run again with twice the request. */
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
    const stated = this.stated === null ? null : this.stated / jobs;
    return { jobs, failed, undecided, stated_risk: stated, unused_byte_seconds: wasted, used_byte_seconds: used };
  }
}

/** Whether a run is known to need more than this request. */
const isTooLittle = (request: number, { needed, stoppedAt }: PastRun): boolean =>
  needed > request || (stoppedAt !== null && stoppedAt >= request);

export const bySubmission = <Run extends PastRun>(runs: readonly Run[]): readonly Run[] =>
  runs.toSorted((a, b) => a.submit - b.submit);

/**
 * Replays the advice over past runs, given in order of submission; each request rests only on runs that had ended by
 * then. In the end `predictor` has learned from all of them. `rules`: other rules to compare with.
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
    advisable,
    advice: advice.map(({ risk, within, larger }) => ({
      risk,
      within: within.outcome(),
      larger: larger.outcome(),
    })),
    users: usersOutcome.jobs + usersOutcome.undecided === 0 ? null : usersOutcome,
    rules: plain.map(({ name, tally }) => ({ name, ...tally.outcome() })),
  };
}
