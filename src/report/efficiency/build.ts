import { FAR_BELOW_LIMIT } from '../fit';
import type { Found, Material } from './ask';
import { coverageOf } from './coverage';
import { toJobLineList } from './job-line';
import { REPORT_SCHEMA, type JobLine, type JobList, type Report, type ShareOfLimit } from './report';
import { hostsWithoutJobs, silentNodes } from './silent-nodes';
import { fittingOf, toSums, wasteOf } from './sums';

const LINES = 10;
const LINES_OF_A_WASTER = 3;

function toShares(counts: readonly number[]): ShareOfLimit[] {
  const last = counts.length - 1;
  return counts.map((records, index) => ({
    from: index / last,
    to: index === last ? null : (index + 1) / last,
    records,
  }));
}

/** Those that a smaller request would have served, as far as that can be told. */
const couldAskForLess = ({ advice, limit_bytes: limit, peak_bytes: peak }: JobLine): boolean =>
  advice?.kind === 'lower' || (advice === null && limit !== null && peak !== null && peak < FAR_BELOW_LIMIT * limit);

const wastes = ({ waste_gib_hours: waste }: JobLine): boolean => waste > 0;

/** The report that the store's answers make. */
export function buildReport(material: Material): Report {
  const { question, site } = material;
  const fitting = fittingOf(site.totals);
  const wasteOfAll = wasteOf(site.totals);
  const list = (
    found: Found,
    records: number,
    most: number,
    keep: (line: JobLine) => boolean = () => true,
  ): JobList => ({
    records,
    lines: toJobLineList(found.records, found).filter(keep).slice(0, most),
    looked_at_days: found.days,
  });
  return {
    schema: REPORT_SCHEMA,
    created_at: question.now.toISOString(),
    period: { since: question.since.toISOString(), until: question.until.toISOString() },
    clusters: material.clusters,
    owner: question.owner,
    by: question.by,
    site: toSums(site.totals, fitting),
    groups: site.groups
      .map(({ key, totals }) => ({ name: key, sums: toSums(totals, fitting) }))
      .sort((a, b) => b.sums.waste_gib_hours - a.sums.waste_gib_hours || b.sums.core_hours - a.sums.core_hours),
    fitting,
    wasters: material.wasters.map(({ group, found }) => ({
      name: group.key ?? '',
      sums: toSums(group.totals, fitting),
      share_of_waste: wasteOfAll > 0 ? Math.min(1, wasteOf(group.totals) / wasteOfAll) : 0,
      jobs: list(found, group.totals.records, question.owner === null ? LINES_OF_A_WASTER : LINES, wastes),
    })),
    killed_by_memory: list(material.killed, site.totals.killed_by_memory, LINES),
    far_below: list(material.farBelow, site.totals.far_below, LINES, couldAskForLess),
    hours: site.hours,
    shares: toShares(site.shares),
    coverage: coverageOf(site.coverage),
    silent_nodes: silentNodes(material.hosts),
    hosts_without_jobs: hostsWithoutJobs(material.hosts),
  };
}
