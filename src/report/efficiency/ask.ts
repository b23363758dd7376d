import { killedByMemory } from '../../accounting/cause';
import type { AccountingReader, RecordsQuery, Totals } from '../../accounting/store';
import type { Dimension, SummaryAnswer, SummaryGroup } from '../../accounting/summary';
import type { JobRecord } from '../../sampler/record';
import { FAR_BELOW_LIMIT, limitOf } from '../fit';
import { groupBy } from '../job-run';
import { dayWeights, heavyDays, type DayWeight, type HeavyDays, type Stretch } from './heavy-days';
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
const PER_WASTER = 100;
const PER_LIST = 500;
const NAMES_OF_A_WASTER = 3;
const NAMES_OF_A_LIST = 10;
/** Of the waste of all: under this, what to ask for is not looked into. */
const WORTH_A_LOOK = 0.01;
/** With so many of the highest peaks of a name, what they need is what all of that name need. */
const HIGHEST = 20;
/** Records that one list may be looked for in, so that a month's report over any number of jobs takes half a second. */
const READ_PER_WASTER = 2_000;
const READ_PER_LIST = 10_000;
const LOST_HOSTS = 50;
/** A night is looked through whole, however many jobs it had. */
const ALL_OF_IT_MS = 2 * 86_400_000;
const DAY_MS = 86_400_000;
const WEEK_MS = 7 * DAY_MS;

/** By one dimension alone a store knows the totals from its roll-ups, so running jobs are left out here, not there. */
type Filter = Omit<RecordsQuery, 'limit'>;

const isFarBelow = (record: JobRecord): boolean =>
  (record.peak_rss?.lower_bytes ?? Infinity) < FAR_BELOW_LIMIT * (limitOf(record) ?? 0);

const ended = ({ status }: JobRecord): boolean => status !== 'running';

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
      sort: 'peak',
      limit: HIGHEST,
    });
    highest.push(...records.map(({ record }) => record).filter(ended));
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

/** `known`: names that have been asked for, on which days. */
async function look(
  reader: ReportReader,
  { where, filter, limit, names, chosen }: Look,
  known: Map<string, WholeName>,
): Promise<Found> {
  const records: JobRecord[] = [];
  let cut = false;
  for (const stretch of where.stretches) {
    const answer = await reader.records({ ...filter, ...stretch, limit });
    cut ||= answer.totals.records > answer.records.length;
    records.push(...answer.records.map(({ record }) => record).filter(ended));
  }
  const whole = new Map<string, WholeName>();
  if (cut || chosen)
    for (const [key, record] of heaviestNames(records, names)) {
      const place = JSON.stringify([key, where.stretches]);
      const name = known.get(place) ?? (await askForName(reader, where, record));
      known.set(place, name);
      whole.set(key, name);
    }
  return { records, cut, days: where.days, whole, chosen };
}

type Place = Stretch & Pick<RecordsQuery, 'cluster'>;

/** On which days samplers were lost: a summary tells it of its whole interval only. */
async function daysWithLost(reader: ReportReader, period: Place, days: readonly DayWeight[]): Promise<HeavyDays> {
  const weights: DayWeight[] = [];
  const few = recordsOf(days) <= READ_PER_LIST;
  for (const one of days) {
    const since = Date.parse(one.day);
    const { coverage } = few
      ? { coverage: null }
      : await reader.summary({ ...period, since, until: since + DAY_MS, by: 'cluster' });
    weights.push({ ...one, weight: coverage?.['sampler-lost'] ?? 1 });
  }
  return heavyDays(weights, period, READ_PER_LIST);
}

async function lastOfLostHosts(
  reader: ReportReader,
  period: Place,
  days: readonly DayWeight[],
): Promise<readonly JobRecord[]> {
  const hosts = new Set<string>();
  for (const stretch of (await daysWithLost(reader, period, days)).stretches) {
    const { records } = await reader.records({ ...period, ...stretch, states: ['lost'], limit: PER_LIST });
    for (const { record } of records) hosts.add(record.host);
  }
  const last: JobRecord[] = [];
  for (const host of [...hosts].slice(0, LOST_HOSTS)) {
    const newest = (await reader.records({ ...period, host, limit: 1 })).records.map(({ record }) => record);
    last.push(...newest.sort((a, b) => b.revision - a.revision).slice(0, 1));
  }
  return last;
}

const recordsOf = (days: readonly DayWeight[]): number => days.reduce((sum, { records }) => sum + records, 0);

const dayBegin = (at: number): number => Math.floor(at / DAY_MS) * DAY_MS;

/**
 * What the days of a period weigh, from whole days alone, which a store has sums of: all of the first day, and as much
 * of the last, which mostly is today, as its hours have of the others.
 */
async function askForDays(reader: ReportReader, all: Place & Pick<RecordsQuery, 'owner' | 'far_below'>): Promise<Days> {
  const since = dayBegin(all.since);
  const last = dayBegin(all.until);
  const groups = since < last ? (await reader.summary({ ...all, since, until: last, by: 'day' })).groups : [];
  return (of) => {
    const whole = dayWeights(groups, of);
    if (last === all.until) return whole;
    const part = (all.until - last) / DAY_MS;
    const mean = (value: (one: DayWeight) => number): number =>
      whole.length === 0 ? 1 : (part * whole.reduce((sum, one) => sum + value(one), 0)) / whole.length;
    const today = { day: new Date(last).toISOString().slice(0, 10), weight: mean(({ weight }) => weight) };
    return [...whole, { ...today, records: mean(({ records }) => records) }];
  };
}

type Days = (of: (totals: Totals) => number) => readonly DayWeight[];

/** Where to look for a list: of a night or two everywhere, else on the days that weigh most. */
function whereToLook(period: Stretch, days: readonly DayWeight[], budget: number): HeavyDays {
  if (period.until - period.since > ALL_OF_IT_MS) return heavyDays(days, period, budget);
  return { stretches: days.some(({ weight }) => weight > 0) ? [period] : [], days: null };
}

/** The clusters of the period: of its whole days, and those that the lists show. */
async function askForClusters(
  reader: ReportReader,
  period: Place,
  lists: readonly Found[],
): Promise<readonly string[]> {
  const listed = lists.flatMap(({ records }) => records.map(({ cluster }) => cluster));
  const since = Math.ceil(period.since / DAY_MS) * DAY_MS;
  const until = dayBegin(period.until);
  const whole = since < until ? (await reader.summary({ ...period, since, until, by: 'cluster' })).groups : [];
  return [...new Set([...listed, ...whole.flatMap(({ key }) => key ?? [])])].sort();
}

/** Hosts that may have fallen silent; of long periods the whole days are enough to tell. */
async function askForHosts(reader: ReportReader, period: Place, lost: boolean, days: Days): Promise<HostFindings> {
  const first = dayBegin(period.since);
  const before = await reader.summary({ ...period, since: first - WEEK_MS, until: first, by: 'host' });
  const long = period.until - period.since > WEEK_MS;
  const during = await reader.summary({
    ...period,
    ...(long ? { since: first + DAY_MS, until: dayBegin(period.until) } : {}),
    by: 'host',
  });
  const last = lost
    ? await lastOfLostHosts(
        reader,
        period,
        days(() => 1),
      )
    : [];
  return { before: before.groups, during: during.groups, last };
}

/**
 * Asks a store for a report's figures: sums from its roll-ups, and a bounded number of records for the lists of single
 * jobs, on the days that weigh most where the period has more. Rejects with StoreError.
 */
export async function askForReport(reader: ReportReader, question: ReportQuestion): Promise<Material> {
  const { by, owner, cluster } = question;
  const alone = owner !== null;
  const period: Stretch = { since: question.since.getTime(), until: question.until.getTime() };
  const here = { ...period, ...(cluster === null ? {} : { cluster }) };
  const all = { ...here, ...(alone ? { owner } : {}), far_below: FAR_BELOW_LIMIT };
  const site = await reader.summary({ ...all, by });
  const days = await askForDays(reader, all);
  const known = new Map<string, WholeName>();
  const listOf = (weights: readonly DayWeight[], budget: number, list: Omit<Look, 'where'>): Promise<Found> =>
    look(reader, { ...list, where: whereToLook(period, weights, budget) }, known);

  const owners = by === 'owner' ? site : await reader.summary({ ...all, by: 'owner' });
  const largest = owners.groups
    .filter(({ key, totals }) => key !== null && wasteOf(totals) > 0)
    .sort((a, b) => wasteOf(b.totals) - wasteOf(a.totals))
    .slice(0, WASTERS);
  const wasters = [];
  for (const group of largest) {
    const one = { ...all, owner: group.key ?? '' };
    const own = alone ? days : await askForDays(reader, one);
    const found = await listOf(own(wasteOf), alone ? READ_PER_LIST : READ_PER_WASTER, {
      filter: { ...one, sort: 'unused' },
      limit: alone ? PER_LIST : PER_WASTER,
      names: alone
        ? NAMES_OF_A_LIST
        : wasteOf(group.totals) < WORTH_A_LOOK * wasteOf(site.totals)
          ? 0
          : NAMES_OF_A_WASTER,
      chosen: false,
    });
    wasters.push({ group, found });
  }
  const failed = await listOf(
    days(({ killed_by_memory: killed }) => killed),
    READ_PER_LIST,
    { filter: { ...all, failed: true }, limit: PER_LIST, names: 0, chosen: true },
  );
  // Not by the share: those that waste most are asked for anyway, and most of them are far below.
  const wasting = await listOf(
    days(({ far_below: far }) => far),
    READ_PER_LIST,
    { filter: { ...all, sort: 'unused' }, limit: PER_LIST, names: alone ? 0 : NAMES_OF_A_LIST, chosen: true },
  );
  return {
    question,
    clusters: await askForClusters(reader, all, [failed, wasting, ...wasters.map(({ found }) => found)]),
    site,
    wasters,
    killed: { ...failed, records: failed.records.filter(killedByMemory) },
    farBelow: { ...wasting, records: wasting.records.filter(isFarBelow) },
    hosts: alone
      ? { before: [], during: [], last: [] }
      : await askForHosts(reader, here, site.coverage['sampler-lost'] > 0, days),
  };
}
