import { type CoverageReason, coverageReason, isSampled } from '../../../src/record/coverage';
import { noTotals, type Totals } from '../../../src/record/totals';
import { asStored } from '../../../src/record/merge';
import { nameClass } from '../../../src/record/name-class';
import type { RecordFilter } from '../../../src/accounting/store';
import type { SummaryGroup, SummaryQuery } from '../../../src/accounting/summary';
import type { ReportReader } from '../../../src/report/efficiency/ask';
import { countedByGridEngine, killedByMemory } from '../../../src/record/cause';
import { succeeded } from '../../../src/report/job/ending';
import { limitOf } from '../../../src/record/request';
import type { NodeHeartbeat } from '../../../src/record/node-status';
import type { JobRecord } from '../../../src/record/record';

/** A plain in-memory store of a few thousand records of single-host jobs, for the queries that the report makes. */
export function memoryReader(all: readonly JobRecord[], heartbeats: readonly NodeHeartbeat[] = []): ReportReader {
  return {
    nodes: () => Promise.resolve(heartbeats),
    summary: (query) => {
      const records = select(all, query);
      const byKey = new Map<string | null, JobRecord[]>();
      for (const record of records) {
        const key = keyOf(record, query.by);
        const group = byKey.get(key) ?? [];
        group.push(record);
        byKey.set(key, group);
      }
      const groups = [...byKey].map(([key, group]): SummaryGroup => ({ key, totals: totalsOf(group) }));
      const hours = Array.from({ length: 24 }, () => ({ requested_gib_hours: 0, used_gib_hours: 0, slot_hours: 0 }));
      const shares = Array.from({ length: 21 }, () => 0);
      const coverage: Record<CoverageReason, number> = {
        sampled: 0,
        'no-hooks': 0,
        'never-started': 0,
        limits: 0,
        unprivileged: 0,
        'sampler-lost': 0,
        other: 0,
      };
      for (const record of records) {
        if (record.status !== 'running') coverage[coverageReason(record)] += 1;
        const limit = limitOf(record);
        if (limit === null || record.peak_rss === null) continue;
        const bin = Math.min(20, Math.floor((record.peak_rss.lower_bytes / limit) * 20));
        shares[bin] = (shares[bin] ?? 0) + 1;
        if (record.wallclock_seconds === null) continue;
        const parts = Math.max(1, Math.ceil(record.wallclock_seconds / 600));
        for (let part = 0; part < parts; part += 1) {
          const at = Date.parse(record.started_at ?? '') + ((part + 0.5) / parts) * record.wallclock_seconds * 1000;
          const hour = hours[new Date(at).getHours()];
          if (hour === undefined) continue;
          hour.requested_gib_hours += gibHours(limit * record.wallclock_seconds) / parts;
          hour.used_gib_hours += gibHours(record.rss_byte_seconds ?? 0) / parts;
          hour.slot_hours += ((record.host_slots ?? 1) * record.wallclock_seconds) / 3600 / parts;
        }
      }
      return Promise.resolve({ groups, totals: totalsOf(records), hours, shares, coverage, read: records.length });
    },
    job: (query) =>
      Promise.resolve({
        records: all
          .filter((record) => record.job_id === query.job_id)
          .map((record) => ({ ...asStored(record), attempt: 1, attempts: 1, incarnation: 1 })),
        older_incarnations: 0,
        newer_incarnations: 0,
      }),
    records: (query) => {
      const records = select(all, query);
      const weight = (record: JobRecord): number =>
        query.sort === 'unused'
          ? unusedBytes(record) * (record.wallclock_seconds ?? 0)
          : query.sort === 'peak'
            ? (record.peak_rss?.lower_bytes ?? 0)
            : countedAt(record);
      const sorted = records.slice().sort((a, b) => weight(b) - weight(a));
      const shown = sorted.slice(0, query.limit ?? 50);
      return Promise.resolve({
        records: shown.map((record) => ({ record, ended: true, provenance: {} })),
        totals: totalsOf(records),
      });
    },
  };
}

const unusedBytes = (record: JobRecord): number =>
  record.peak_rss === null ? -1 : (limitOf(record) ?? 0) - record.peak_rss.lower_bytes;

const gibHours = (byteSeconds: number): number => byteSeconds / 1024 ** 3 / 3600;

const countedAt = (record: JobRecord): number =>
  record.ended_at === null ? Date.parse(record.started_at ?? '') : Date.parse(record.ended_at);

function keyOf(record: JobRecord, by: SummaryQuery['by']): string | null {
  if (by === 'day') return new Date(countedAt(record)).toISOString().slice(0, 10);
  return by === 'job_name' ? (record.job_name === null ? null : nameClass(record.job_name)) : record[by];
}

function matches(pattern: string, name: string): boolean {
  const text = pattern
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${text}$`, 's').test(name);
}

function select(all: readonly JobRecord[], filter: RecordFilter): JobRecord[] {
  return all.filter((record) => {
    const at = countedAt(record);
    return (
      at >= filter.since &&
      at < filter.until &&
      (filter.cluster === undefined || record.cluster === filter.cluster) &&
      (filter.owner === undefined || record.owner === filter.owner) &&
      (filter.job_name === undefined || matches(filter.job_name, record.job_name ?? '')) &&
      (filter.name_class === undefined || nameClass(record.job_name ?? '') === filter.name_class) &&
      (filter.host === undefined || record.host === filter.host) &&
      (filter.states === undefined || filter.states.includes(record.status)) &&
      (filter.failed !== true || succeeded(record) === false)
    );
  });
}

export function totalsOf(records: readonly JobRecord[]): Totals {
  const sum = (of: (record: JobRecord) => number): number => records.reduce((total, record) => total + of(record), 0);
  const count = (is: (record: JobRecord) => boolean): number => records.filter(is).length;
  const ran = (record: JobRecord): number => record.wallclock_seconds ?? 0;
  const asked = (record: JobRecord): number => gibHours((limitOf(record) ?? 0) * ran(record));
  const peak = (record: JobRecord): number => record.peak_rss?.lower_bytes ?? 0;
  const counted = (record: JobRecord): number | null => (record.peak_rss === null ? countedByGridEngine(record) : null);
  const slots = (record: JobRecord): number => ran(record) * (record.host_slots ?? 1);
  const withRequest = (of: (record: JobRecord) => number): number =>
    sum((record) => (limitOf(record) === null ? 0 : of(record)));
  const energy = (record: JobRecord): number | undefined => record.metrics.energy_package_joules;
  return {
    ...noTotals(),
    records: records.length,
    jobs: new Set(records.map(({ job_id: job, task_id: task }) => `${job}.${task ?? ''}`)).size,
    running: count(({ status }) => status === 'running'),
    requested_gib_hours: sum(asked),
    requested_with_used_gib_hours: sum((record) => (record.rss_byte_seconds === null ? 0 : asked(record))),
    requested_with_peak_gib_hours: sum((record) => (record.peak_rss === null ? 0 : asked(record))),
    used_gib_hours: sum((record) => gibHours(record.rss_byte_seconds ?? 0)),
    used_with_request_gib_hours: withRequest((record) => gibHours(record.rss_byte_seconds ?? 0)),
    peak_gib_hours: sum((record) => gibHours(peak(record) * ran(record))),
    peak_with_request_gib_hours: withRequest((record) => gibHours(peak(record) * ran(record))),
    unused_gib_hours: sum((record) =>
      record.peak_rss === null ? 0 : Math.max(0, asked(record) - gibHours(peak(record) * ran(record))),
    ),
    cpu_seconds: sum((record) => record.cpu_seconds ?? 0),
    slot_seconds: sum(slots),
    above_request: count((record) => peak(record) > (limitOf(record) ?? Infinity)),
    far_below: count((record) => record.peak_rss !== null && peak(record) < 0.25 * (limitOf(record) ?? 0)),
    limit_gib_hours: sum(asked),
    energy_joules: sum((record) => energy(record) ?? 0),
    slot_seconds_with_energy: sum((record) => (energy(record) === undefined ? 0 : slots(record))),
    failed: count((record) => succeeded(record) === false),
    failed_slot_seconds: sum((record) => (succeeded(record) === false ? slots(record) : 0)),
    killed_by_memory: count(killedByMemory),
    unsampled: count((record) => record.status !== 'running' && !isSampled(record)),
    without_limit: count((record) => limitOf(record) === null),
    without_peak: count((record) => record.peak_rss === null),
    with_grid_engine: count((record) => counted(record) !== null),
    requested_with_grid_engine_gib_hours: sum((record) => (counted(record) === null ? 0 : asked(record))),
    grid_engine_gib_hours: sum((record) => gibHours((counted(record) ?? 0) * ran(record))),
    grid_engine_with_request_gib_hours: withRequest((record) => gibHours((counted(record) ?? 0) * ran(record))),
    unused_by_grid_engine_gib_hours: sum((record) => {
      const held = counted(record);
      return held === null ? 0 : Math.max(0, asked(record) - gibHours(held * ran(record)));
    }),
    without_used: count((record) => record.rss_byte_seconds === null),
  };
}
