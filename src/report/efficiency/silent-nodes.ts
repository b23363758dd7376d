import type { SummaryGroup } from '../../accounting/summary';
import type { JobRecord } from '../../record/record';
import type { SilentNode } from './report';

export interface HostFindings {
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
 * none, or the last that is known of them is a sampler that died.
 */
export function silentNodes({ before, during, last }: HostFindings): SilentNode[] {
  const heard = keys(before.filter((group) => sampledIn(group) > 0));
  const unsampled = during.flatMap(({ key, totals }): SilentNode[] =>
    key !== null && heard.has(key) && totals.running === 0 && totals.records > 0 && totals.unsampled === totals.records
      ? [{ host: key, kind: 'unsampled', records: totals.records, last_at: null }]
      : [],
  );
  const records = new Map(during.map(({ key, totals }) => [key, totals.records]));
  const lost = last
    .filter(({ status }) => status === 'lost')
    .map(({ host, revision }): SilentNode => ({
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
