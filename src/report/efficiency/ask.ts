import type { AccountingReader, RecordsQuery } from '../../accounting/store';
import type { Dimension, SummaryAnswer, SummaryGroup } from '../../accounting/summary';
import type { JobRecord } from '../../sampler/record';
import { hitLimit } from '../ending';
import { FAR_BELOW_LIMIT } from '../fit';
import { dayWeights, heavyDays, type HeavyDays, type Stretch } from './heavy-days';
import type { HostFindings } from './silent-nodes';
import { wasteOf } from './sums';

export type ReportReader = Pick<AccountingReader, 'summary' | 'records'>;

export interface ReportQuestion {
  readonly since: Date;
  readonly until: Date;
  readonly by: Dimension;
  /** This owner's jobs alone. */
  readonly owner: string | null;
  readonly now: Date;
}

/** Records that were looked for on some days. */
export interface Found {
  readonly records: readonly JobRecord[];
  /** More than these belong here. */
  readonly cut: boolean;
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
/** Records that one list may be looked for in, so that the whole report keeps within half a second. */
const READ_PER_WASTER = 5_000;
const READ_PER_LIST = 50_000;
const LOST_HOSTS = 50;
const WEEK_MS = 7 * 86_400_000;
const ENDED = ['finished', 'lost', 'unsampled'] as const;

type Filter = Omit<RecordsQuery, 'since' | 'until' | 'limit'>;

/** Up to `limit` records of each stretch, and whether there were more. */
async function look(reader: ReportReader, where: HeavyDays, filter: Filter, limit: number): Promise<Found> {
  const records: JobRecord[] = [];
  let cut = false;
  for (const stretch of where.stretches) {
    const answer = await reader.records({ ...filter, ...stretch, limit, far_below: FAR_BELOW_LIMIT });
    cut ||= answer.totals.records > answer.records.length;
    records.push(...answer.records.map(({ record }) => record));
  }
  return { records, cut: cut || where.days !== null, days: where.days };
}

async function lastOfLostHosts(reader: ReportReader, period: Stretch): Promise<readonly JobRecord[]> {
  const { records } = await reader.records({ ...period, states: ['lost'], limit: PER_LIST });
  const hosts = [...new Set(records.map(({ record }) => record.host))].slice(0, LOST_HOSTS);
  const last: JobRecord[] = [];
  for (const host of hosts) {
    const [newest] = (await reader.records({ ...period, host, limit: 1 })).records;
    if (newest !== undefined) last.push(newest.record);
  }
  return last;
}

async function askForHosts(reader: ReportReader, period: Stretch, lost: number): Promise<HostFindings> {
  const week = { since: period.since - WEEK_MS, until: period.since };
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
  const { by, owner } = question;
  const period: Stretch = { since: question.since.getTime(), until: question.until.getTime() };
  const whose = owner === null ? {} : { owner };
  const all = { ...period, ...whose, far_below: FAR_BELOW_LIMIT };
  const site = await reader.summary({ ...all, by });
  const clusters = await reader.summary({ ...all, by: 'cluster' });
  const days = (await reader.summary({ ...all, by: 'day' })).groups;

  const owners = by === 'owner' ? site : await reader.summary({ ...all, by: 'owner' });
  const largest = owners.groups
    .filter(({ key, totals }) => key !== null && wasteOf(totals) > 0)
    .sort((a, b) => wasteOf(b.totals) - wasteOf(a.totals))
    .slice(0, WASTERS);
  const wasters = [];
  for (const group of largest) {
    const filter = { owner: group.key ?? '', states: ENDED, sort: 'unused' } as const;
    const oneDay = days.length <= 1;
    const own = owner !== null || oneDay ? days : (await reader.summary({ ...all, owner: filter.owner, by: 'day' })).groups;
    const where = heavyDays(dayWeights(own, wasteOf), period, owner === null ? READ_PER_WASTER : READ_PER_LIST);
    wasters.push({ group, found: await look(reader, where, filter, owner === null ? PER_WASTER : PER_LIST) });
  }

  const killedDays = heavyDays(
    dayWeights(days, ({ killed_by_memory: killed }) => killed),
    period,
    READ_PER_LIST,
  );
  const failed = await look(reader, killedDays, { ...whose, failed: true, states: ENDED }, PER_LIST);
  const farDays = heavyDays(
    dayWeights(days, ({ far_below: far }) => far),
    period,
    READ_PER_LIST,
  );
  const far = { ...whose, states: ENDED, share_at_most: FAR_BELOW_LIMIT, sort: 'unused' } as const;

  return {
    question,
    clusters: clusters.groups.flatMap(({ key }) => key ?? []),
    site,
    wasters,
    killed: { ...failed, records: failed.records.filter(hitLimit) },
    farBelow: await look(reader, farDays, far, PER_LIST),
    hosts:
      owner === null
        ? await askForHosts(reader, period, site.coverage['sampler-lost'])
        : { before: [], during: [], last: [] },
  };
}
