import { DAY_MS } from '../../base/units';
import type { JobRecord } from '../../record/record';
import { ClassHistory } from '../advice/class-history';
import { unusedByGridEngine } from '../records/unused';
import { firstWaits, WAIT_FIELDS, waitsOf } from '../records/waits';
import {
  askForDays,
  askForToday,
  dayBegin,
  recordsOn,
  whereToLook,
  type Asked,
  type ReportQuestion,
  type ReportReader,
} from './ask';
import { askForClasses } from './classes';
import { coverageOf } from './coverage';
import type { HeavyDays } from './heavy-days';
import { askForHosts, askForProblems } from './hosts';
import { lineOfKilled } from './job-line';
import { askForKilled } from './killed-jobs';
import { REPORT_SCHEMA, type Report, type ShareOfLimit, type Waits } from './report';
import { fittingOf, toSums } from './sums';
import { askForWasters, NAMES_OF_A_LIST } from './wasters';

/** Waits are judged by at most this many jobs of a span, the newest. */
const MOST_WAITS = 5_000;

async function askForWaits(reader: ReportReader, where: HeavyDays, all: Asked): Promise<Waits> {
  const fields = [...WAIT_FIELDS, 'trust'] as const;
  const { records } = await recordsOn(reader, where, { ...all, fields }, MOST_WAITS);
  return { queues: waitsOf(firstWaits(records)), looked_at_days: where.days };
}

/** The clusters of the period: of its whole days, and those that the lists show. */
async function askForClusters(
  reader: ReportReader,
  all: Asked,
  records: readonly JobRecord[],
): Promise<readonly string[]> {
  const listed = records.map(({ cluster }) => cluster);
  const since = Math.ceil(all.since / DAY_MS) * DAY_MS;
  const until = dayBegin(all.until);
  const whole = since < until ? (await reader.summary({ ...all, since, until, by: 'cluster' })).groups : [];
  return [...new Set([...listed, ...whole.flatMap(({ key }) => key ?? [])])].sort();
}

function toShares(counts: readonly number[]): ShareOfLimit[] {
  const last = counts.length - 1;
  return counts.map((records, index) => ({
    from: index / last,
    to: index === last ? null : (index + 1) / last,
    records,
  }));
}

/**
 * The report on a period, from a store: sums from its roll-ups, and lists of single jobs from a bounded number of
 * records, on the days that weigh most where the period has more. Rejects with StoreError.
 */
export async function makeReport(reader: ReportReader, question: ReportQuestion): Promise<Report> {
  const { by, owner, cluster, now, rules } = question;
  const all: Asked = {
    since: question.since.getTime(),
    until: question.until.getTime(),
    ...(cluster === null ? {} : { cluster }),
    ...(owner === null ? {} : { owner }),
  };
  const site = await reader.summary({ ...all, by });
  const owners = by === 'owner' ? site : await reader.summary({ ...all, by: 'owner' });
  const today = await askForToday(reader, all);
  const days = await askForDays(reader, all, today?.totals);
  const heavy = (name: 'killed_by_memory' | 'slot_seconds' | 'jobs'): HeavyDays =>
    whereToLook(
      all,
      days((totals) => totals[name]),
    );
  const history = new ClassHistory(async (query) => (await reader.records(query)).records, now.getTime());
  const sums = { site: site.totals, owners: owners.groups, today, days };
  const { wasters, farBelow, records: ofWasters } = await askForWasters(reader, all, sums, history);
  const killedDays = heavy('killed_by_memory');
  const failed = await recordsOn(reader, killedDays, { ...all, failed: true });
  const ended = failed.records.filter(({ status }) => status !== 'running');
  const killed = await askForKilled(reader, history, ended, question.dialect ?? 'unknown', NAMES_OF_A_LIST);
  const hasMore = failed.cut || killedDays.days !== null;
  const fitting = fittingOf(site.totals);
  return {
    schema: REPORT_SCHEMA,
    created_at: now.toISOString(),
    period: { since: question.since.toISOString(), until: question.until.toISOString() },
    clusters: await askForClusters(reader, all, [...ended, ...ofWasters]),
    owner,
    by,
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
    wasters,
    killed_by_memory: {
      records: site.totals.killed_by_memory,
      lines: killed.found.map((found) => lineOfKilled(found, hasMore)),
      looked_at_days: killedDays.days,
      otherwise: killed.otherwise,
    },
    far_below: farBelow,
    classes: rules === undefined ? null : await askForClasses(reader, heavy('slot_seconds'), all, rules),
    waits: await askForWaits(reader, heavy('jobs'), all),
    hours: site.hours,
    shares: toShares(site.shares),
    coverage: coverageOf(site.coverage),
    ...(await askForHosts(reader, all, site.coverage['sampler-lost'] > 0, days)),
    host_problems: await askForProblems(reader, question),
  };
}
