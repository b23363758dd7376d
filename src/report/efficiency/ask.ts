import { killedByMemory } from '../../accounting/cause';
import type { AccountingReader, RecordsQuery, Totals } from '../../accounting/store';
import type { Dimension, SummaryAnswer, SummaryGroup } from '../../accounting/summary';
import type { JobRecord } from '../../sampler/record';
import { FAR_BELOW_LIMIT } from '../fit';
import { groupBy } from '../job-run';
import { dayWeights, heavyDays, type HeavyDays, type Stretch } from './heavy-days';
import { lineKey, unusedOf, type Beyond, type WholeName } from './job-line';
import type { HostFindings } from './silent-nodes';
import { wasteOf } from './sums';

export type ReportReader = Pick<AccountingReader, 'summary' | 'records'>;

export interface ReportQuestion {
  readonly since: Date;
  readonly until: Date;
  readonly by: Dimension;
  /** This owner's jobs alone. */
  readonly owner: string | null;
  /** This cluster's alone. */
  readonly cluster: string | null;
  readonly now: Date;
}

/** Records that were looked for on some days. */
export interface Found extends Beyond {
  readonly records: readonly JobRecord[];
  /** Those that were looked at; null: all. */
  readonly days: readonly string[] | null;
}

/** What the store said: all that a report is made from. */
export interface Material {
  readonly question: ReportQuestion;
  readonly clusters: readonly string[];
  readonly site: SummaryAnswer;
  /** The ten owners that wasted most, and the records that make their waste. */
  readonly wasters: readonly { readonly group: SummaryGroup; readonly found: Found }[];
  readonly killed: Found;
  readonly farBelow: Found;
  readonly hosts: HostFindings;
}

const WASTERS = 10;
/** Records that a list is made from: enough for its lines where some are arrays. */
const PER_WASTER = 200;
const PER_LIST = 500;
const NAMES_OF_A_WASTER = 3;
const NAMES_OF_A_LIST = 10;
/** With so many of the highest peaks of a name, what they need is what all of that name need. */
/** Records that one list may be looked for in, so that the whole report keeps within half a second. */
const READ_PER_WASTER = 5_000;
const READ_PER_LIST = 50_000;
const HIGHEST = 20;
const LOST_HOSTS = 50;
const WEEK_MS = 7 * 86_400_000;
const ENDED = ['finished', 'lost', 'unsampled'] as const;

type Filter = Omit<RecordsQuery, 'since' | 'until' | 'limit'>;

interface Look {
  readonly where: HeavyDays;
  readonly filter: Filter;
  /** Records to list, and names of which all is asked where these records may not be all of them. */
  readonly limit: number;
  readonly names: number;
  readonly chosen: boolean;
}

/** All of a name on the days that are looked at, whatever else the filter asks for: what it needs must fit them all. */
async function askForName(reader: ReportReader, { stretches }: HeavyDays, one: JobRecord): Promise<WholeName> {
  const highest: JobRecord[] = [];
  const sums = { records: 0, jobs: 0, waste_gib_hours: 0 };
  for (const stretch of stretches) {
    const { records, totals } = await reader.records({
      ...stretch,
      cluster: one.cluster,
      ...(one.owner === null ? {} : { owner: one.owner }),
      ...(one.job_name === null ? {} : { job_name: one.job_name }),
      states: ENDED,
      sort: 'peak',
      limit: HIGHEST,
    });
    highest.push(...records.map(({ record }) => record));
    sums.records += totals.records;
    sums.jobs += totals.jobs;
    sums.waste_gib_hours += wasteOf(totals);
  }
  return { ...sums, highest };
}

/** The names that make most of some records' waste, with a record of each. */
function heaviestNames(records: readonly JobRecord[], most: number): readonly (readonly [string, JobRecord])[] {
  return [...groupBy(records, lineKey)]
    .map(([key, group]) => ({ key, group, waste: group.reduce((sum, record) => sum + unusedOf(record), 0) }))
    .sort((a, b) => b.waste - a.waste)
    .flatMap(({ key, group: [first] }) => (first === undefined ? [] : [[key, first] as const]))
    .slice(0, most);
}

async function look(reader: ReportReader, { where, filter, limit, names, chosen }: Look): Promise<Found> {
  const records: JobRecord[] = [];
  let cut = false;
  for (const stretch of where.stretches) {
    const answer = await reader.records({ ...filter, ...stretch, limit });
    cut ||= answer.totals.records > answer.records.length;
    records.push(...answer.records.map(({ record }) => record));
  }
  const whole = new Map<string, WholeName>();
  if (cut || chosen)
    for (const [key, record] of heaviestNames(records, names)) whole.set(key, await askForName(reader, where, record));
  return { records, cut, days: where.days, whole, chosen };
}

type Place = Stretch & Pick<RecordsQuery, 'cluster'>;

async function lastOfLostHosts(reader: ReportReader, period: Place): Promise<readonly JobRecord[]> {
  const { records } = await reader.records({ ...period, states: ['lost'], limit: PER_LIST });
  const hosts = [...new Set(records.map(({ record }) => record.host))].slice(0, LOST_HOSTS);
  const last: JobRecord[] = [];
  for (const host of hosts) {
    const newest = (await reader.records({ ...period, host, limit: 1 })).records.map(({ record }) => record);
    last.push(...newest.sort((a, b) => b.revision - a.revision).slice(0, 1));
  }
  return last;
}

async function askForHosts(reader: ReportReader, period: Place, lost: number): Promise<HostFindings> {
  const week = { ...period, since: period.since - WEEK_MS, until: period.since };
  const before = await reader.summary({ ...week, by: 'host' });
  const during = await reader.summary({ ...period, by: 'host' });
  return {
    before: before.groups,
    during: during.groups,
    last: lost > 0 ? await lastOfLostHosts(reader, period) : [],
  };
}

/**
 * Asks a store for a report's figures: sums from its roll-ups, and a bounded number of records for the lists of single
 * jobs, on the days that weigh most where the period has more. Rejects with StoreError.
 */
export async function askForReport(reader: ReportReader, question: ReportQuestion): Promise<Material> {
  const { by, owner, cluster } = question;
  const period: Stretch = { since: question.since.getTime(), until: question.until.getTime() };
  const where = cluster === null ? {} : { cluster };
  const whose = owner === null ? where : { ...where, owner };
  const all = { ...period, ...whose, far_below: FAR_BELOW_LIMIT };
  const site = await reader.summary({ ...all, by });
  const clusters = await reader.summary({ ...all, by: 'cluster' });
  const days = (await reader.summary({ ...all, by: 'day' })).groups;

  const owners = by === 'owner' ? site : await reader.summary({ ...all, by: 'owner' });
  const largest = owners.groups
    .filter(({ key, totals }) => key !== null && wasteOf(totals) > 0)
    .sort((a, b) => wasteOf(b.totals) - wasteOf(a.totals))
    .slice(0, WASTERS);
  const alone = owner !== null;
  const wasters = [];
  for (const group of largest) {
    const filter = { ...where, owner: group.key ?? '', states: ENDED, sort: 'unused' } as const;
    const own =
      alone || days.length <= 1 ? days : (await reader.summary({ ...all, owner: filter.owner, by: 'day' })).groups;
    const found = await look(reader, {
      where: heavyDays(dayWeights(own, wasteOf), period, alone ? READ_PER_LIST : READ_PER_WASTER),
      filter,
      limit: alone ? PER_LIST : PER_WASTER,
      names: alone ? NAMES_OF_A_LIST : NAMES_OF_A_WASTER,
      chosen: false,
    });
    wasters.push({ group, found });
  }
  const onDaysWith = (weightOf: (totals: Totals) => number): HeavyDays =>
    heavyDays(dayWeights(days, weightOf), period, READ_PER_LIST);
  const failed = await look(reader, {
    where: onDaysWith((totals) => totals.killed_by_memory),
    filter: { ...whose, failed: true, states: ENDED },
    limit: PER_LIST,
    names: 0,
    chosen: true,
  });
  const farBelow = await look(reader, {
    where: onDaysWith((totals) => totals.far_below),
    filter: { ...whose, states: ENDED, share_at_most: FAR_BELOW_LIMIT, sort: 'unused' },
    limit: PER_LIST,
    names: NAMES_OF_A_LIST,
    chosen: true,
  });

  return {
    question,
    clusters: clusters.groups.flatMap(({ key }) => key ?? []),
    site,
    wasters,
    killed: { ...failed, records: failed.records.filter(killedByMemory) },
    farBelow,
    hosts:
      owner === null
        ? await askForHosts(reader, { ...period, ...where }, site.coverage['sampler-lost'])
        : { before: [], during: [], last: [] },
  };
}
