import { arrangeAttempts } from '../../src/accounting/attempts';
import { countedAt } from '../../src/record/facts';
import { heldBytes } from '../../src/record/cause';
import { isHostPattern, parsePatterns } from '../../src/accounting/filter-record';
import { FIELD_NAMES, type FieldName } from '../../src/record/fields';
import { asStored, type StoredRecord } from '../../src/record/merge';
import { nameClass } from '../../src/record/name-class';
import type { AccountingReader, RecordFilter } from '../../src/accounting/store';
import type { SummaryAnswer, SummaryQuery } from '../../src/accounting/summary';
import { isHost } from '../../src/report/live/filter';
import { sortRecords } from '../../src/report/records/lines';
import type { NodeHeartbeat } from '../../src/record/node-status';
import { emptyRecord, type JobRecord } from '../../src/record/record';
import { plainSummary } from './suite/plain-summary';
import { limitOf } from '../../src/record/request';
import { shareOf } from '../../src/record/peak-figure';

const NO_KEY = { cluster: '', job_id: 0, task_id: null, pe_task_id: null, host: '', run_id: '' };

/** A reader of a few records in memory, for tests of code that reads a store. */

const within = (value: number | null | undefined, least = -Infinity, most = Infinity): boolean =>
  (least === -Infinity && most === Infinity) || (value != null && value >= least && value <= most);

function matches(pattern: string, name: string | null): boolean {
  const text = pattern
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return name !== null && new RegExp(`^${text}$`, 's').test(name);
}

const isOnHost = (host: string, wanted: string): boolean =>
  isHostPattern(wanted) ? parsePatterns(wanted).some((pattern) => isHost(host, pattern)) : host === wanted;

function isChosen(record: JobRecord, filter: RecordFilter): boolean {
  const at = countedAt(record);
  const limit = limitOf(record);
  const held = heldBytes(record);
  const failed = (record.exit_status ?? 0) !== 0 || (record.signal ?? 0) !== 0 || (record.failed ?? 0) !== 0;
  const same = (['cluster', 'job_id', 'owner', 'project', 'queue', 'pe'] as const).every(
    (name) => filter[name] === undefined || record[name] === filter[name],
  );
  return (
    same &&
    (filter.host === undefined || isOnHost(record.host, filter.host)) &&
    at >= filter.since &&
    at < filter.until &&
    (filter.job_name === undefined || matches(filter.job_name, record.job_name)) &&
    (filter.name_class === undefined || nameClass(record.job_name ?? '') === filter.name_class) &&
    (filter.states?.includes(record.status) ?? true) &&
    (filter.failed === undefined || filter.failed === failed) &&
    (filter.sampled === undefined || filter.sampled === (record.trust === 'root')) &&
    within(held, filter.peak_at_least, filter.peak_at_most) &&
    within(limit, filter.limit_at_least, filter.limit_at_most) &&
    within(shareOf(held, limit), filter.share_at_least, filter.share_at_most) &&
    within(record.wallclock_seconds, filter.wallclock_at_least)
  );
}

/** The record as a store gives it that leaves out all fields that were not asked for. */
function withFields(stored: StoredRecord, fields: readonly FieldName[] = FIELD_NAMES): StoredRecord {
  const { record } = stored;
  const needed = Object.fromEntries(fields.map((name) => [name, record[name]]));
  return { ...stored, record: { ...emptyRecord(NO_KEY, 'finished', 'root', 0), ...needed, series: null } };
}

/** A reader of these records, which adds every filter that it is asked for to `filters`. */
export function memoryReader(
  records: readonly JobRecord[],
  filters: RecordFilter[] = [],
  nodes: readonly NodeHeartbeat[] = [],
): AccountingReader {
  const stored = records.map(asStored);
  const summarise = (query: SummaryQuery): SummaryAnswer =>
    plainSummary(records, query, (record) => isChosen(record, query));
  return {
    job: (query) =>
      Promise.resolve(
        arrangeAttempts(
          stored.filter(
            ({ record }) =>
              record.job_id === query.job_id && (query.task_id === undefined || record.task_id === query.task_id),
          ),
          query,
        ),
      ),
    jobs: (numbers, fields) =>
      Promise.resolve(
        stored.filter(({ record }) => numbers.includes(record.job_id)).map((one) => withFields(one, fields)),
      ),
    records: (query) => {
      filters.push(query);
      const found = stored.filter(({ record }) => isChosen(record, query));
      const sorted = sortRecords(found, query.sort ?? 'time').slice(0, query.limit ?? 50);
      return Promise.resolve({
        records: sorted.map((one) => withFields(one, query.fields)),
        totals: summarise({ ...query, by: 'cluster', sort: 'records' }).totals,
      });
    },
    async *pages(query) {
      filters.push(query);
      const found = stored.filter(({ record }) => isChosen(record, query));
      for (const one of sortRecords(found, 'time')) {
        const records = query.fields?.includes('series') ? [one] : [withFields(one, query.fields)];
        yield await Promise.resolve({ records, of: found.length });
      }
    },
    summary: (query) => {
      filters.push(query);
      return Promise.resolve(summarise(query));
    },
    running: ({ since }) =>
      Promise.resolve(stored.filter(({ record }) => record.status === 'running' && record.revision >= since)),
    nodes: ({ since }) => Promise.resolve(nodes.filter(({ heartbeat_at }) => Date.parse(heartbeat_at) >= since)),
    close: () => Promise.resolve(),
  };
}
