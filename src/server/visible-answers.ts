import { addSummaries, chooseGroups, sumTotals, NO_SUMMARY, NO_TOTALS } from '../accounting/add-summaries';
import type { StoredRecord } from '../record/merge';
import type { AccountingReader, RecordsAnswer, RecordsQuery } from '../accounting/store';
import type { SummaryAnswer, SummaryQuery } from '../accounting/summary';
import { sortRecords } from '../report/records/lines';
import { HIDDEN } from '../record/hidden';
import { recordKeyText } from '../record/record';
import { redactRecords } from './redaction';
import { tellsNames, type Sight } from './sight';
import { visibleParts } from './visible-parts';

const DEFAULT_LIMIT = 50;
const EVERY_GROUP = 1_000_000_000;

/** The records of a query that a caller may see, and totals over these alone. Rejects with StoreError. */
export async function visibleRecords(
  query: RecordsQuery,
  sight: Sight,
  reader: AccountingReader,
): Promise<RecordsAnswer> {
  const parts = visibleParts(query, sight);
  const [only] = parts;
  if (only !== undefined && parts.length === 1) {
    const { records, totals } = await reader.records(only.filter);
    return { records: redactRecords(records, sight), totals };
  }
  const found = new Map<string, StoredRecord>();
  let totals = NO_TOTALS;
  const subtracted = [];
  for (const { sign, filter } of parts) {
    // Of what is taken off only the sums are needed.
    const answer = await reader.records(sign < 0 ? { ...filter, limit: 1 } : filter);
    if (sign < 0) subtracted.push(answer.totals);
    else {
      totals = sumTotals(totals, answer.totals);
      for (const stored of answer.records) found.set(recordKeyText(stored.record), stored);
    }
  }
  const records = sortRecords([...found.values()], query.sort ?? 'time').slice(0, query.limit ?? DEFAULT_LIMIT);
  return {
    records: redactRecords(records, sight),
    totals: subtracted.reduce((sum, part) => sumTotals(sum, part, -1), totals),
  };
}

async function sumParts(query: SummaryQuery, sight: Sight, reader: AccountingReader): Promise<SummaryAnswer> {
  let sum = NO_SUMMARY;
  const subtracted = [];
  for (const { sign, filter } of visibleParts(query, sight)) {
    const answer = await reader.summary(filter);
    if (sign < 0) subtracted.push(answer);
    else sum = addSummaries(sum, answer);
  }
  return subtracted.reduce((rest, part) => addSummaries(rest, part, -1), sum);
}

/**
 * Sums over the records that a caller may see. Grouped by owner or name, all groups whose names the caller must not
 * know are one. Rejects with StoreError.
 */
export async function visibleSummary(
  query: SummaryQuery,
  sight: Sight,
  reader: AccountingReader,
): Promise<SummaryAnswer> {
  if (sight.of === 'all') return reader.summary(query);
  const everyGroup = { ...query, limit: EVERY_GROUP };
  if (tellsNames(sight) || (query.by !== 'owner' && query.by !== 'job_name'))
    return chooseGroups(await sumParts(everyGroup, sight, reader), query);
  const own = await sumParts(everyGroup, { of: 'own', user: sight.user }, reader);
  const all = await sumParts({ ...everyGroup, by: 'cluster' }, sight, reader);
  const others = sumTotals(all.totals, own.totals, -1);
  const hidden = others.records > 0 ? [{ key: HIDDEN, totals: others }] : [];
  return chooseGroups({ ...all, groups: [...own.groups, ...hidden] }, query);
}
