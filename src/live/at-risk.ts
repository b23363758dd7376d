import { HOUR_MS } from '../base/units';
import { DIALECT_FACTS, type Dialect } from '../gridengine/dialect';
import { enforcersOf, limitsAddressSpace } from '../gridengine/memory-complex';
import type { ClusterView, JobPart, JobView, Trend } from './cluster-view';
import { shareOf } from '../record/peak-figure';
import { useOfPart } from './job-parts';

/** A job that will be killed or refused memory if it continues like this, on the host where that happens first. */
export interface AtRisk {
  readonly job: JobView;
  readonly part: JobPart;
  /** `full`: it uses nearly all of its limit now; `trend`: it grows and will reach the limit soon. */
  readonly reason: 'full' | 'trend';
  /** The share of the limit on this host that is in use now; null: unknown. */
  readonly share: number | null;
  /** The part's trend; null: none. */
  readonly trend: Trend | null;
}

interface RiskOptions {
  /** How far ahead a trend counts, in ms from `nowMs`. */
  readonly withinMs: number;
  readonly nowMs: number;
  /** From this share of the limit on, a job is at risk whether it grows or not. */
  readonly share: number;
}

export const FULL_SHARE = 0.9;
/** How long before the limit is reached a warning is sent: early enough to act, late enough to be no mere guess. */
const WARNED_WITHIN_MS = 4 * HOUR_MS;
/** Few jobs continue to grow for more than this share of the time they have run (`bench -- at-risk`). */
const WARNED_WITHIN_SHARE = 1 / 4;

/** Whether a job that exceeds its request of a complex is killed or refused memory. */
function isEnforced(complex: string, dialect: Dialect): boolean {
  return enforcersOf(complex).length > 0 || (complex === 'h_rss' && DIALECT_FACTS[dialect].enforcesRss === true);
}

/**
 * The jobs at risk that owners are warned of: only if the limit is enforced, and a trend only if its confidence is
 * not low and it reaches the limit soon for the job's age.
 */
export function jobsToWarnOf(
  { jobs, dialect }: Pick<ClusterView, 'jobs' | 'dialect'>,
  nowMs: number,
): readonly AtRisk[] {
  return jobsAtRisk({ jobs }, { withinMs: WARNED_WITHIN_MS, nowMs, share: FULL_SHARE }).filter(
    ({ job: { startedAt, complex }, reason, trend }) => {
      if (complex === null || !isEnforced(complex, dialect)) return false;
      if (reason === 'full') return true;
      const age = startedAt === null ? Infinity : nowMs - startedAt;
      return trend?.confidence !== 'low' && (trend?.limitAt ?? Infinity) - nowMs <= WARNED_WITHIN_SHARE * age;
    },
  );
}

/** The jobs at risk, the most urgent first: full ones by their share, then growing ones by the time left. */
export function jobsAtRisk({ jobs }: Pick<ClusterView, 'jobs'>, options: RiskOptions): readonly AtRisk[] {
  return jobs
    .flatMap((job) => {
      const risks = job.parts.flatMap((part) => riskOf(job, part, options) ?? []);
      return risks.sort(mostUrgent).slice(0, 1);
    })
    .sort(mostUrgent);
}

/** Judges one part of a job, as Grid Engine and the kernel enforce limits on each host separately. */
function riskOf(job: JobView, part: JobPart, { withinMs, nowMs, share: full }: RiskOptions): AtRisk | null {
  const share = shareInUse(job, part);
  if (share !== null && share >= full) return { job, part, reason: 'full', share, trend: part.trend };
  const limitAt = part.trend?.limitAt ?? null;
  if (limitAt === null || limitAt - nowMs > withinMs) return null;
  return { job, part, reason: 'trend', share, trend: part.trend };
}

/** The share of its limit that a part uses now; address space counts only if the limit is one on address space. */
export function shareInUse({ complex }: Pick<JobView, 'complex'>, part: JobPart): number | null {
  const isComparable = part.measure !== 'vmem_sum' || (complex !== null && limitsAddressSpace(complex));
  return shareOf(isComparable ? useOfPart(part) : (part.ours?.rss ?? null), part.limit);
}

function mostUrgent(a: AtRisk, b: AtRisk): number {
  if (a.reason !== b.reason) return a.reason === 'full' ? -1 : 1;
  if (a.reason === 'full') return (b.share ?? 0) - (a.share ?? 0);
  return (a.trend?.limitAt ?? Infinity) - (b.trend?.limitAt ?? Infinity);
}
