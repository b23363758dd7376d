import { jobsToWarnOf, type AtRisk } from '../../live/at-risk';
import type { Snapshot } from '../../live/snapshot';
import type { ClusterView } from '../../live/cluster-view';
import { riskLine } from '../../report/live/at-risk';
import { mailScreen } from '../../report/screen/screen';

/** A job that may run out of memory soon, for a mail to its owner. */
export interface RiskFact {
  readonly job: number;
  readonly name: string;
  readonly owner: string;
  readonly reason: AtRisk['reason'];
  readonly line: string;
}

/** What the mails need to know about the running cluster. */
export interface ClusterFacts {
  readonly cluster: string;
  /** When qmaster was asked (ms). */
  readonly at: number;
  readonly listed: ReadonlySet<number>;
  /** Whether `listed` includes waiting jobs. */
  readonly withPending: boolean;
  readonly risks: readonly RiskFact[];
  /** Listed jobs that ask for a mail at their end. */
  readonly asked: readonly { readonly job: number; readonly owner: string }[];
}

/** null: qmaster has not answered. */
export function factsOf(snapshot: Snapshot, view: ClusterView | null, now: Date): ClusterFacts | null {
  const { running, pending, details } = snapshot;
  if (running.at === null || running.problem !== null) return null;
  const waiting = pending?.problem === null ? pending : null;
  const risks = view === null ? [] : jobsToWarnOf(view, now.getTime());
  const screen = mailScreen(now);
  const listed = new Set([...running.value, ...(waiting?.value ?? [])].map(({ job }) => job));
  return {
    cluster: snapshot.cluster,
    at: Math.min(running.at, waiting?.at ?? running.at),
    listed,
    withPending: waiting?.at != null,
    asked: details.value.flatMap(({ job, owner, wantsMail }) => (wantsMail && listed.has(job) ? [{ job, owner }] : [])),
    risks: risks.map((risk) => ({
      job: risk.job.job,
      name: risk.job.name,
      owner: risk.job.owner,
      reason: risk.reason,
      line: riskLine(risk, screen),
    })),
  };
}
