import { DAY_MS, HOUR_MS } from '../../base/units';
import type { Totals } from '../../record/totals';
import type { AccountingReader, RecordsQuery } from '../../accounting/store';
import type { Span } from '../../accounting/sums/periods';
import type { Dimension, SummaryAnswer, SummaryGroup } from '../../accounting/summary';
import type { Dialect } from '../../gridengine/dialect';
import { countsInSums } from '../../record/facts';
import type { NodeHeartbeat } from '../../record/node-status';
import { recordKeyText, type JobRecord } from '../../record/record';
import type { MemoryPrediction } from '../advice/class-advice';
import { ClassHistory } from '../advice/class-history';
import { dayWeights, heavyDays, type DayWeight, type HeavyDays } from './heavy-days';
import type { RuleSet } from '../rules/rule-set';
import { askForClasses } from './classes';
import type { ClassesFound, Waits } from './report';
import type { NameFound } from './job-line';
import { askForKilled, type KilledJobs } from './killed-jobs';
import type { HostFindings } from './coverage';
import { unusedGibHours } from '../records/unused';
import { firstWaits, WAIT_FIELDS, waitsOf } from '../records/waits';
import { withWholeJobs, type WholeJobs } from './whole-jobs';

export type ReportReader = Pick<AccountingReader, 'summary' | 'records' | 'job' | 'nodes'>;

export interface ReportQuestion {
  readonly since: Date;
  readonly until: Date;
  readonly by: Dimension;
  /** Only this owner's jobs; null: all owners'. */
  readonly owner: string | null;
  /** Only this cluster's jobs; null: all clusters'. */
  readonly cluster: string | null;
  readonly now: Date;
  /** The dialect of Grid Engine that wrote the records; left out: unknown. */
  readonly dialect?: Dialect;
  /** Rules that put jobs into classes; left out: no classes. */
  readonly rules?: RuleSet;
}

/** Records that were looked for on some days. */
interface FoundRecords {
  readonly records: readonly JobRecord[];
  /** There are more such records than these. */
  readonly cut: boolean;
  /** The days that were searched; null: all. */
  readonly days: readonly string[] | null;
}

interface WasterFound {
  readonly group: SummaryGroup;
  /** The job names that make most of the waste, the largest first. */
  readonly names: readonly NameFound[];
  readonly days: readonly string[] | null;
}

/** What the store said: all that a report is made from. */
export interface ReportData {
  readonly question: ReportQuestion;
  readonly clusters: readonly string[];
  readonly site: SummaryAnswer;
  /** The ten owners that wasted most. */
  readonly wasters: readonly WasterFound[];
  readonly killed: KilledJobs & Pick<FoundRecords, 'cut' | 'days'>;
  /** Job names of those owners whose jobs mostly stayed far below their limit. */
  readonly farBelow: { readonly names: readonly NameFound[]; readonly days: readonly string[] | null };
  readonly hosts: HostFindings;
  readonly heartbeats: readonly NodeHeartbeat[];
  readonly classes: ClassesFound | null;
  readonly waits: Waits;
}

const WASTERS = 10;
const PER_LIST = 500;
/**
 * At most so many lines for a waster, and in a list; after the first three, a waster with a smaller share than
 * WORTH_A_LOOK of all waste has one line.
 */
const NAMES_OF_A_WASTER = 3;
const NAMES_OF_A_LIST = 10;
const WORTH_A_LOOK = 0.01;
/** Records read for one name: those with the largest waste, and those with the highest peaks. */
const LARGEST = 30;
const HIGHEST = 20;
/** At most this many records are searched for one list: so a month's report takes half a second, whatever its size. */
const READ_PER_WASTER = 2_000;
const READ_PER_LIST = 10_000;
const LOST_HOSTS = 50;
/** A period no longer than this is searched whole, however many jobs it had. */
const ALL_OF_IT_MS = 2 * DAY_MS;
/** In a shorter period it is not remarkable if a host has no jobs. */
const SILENCE_MS = 20 * HOUR_MS;
const WEEK_MS = 7 * DAY_MS;

type Whose = Pick<RecordsQuery, 'cluster' | 'owner'>;
type Filter = Whose & Pick<RecordsQuery, 'failed'>;

const ended = (record: JobRecord): boolean => record.status !== 'running' && countsInSums(record);

async function recordsIn(reader: ReportReader, query: RecordsQuery): Promise<readonly JobRecord[]> {
  const { records } = await reader.records({ ...query, totals: false });
  return records.map(({ record }) => record);
}

async function look(reader: ReportReader, where: HeavyDays, filter: Filter): Promise<FoundRecords> {
  const records: JobRecord[] = [];
  let cut = where.days !== null;
  for (const span of where.spans) {
    // One more than is kept, to know whether there are more.
    const found = await recordsIn(reader, { ...filter, ...span, limit: PER_LIST + 1 });
    cut ||= found.length > PER_LIST;
    records.push(...found.slice(0, PER_LIST).filter(ended));
  }
  return { records, cut, days: where.days };
}

/** Waits are judged by at most this many jobs of a span, the newest. */
const MOST_WAITS = 5_000;

async function askForWaits(reader: ReportReader, where: HeavyDays, whose: Whose): Promise<Waits> {
  const records: JobRecord[] = [];
  const fields = [...WAIT_FIELDS, 'trust'] as const;
  for (const span of where.spans)
    records.push(...(await recordsIn(reader, { ...whose, ...span, limit: MOST_WAITS, fields })));
  return { queues: waitsOf(firstWaits(records.filter(countsInSums))), looked_at_days: where.days };
}

interface NameSums extends Omit<NameFound, keyof WholeJobs | 'prediction'> {
  readonly where: HeavyDays;
}

/** On which days an owner's jobs were searched for, their names, and the names to show. */
interface Searched {
  readonly where: HeavyDays;
  readonly names: readonly NameSums[];
  readonly shown: readonly NameSums[];
}

/** Sums of an owner's jobs by name, the largest waste first. */
async function askForNames(
  reader: ReportReader,
  where: HeavyDays,
  owner: string,
  filter: Whose,
): Promise<readonly NameSums[]> {
  const names = new Map<string, NameSums>();
  for (const span of where.spans)
    for (const { key, totals } of (await reader.summary({ ...filter, ...span, owner, by: 'job_name' })).groups) {
      if (key === null) continue;
      const known = names.get(key);
      names.set(key, {
        name: key,
        owner,
        where,
        all: totals.records + (known?.all ?? 0),
        jobs: totals.jobs + (known?.jobs ?? 0),
        failed: totals.failed + (known?.failed ?? 0),
        far_below: totals.far_below + (known?.far_below ?? 0),
        waste_gib_hours: unusedGibHours(totals) + (known?.waste_gib_hours ?? 0),
      });
    }
  return [...names.values()]
    .filter(({ waste_gib_hours: waste }) => waste > 0)
    .sort((a, b) => b.waste_gib_hours - a.waste_gib_hours);
}

const uniqueRecords = (records: readonly JobRecord[]): JobRecord[] => [
  ...new Map(records.map((record) => [recordKeyText(record), record])).values(),
];

/** Records of a name: those that wasted most, and, where these are not all, those with the highest peaks. */
async function askForSome(
  reader: ReportReader,
  filter: Whose,
  { where, ...sums }: NameSums,
): Promise<Omit<NameFound, 'prediction'>> {
  const some: JobRecord[] = [];
  const chosen = { ...filter, owner: sums.owner, name_class: sums.name };
  for (const span of where.spans) {
    const largest = await recordsIn(reader, { ...chosen, ...span, sort: 'unused', limit: LARGEST });
    some.push(...largest.filter(ended));
    if (largest.length < LARGEST) continue;
    const highest = await recordsIn(reader, { ...chosen, ...span, sort: 'peak', limit: HIGHEST });
    some.push(...highest.filter(ended));
  }
  return { ...sums, ...(await withWholeJobs(reader, uniqueRecords(some))) };
}

/** The prediction from past runs of all jobs of a name. */
function predictionFor(
  { owner, name: jobName }: NameSums,
  cluster: string | null,
  history: ClassHistory,
): Promise<MemoryPrediction | null> {
  const ofAny = { slots: null, pe: null, project: null, queue: null, programs: [], complex: null };
  return history.memoryOf({ owner, jobName, cluster, ...ofAny });
}

type Place = Span & Pick<RecordsQuery, 'cluster'>;

/** The days on which samplers were lost, asked for one by one: a summary counts them for its whole interval only. */
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
  for (const span of (await daysWithLost(reader, period, days)).spans) {
    const lost = await recordsIn(reader, { ...period, ...span, states: ['lost'], limit: PER_LIST });
    for (const record of lost.filter(countsInSums)) hosts.add(record.host);
  }
  const last: JobRecord[] = [];
  for (const host of [...hosts].slice(0, LOST_HOSTS)) {
    const newest = await recordsIn(reader, { ...period, host, limit: 1 });
    last.push(...newest.toSorted((a, b) => b.revision - a.revision).slice(0, 1));
  }
  return last;
}

const recordsOf = (days: readonly DayWeight[]): number => days.reduce((sum, { records }) => sum + records, 0);

const dayBegin = (at: number): number => Math.floor(at / DAY_MS) * DAY_MS;

type Asked = Place & Pick<RecordsQuery, 'owner'>;

/** The period's unfinished last day, which mostly is today, by owner; null: the period ends with a whole day. */
async function askForToday(reader: ReportReader, all: Asked): Promise<SummaryAnswer | null> {
  const last = dayBegin(all.until);
  return last === all.until ? null : reader.summary({ ...all, since: Math.max(all.since, last), by: 'owner' });
}

/**
 * What the days of a period weigh, by sums of whole days, which stores keep: the first day counts whole; `today` holds
 * the totals of the unfinished last day (undefined: it has none).
 */
async function askForDays(reader: ReportReader, all: Asked, today: Totals | undefined): Promise<Days> {
  const since = dayBegin(all.since);
  const last = dayBegin(all.until);
  const whole = since < last ? (await reader.summary({ ...all, since, until: last, by: 'day' })).groups : [];
  const days = today === undefined ? whole : [...whole, { key: new Date(last).toISOString(), totals: today }];
  return (of) => dayWeights(days, of);
}

type Days = (of: (totals: Totals) => number) => readonly DayWeight[];

const mostlyFarBelow = ({ far_below: far, all }: NameSums): boolean => far > 0 && far * 2 >= all;

/** All days that were searched; null: every day. */
function daysOf(places: readonly HeavyDays[]): readonly string[] | null {
  const days = [...new Set(places.flatMap(({ days: some }) => some ?? []))].sort();
  return days.length === 0 ? null : days;
}

/** Where to search for a list's jobs: everywhere in a period of a night or two, else on the days that weigh most. */
function whereToLook(period: Span, days: readonly DayWeight[], budget: number): HeavyDays {
  if (period.until - period.since > ALL_OF_IT_MS) return heavyDays(days, period, budget);
  return { spans: days.some(({ weight }) => weight > 0) ? [period] : [], days: null };
}

/** The clusters of the period: of its whole days, and those that the lists show. */
async function askForClusters(
  reader: ReportReader,
  period: Place,
  records: readonly JobRecord[],
): Promise<readonly string[]> {
  const listed = records.map(({ cluster }) => cluster);
  const since = Math.ceil(period.since / DAY_MS) * DAY_MS;
  const until = dayBegin(period.until);
  const whole = since < until ? (await reader.summary({ ...period, since, until, by: 'cluster' })).groups : [];
  return [...new Set([...listed, ...whole.flatMap(({ key }) => key ?? [])])].sort();
}

/** What shows which hosts may have fallen silent. */
async function askForHosts(reader: ReportReader, period: Place, lost: boolean, days: Days): Promise<HostFindings> {
  const first = dayBegin(period.since);
  const before = await reader.summary({ ...period, since: first - WEEK_MS, until: first, by: 'host' });
  const during = await reader.summary({ ...period, by: 'host' });
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
 * Heartbeats of the last week; none if the period ended more than a day ago, since they show the hosts as they are now.
 */
async function askForHeartbeats(
  reader: ReportReader,
  { now, until, cluster }: ReportQuestion,
): Promise<readonly NodeHeartbeat[]> {
  if (now.getTime() - until.getTime() > DAY_MS) return [];
  const heartbeats = await reader.nodes({ since: now.getTime() - WEEK_MS });
  return heartbeats.filter((heartbeat) => cluster === null || heartbeat.cluster === cluster);
}

/**
 * Asks a store for a report's figures: sums from its roll-ups, and a bounded number of records for the lists of single
 * jobs, on the days that weigh most where the period has more. Rejects with StoreError.
 */
export async function askForReport(reader: ReportReader, question: ReportQuestion): Promise<ReportData> {
  const { by, owner, cluster } = question;
  const alone = owner !== null;
  const period: Span = { since: question.since.getTime(), until: question.until.getTime() };
  const here = { ...period, ...(cluster === null ? {} : { cluster }) };
  const all = { ...here, ...(alone ? { owner } : {}) };
  const site = await reader.summary({ ...all, by });
  const today = await askForToday(reader, all);
  const days = await askForDays(reader, all, today?.totals);
  const owners = by === 'owner' ? site : await reader.summary({ ...all, by: 'owner' });
  const largest = owners.groups
    .filter(({ key, totals }) => key !== null && unusedGibHours(totals) > 0)
    .sort((a, b) => unusedGibHours(b.totals) - unusedGibHours(a.totals))
    .slice(0, WASTERS);
  const wasters: (Omit<WasterFound, 'names' | 'days'> & Searched)[] = [];
  for (const group of largest) {
    const name = group.key ?? '';
    const ownToday = today?.groups.find(({ key }) => key === name)?.totals;
    const own = alone ? days : await askForDays(reader, { ...all, owner: name }, ownToday);
    const where = whereToLook(period, own(unusedGibHours), alone ? READ_PER_LIST : READ_PER_WASTER);
    const names = await askForNames(reader, where, name, all);
    const worth =
      wasters.length < NAMES_OF_A_WASTER || unusedGibHours(group.totals) >= WORTH_A_LOOK * unusedGibHours(site.totals);
    const most = alone ? NAMES_OF_A_LIST : worth ? NAMES_OF_A_WASTER : 1;
    wasters.push({ group, where, names, shown: names.slice(0, most) });
  }
  const far = alone ? [] : wasters.flatMap(({ names }) => names).filter(mostlyFarBelow);
  const farShown = far.sort((a, b) => b.waste_gib_hours - a.waste_gib_hours).slice(0, NAMES_OF_A_LIST);
  const history = new ClassHistory(async (query) => (await reader.records(query)).records, question.now.getTime());
  const found = new Map<NameSums, NameFound>();
  for (const sums of new Set([...wasters.flatMap(({ shown }) => shown), ...farShown]))
    found.set(sums, {
      ...(await askForSome(reader, all, sums)),
      prediction: await predictionFor(sums, cluster, history),
    });
  const foundOf = (names: readonly NameSums[]): NameFound[] => names.flatMap((sums) => found.get(sums) ?? []);

  const heavy = (name: 'killed_by_memory' | 'slot_seconds' | 'jobs'): HeavyDays =>
    whereToLook(
      period,
      days((totals) => totals[name]),
      READ_PER_LIST,
    );
  const failed = await look(reader, heavy('killed_by_memory'), { ...all, failed: true });
  const killed = await askForKilled(reader, history, failed.records, question.dialect ?? 'unknown', NAMES_OF_A_LIST);
  const listed = [...failed.records, ...[...found.values()].flatMap(({ records }) => records)];
  return {
    question,
    clusters: await askForClusters(reader, all, listed),
    site,
    wasters: wasters.map(({ group, where, shown }) => ({ group, names: foundOf(shown), days: where.days })),
    killed: { ...killed, cut: failed.cut, days: failed.days },
    farBelow: { names: foundOf(farShown), days: daysOf(farShown.map(({ where }) => where)) },
    classes:
      question.rules === undefined ? null : await askForClasses(reader, heavy('slot_seconds'), all, question.rules),
    waits: await askForWaits(reader, heavy('jobs'), all),
    hosts:
      alone || period.until - period.since < SILENCE_MS
        ? { before: [], during: [], last: [] }
        : await askForHosts(reader, here, site.coverage['sampler-lost'] > 0, days),
    heartbeats: alone ? [] : await askForHeartbeats(reader, question),
  };
}
