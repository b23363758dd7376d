import type { SummaryGroup } from '../../accounting/summary';
import type { CoverageReason } from '../../record/coverage';
import { endUnseen } from '../../record/job-end';
import type { JobRecord } from '../../record/record';
import type { NodeHeartbeat } from '../../record/node-status';
import { judgeNodes, USUAL_PATIENCE } from '../nodes/judge';
import type { HostProblems, SilentNode, Coverage } from './report';

interface HostFindings {
  /** By host: the week before the period, and the period. */
  readonly before: readonly SummaryGroup[];
  readonly during: readonly SummaryGroup[];
  /** The last record of each host that lost a sampler in the period. */
  readonly last: readonly JobRecord[];
}

const sampledIn = ({ totals }: SummaryGroup): number => totals.records - totals.unsampled - totals.running;

const keys = (groups: readonly SummaryGroup[]): ReadonlySet<string> => new Set(groups.flatMap(({ key }) => key ?? []));

/**
 * Hosts from which nothing is heard any more: their jobs of the week before had samples and those of the period have
 * none, or the last record from there is of a job whose sampler died.
 */
export function silentNodes({ before, during, last }: HostFindings): SilentNode[] {
  const heard = keys(before.filter((group) => sampledIn(group) > 0));
  const unsampled = during.flatMap(({ key, totals }): SilentNode[] =>
    key !== null && heard.has(key) && totals.running === 0 && totals.records > 0 && totals.unsampled === totals.records
      ? [{ host: key, kind: 'unsampled', records: totals.records, last_at: null }]
      : [],
  );
  const records = new Map(during.map(({ key, totals }) => [key, totals.records]));
  const lost = last.filter(endUnseen).map(({ host, revision }): SilentNode => ({
    host,
    kind: 'lost',
    records: records.get(host) ?? 1,
    last_at: new Date(revision).toISOString(),
  }));
  const known = new Set(unsampled.map(({ host }) => host));
  return [...unsampled, ...lost.filter(({ host }) => !known.has(host))].sort((a, b) => (a.host < b.host ? -1 : 1));
}

/** Hosts with jobs in the week before the period and none in it. */
export function hostsWithoutJobs({ before, during }: HostFindings): string[] {
  const present = keys(during.filter(({ totals }) => totals.records > 0));
  return [...keys(before.filter(({ totals }) => totals.records > 0))].filter((host) => !present.has(host)).sort();
}

/** Hosts whose last heartbeat shows a problem. */
export function hostProblems(heartbeats: readonly NodeHeartbeat[], now: Date): HostProblems[] {
  return judgeNodes(heartbeats, [], 0, now, USUAL_PATIENCE)
    .filter(({ state }) => state !== 'ok')
    .map(({ host, node, state, problems }) => ({ cluster: node?.cluster ?? '', host, state, problems }));
}

type Unsampled = Exclude<CoverageReason, 'sampled'>;

const SAYS: Readonly<Record<Unsampled, string>> = {
  'no-hooks': "known from Grid Engine's accounting only: no hook ran there, or its record has not come",
  'never-started': 'never started',
  limits: 'their limits left no room for a sampler',
  unprivileged: 'the hooks ran without the privilege that a sampler needs',
  'sampler-lost': 'the sampler was lost before the job ended',
  other: 'ended before the first sample, or for a reason that their notes name',
};

/** How many ended records had samples, and why the others had none. */
export function coverageOf(counts: Readonly<Record<CoverageReason, number>>): Coverage {
  const reasons = (Object.keys(SAYS) as Unsampled[])
    .map((reason) => ({ reason, says: SAYS[reason], records: counts[reason] }))
    .filter(({ records }) => records > 0)
    .sort((a, b) => b.records - a.records);
  return {
    records: reasons.reduce((sum, { records }) => sum + records, counts.sampled),
    sampled: counts.sampled,
    reasons,
  };
}
