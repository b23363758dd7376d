import { addTotals, cutGroups, NO_SUMMARY, NO_TOTALS } from '../../src/accounting/add-summaries';
import { arrangeAttempts } from '../../src/accounting/attempts';
import { asStored, type StoredRecord } from '../../src/accounting/merge';
import type { AccountingReader, RecordFilter, Totals } from '../../src/accounting/store';
import type { SummaryAnswer, SummaryGroup, SummaryQuery } from '../../src/accounting/summary';
import { sortRecords } from '../../src/report/record-lines';
import type { JobRecord } from '../../src/sampler/record';

/** A store of a few records in memory, for tests of what asks one: filters and plain sums, no joins of hosts. */

const within = (value: number | null | undefined, least = -Infinity, most = Infinity): boolean =>
  (least === -Infinity && most === Infinity) || (value != null && value >= least && value <= most);

function matches(pattern: string, name: string | null): boolean {
  const text = pattern
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return name !== null && new RegExp(`^${text}$`, 's').test(name);
}

const countedAt = (record: JobRecord): number =>
  record.ended_at === null ? record.revision : Date.parse(record.ended_at);

function isChosen(record: JobRecord, filter: RecordFilter): boolean {
  const at = countedAt(record);
  const limit = record.h_vmem?.limit_bytes;
  const peak = record.peak_rss?.lower_bytes;
  const failed = (record.exit_status ?? 0) !== 0 || (record.signal ?? 0) !== 0 || (record.failed ?? 0) !== 0;
  const same = (['cluster', 'owner', 'project', 'queue', 'host', 'pe'] as const).every(
    (name) => filter[name] === undefined || record[name] === filter[name],
  );
  return (
    same &&
    at >= filter.since &&
    at < filter.until &&
    (filter.job_name === undefined || matches(filter.job_name, record.job_name)) &&
    (filter.states?.includes(record.status) ?? true) &&
    (filter.failed === undefined || filter.failed === failed) &&
    (filter.sampled === undefined || filter.sampled === (record.trust === 'root')) &&
    within(peak, filter.peak_at_least, filter.peak_at_most) &&
    within(limit, filter.limit_at_least, filter.limit_at_most) &&
    within(record.memory_efficiency, filter.share_at_least, filter.share_at_most) &&
    within(record.wallclock_seconds, filter.wallclock_at_least)
  );
}

const GIB_HOUR = 2 ** 30 * 3600;

function totalsOf(record: JobRecord): Totals {
  const requested = ((record.h_vmem?.limit_bytes ?? 0) * (record.wallclock_seconds ?? 0)) / GIB_HOUR;
  const failed = (record.exit_status ?? 0) !== 0 || (record.signal ?? 0) !== 0;
  return {
    ...NO_TOTALS,
    records: 1,
    jobs: 1,
    running: Number(record.status === 'running'),
    requested_gib_hours: requested,
    requested_with_used_gib_hours: record.rss_byte_seconds === null ? 0 : requested,
    requested_with_peak_gib_hours: record.peak_rss === null ? 0 : requested,
    used_gib_hours: (record.rss_byte_seconds ?? 0) / GIB_HOUR,
    peak_gib_hours: ((record.peak_rss?.lower_bytes ?? 0) * (record.wallclock_seconds ?? 0)) / GIB_HOUR,
    cpu_seconds: record.cpu_seconds ?? 0,
    slot_seconds: (record.wallclock_seconds ?? 0) * (record.host_slots ?? 1),
    failed: Number(failed),
  };
}

const sum = (records: readonly JobRecord[]): Totals =>
  records.map(totalsOf).reduce((a, b) => addTotals(a, b), NO_TOTALS);

function keyOf(record: JobRecord, by: SummaryQuery['by']): string | null {
  if (by === 'day') return new Date(countedAt(record)).toISOString().slice(0, 10);
  return record[by];
}

function summarise(records: readonly JobRecord[], query: SummaryQuery): SummaryAnswer {
  const keys = new Set(records.map((record) => keyOf(record, query.by)));
  const groups = [...keys].map((key): SummaryGroup => {
    const own = records.filter((record) => keyOf(record, query.by) === key);
    return { key, totals: sum(own) };
  });
  const shares = NO_SUMMARY.shares.map(
    (_, index) =>
      records.filter(({ memory_efficiency: share }) => share !== null && Math.min(20, Math.floor(share * 20)) === index)
        .length,
  );
  const coverage = { ...NO_SUMMARY.coverage, sampled: records.length };
  return cutGroups({ ...NO_SUMMARY, groups, totals: sum(records), shares, coverage, read: records.length }, query);
}

/** A reader of these records; `asked` gets every filter that it was asked by. */
export function memoryReader(records: readonly JobRecord[], asked: RecordFilter[] = []): AccountingReader {
  const stored = records.map(asStored);
  const chosen = (filter: RecordFilter): readonly StoredRecord[] => {
    asked.push(filter);
    return stored.filter(({ record }) => isChosen(record, filter));
  };
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
    records: (query) => {
      const found = chosen(query);
      const totals = sum(found.map(({ record }) => record));
      const sorted = sortRecords(found, query.sort ?? 'time').slice(0, query.limit ?? 50);
      return Promise.resolve({
        records: sorted.map((one) => ({ ...one, record: { ...one.record, series: null } })),
        totals,
      });
    },
    summary: (query) =>
      Promise.resolve(
        summarise(
          chosen(query).map(({ record }) => record),
          query,
        ),
      ),
    running: ({ since }) =>
      Promise.resolve(stored.filter(({ record }) => record.status === 'running' && record.revision >= since)),
    close: () => Promise.resolve(),
  };
}
