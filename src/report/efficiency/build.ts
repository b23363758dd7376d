import { FAR_BELOW_LIMIT } from '../../record/sums';
import { type ReportData, askForReport, type ReportQuestion, type ReportReader } from './ask';
import { coverageOf, hostProblems, hostsWithoutJobs, silentNodes } from './coverage';
import { lineOfKilled, lineOfName, type NameFound } from './job-line';
import { REPORT_SCHEMA, type JobLine, type Report, type ShareOfLimit } from './report';
import { unusedByGridEngine, unusedGibHours } from '../records/unused';
import { fittingOf, toSums } from './sums';

function toShares(counts: readonly number[]): ShareOfLimit[] {
  const last = counts.length - 1;
  return counts.map((records, index) => ({
    from: index / last,
    to: index === last ? null : (index + 1) / last,
    records,
  }));
}

/** The lines of these names, the largest waste first. */
function linesOf(names: readonly NameFound[]): JobLine[] {
  return names
    .flatMap((name) => lineOfName(name) ?? [])
    .filter(({ waste_gib_hours: waste }) => waste > 0)
    .sort((a, b) => b.waste_gib_hours - a.waste_gib_hours);
}

/** Whether the jobs of a line could request less: a parallel job may need more than its master's record shows. */
const couldAskForLess = ({ advice, limit_bytes: limit, peak_bytes: peak }: JobLine): boolean =>
  advice === null ? peak !== null && peak < FAR_BELOW_LIMIT * (limit ?? 0) : advice.kind === 'lower';

/** The report that the store's answers make. */
function buildReport(material: ReportData): Report {
  const { question, site, wasters, killed, farBelow } = material;
  const fitting = fittingOf(site.totals);
  const wasteOfAll = unusedGibHours(site.totals);
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
      .sort(
        ({ sums: a }, { sums: b }) =>
          b.waste_gib_hours - a.waste_gib_hours ||
          unusedByGridEngine(b) - unusedByGridEngine(a) ||
          b.core_hours - a.core_hours,
      ),
    fitting,
    wasters: wasters.map(({ group, names, days }) => ({
      name: group.key ?? '',
      sums: toSums(group.totals, fitting),
      share_of_waste: wasteOfAll > 0 ? Math.min(1, unusedGibHours(group.totals) / wasteOfAll) : 0,
      jobs: { records: group.totals.records, lines: linesOf(names), looked_at_days: days },
    })),
    killed_by_memory: {
      records: site.totals.killed_by_memory,
      lines: killed.found.map((found) => lineOfKilled(found, killed.cut)),
      looked_at_days: killed.days,
      otherwise: killed.otherwise,
    },
    far_below: {
      records: site.totals.far_below,
      lines: linesOf(farBelow.names).filter(couldAskForLess),
      looked_at_days: farBelow.days,
    },
    classes: material.classes,
    waits: material.waits,
    hours: site.hours,
    shares: toShares(site.shares),
    coverage: coverageOf(site.coverage),
    silent_nodes: silentNodes(material.hosts),
    hosts_without_jobs: hostsWithoutJobs(material.hosts),
    host_problems: hostProblems(material.heartbeats, question.now),
  };
}

/** The report on a period, from a store. Rejects with StoreError. */
export async function makeReport(reader: ReportReader, question: ReportQuestion): Promise<Report> {
  return buildReport(await askForReport(reader, question));
}
