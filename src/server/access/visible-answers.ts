import { addSummaries, chooseGroups, sumTotals, NO_SUMMARY, NO_TOTALS } from '../../accounting/add-summaries';
import type { StoredRecord } from '../../record/merge';
import type { AccountingReader, RecordFilter, RecordsAnswer, RecordsQuery } from '../../accounting/store';
import type { SummaryAnswer, SummaryQuery } from '../../accounting/summary';
import { sortRecords } from '../../report/records/lines';
import { HIDDEN } from '../../record/hidden';
import { recordKeyText } from '../../record/record';
import { redactRecords } from './redaction';
import { isOwn, showsNames, type Access } from './access';

/** A part of what a caller may see: added, or subtracted because two of the added parts contain it. */
interface VisiblePart<Filter extends RecordFilter> {
  readonly sign: 1 | -1;
  readonly filter: Filter;
}

/**
 * What a caller may see of a filter's records, split into filters that a store can answer: their signed sum has each of
 * these records once. A caller who may not see names can't find them out by filtering for them either.
 */
function visibleParts<Filter extends RecordFilter>(filter: Filter, access: Access): readonly VisiblePart<Filter>[] {
  if (access.level === 'all') return [{ sign: 1, filter }];
  const { user } = access;
  const { owner, project } = filter;
  const own = user === null ? [] : [{ sign: 1, filter: { ...filter, owner: user } } as const];
  if (owner !== undefined && isOwn(owner, access)) return own;
  const byName = [owner, filter.job_name, filter.name_class].some((name) => name !== undefined);
  if (byName && !showsNames(access)) return owner === undefined ? own : [];
  if (access.level === 'anonymous') return [{ sign: 1, filter }];
  const alone = owner === undefined ? own : [];
  if (access.level !== 'project') return alone;
  if (project !== undefined) return access.projects.includes(project) ? [{ sign: 1, filter }] : alone;
  const shared = access.projects.map((name) => ({ ...filter, project: name }));
  const others = shared.map((part) => ({ sign: 1, filter: part }) as const);
  if (owner !== undefined) return others;
  const both = user === null ? [] : shared.map((part) => ({ sign: -1, filter: { ...part, owner: user } }) as const);
  return [...own, ...others, ...both];
}

const DEFAULT_LIMIT = 50;
const EVERY_GROUP = 1_000_000_000;

/** The records of a query that a caller may see, and totals over these alone. Rejects with StoreError. */
export async function visibleRecords(
  query: RecordsQuery,
  access: Access,
  reader: AccountingReader,
): Promise<RecordsAnswer> {
  const parts = visibleParts(query, access);
  const [only] = parts;
  if (only !== undefined && parts.length === 1) {
    const { records, totals } = await reader.records(only.filter);
    return { records: redactRecords(records, access), totals };
  }
  const found = new Map<string, StoredRecord>();
  let totals = NO_TOTALS;
  const subtracted = [];
  for (const { sign, filter } of parts) {
    // Of a subtracted part only the totals are needed.
    const answer = await reader.records(sign < 0 ? { ...filter, limit: 1 } : filter);
    if (sign < 0) subtracted.push(answer.totals);
    else {
      totals = sumTotals(totals, answer.totals);
      for (const stored of answer.records) found.set(recordKeyText(stored.record), stored);
    }
  }
  const records = sortRecords([...found.values()], query.sort ?? 'time').slice(0, query.limit ?? DEFAULT_LIMIT);
  return {
    records: redactRecords(records, access),
    totals: subtracted.reduce((sum, part) => sumTotals(sum, part, -1), totals),
  };
}

async function sumParts(query: SummaryQuery, access: Access, reader: AccountingReader): Promise<SummaryAnswer> {
  let sum = NO_SUMMARY;
  const subtracted = [];
  for (const { sign, filter } of visibleParts(query, access)) {
    const answer = await reader.summary(filter);
    if (sign < 0) subtracted.push(answer);
    else sum = addSummaries(sum, answer);
  }
  return subtracted.reduce((rest, part) => addSummaries(rest, part, -1), sum);
}

/**
 * Sums over the records that a caller may see. When they are grouped by owner or job name, all groups whose names the
 * caller may not see are one group. Rejects with StoreError.
 */
export async function visibleSummary(
  query: SummaryQuery,
  access: Access,
  reader: AccountingReader,
): Promise<SummaryAnswer> {
  if (access.level === 'all') return reader.summary(query);
  const everyGroup = { ...query, limit: EVERY_GROUP };
  if (showsNames(access) || (query.by !== 'owner' && query.by !== 'job_name'))
    return chooseGroups(await sumParts(everyGroup, access, reader), query);
  const own = await sumParts(everyGroup, { level: 'own', user: access.user }, reader);
  const all = await sumParts({ ...everyGroup, by: 'cluster' }, access, reader);
  const others = sumTotals(all.totals, own.totals, -1);
  const hidden = others.records > 0 ? [{ key: HIDDEN, totals: others }] : [];
  return chooseGroups({ ...all, groups: [...own.groups, ...hidden] }, query);
}
