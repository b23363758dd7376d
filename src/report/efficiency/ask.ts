import { DAY_MS } from '../../base/units';
import type { AccountingReader, RecordsQuery } from '../../accounting/store';
import type { Span } from '../../accounting/sums/periods';
import type { Dimension, SummaryAnswer } from '../../accounting/summary';
import type { Dialect } from '../../gridengine/dialect';
import { countsInSums } from '../../record/facts';
import type { JobRecord } from '../../record/record';
import type { Totals } from '../../record/totals';
import type { RuleSet } from '../rules/rule-set';
import { dayWeights, heavyDays, type DayWeight, type HeavyDays } from './heavy-days';

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

/** The records that a report is about. */
export type Asked = Span & Pick<RecordsQuery, 'cluster' | 'owner'>;

/** So many records are read for a list. */
const PER_LIST = 500;
/** At most this many records are searched for one list: so a month's report takes half a second, whatever its size. */
export const READ_PER_LIST = 10_000;
/** A period no longer than this is searched whole, however many jobs it had. */
const ALL_OF_IT_MS = 2 * DAY_MS;

export const dayBegin = (at: number): number => Math.floor(at / DAY_MS) * DAY_MS;

/** The period's unfinished last day, which mostly is today, by owner; null: the period ends with a whole day. */
export async function askForToday(reader: ReportReader, all: Asked): Promise<SummaryAnswer | null> {
  const last = dayBegin(all.until);
  return last === all.until ? null : reader.summary({ ...all, since: Math.max(all.since, last), by: 'owner' });
}

/** What the days of a period weigh. */
export type Days = (of: (totals: Totals) => number) => readonly DayWeight[];

/**
 * What the days of a period weigh, by sums of whole days, which stores keep: the first day counts whole; `today` holds
 * the totals of the unfinished last day (undefined: it has none).
 */
export async function askForDays(reader: ReportReader, all: Asked, today: Totals | undefined): Promise<Days> {
  const since = dayBegin(all.since);
  const last = dayBegin(all.until);
  const whole = since < last ? (await reader.summary({ ...all, since, until: last, by: 'day' })).groups : [];
  const days = today === undefined ? whole : [...whole, { key: new Date(last).toISOString(), totals: today }];
  return (of) => dayWeights(days, of);
}

/** Where to search for a list's jobs: everywhere in a period of a night or two, else on the days that weigh most. */
export function whereToLook({ since, until }: Span, days: readonly DayWeight[], budget = READ_PER_LIST): HeavyDays {
  if (until - since > ALL_OF_IT_MS) return heavyDays(days, { since, until }, budget);
  return { spans: days.some(({ weight }) => weight > 0) ? [{ since, until }] : [], days: null };
}

/**
 * The records of a query that count in sums, at most `most` of each span of some days; `cut`: a span has more. Rejects
 * with StoreError.
 */
export async function recordsOn(
  reader: ReportReader,
  { spans }: HeavyDays,
  query: RecordsQuery,
  most = PER_LIST,
): Promise<{ readonly records: readonly JobRecord[]; readonly cut: boolean }> {
  const records: JobRecord[] = [];
  let cut = false;
  for (const span of spans) {
    // One more than is kept, to know whether there are more.
    const { records: found } = await reader.records({ ...query, ...span, limit: most + 1, totals: false });
    cut ||= found.length > most;
    for (const { record } of found.slice(0, most)) if (countsInSums(record)) records.push(record);
  }
  return { records, cut };
}
