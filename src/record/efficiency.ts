import { privateWorld } from './job-name';
import { shareOfLimit } from './peak-figure';
import type { JobRecord } from './record';
import { enforcedRequest, limitOf, REQUEST_HELP, type EnforcedRequest } from './request';

/** Derived from a record's fields: shown in JSON and CSV, not stored. An efficiency of 1 is full use; null: unknown. */
interface Derived {
  readonly request: EnforcedRequest | null;
  readonly cpu_efficiency: number | null;
  readonly memory_efficiency: number | null;
  readonly queue_wait_seconds: number | null;
}

export const DERIVED_HELP: Readonly<Record<keyof Derived, string>> = {
  request: REQUEST_HELP,
  cpu_efficiency: 'CPU time over elapsed time x slots on this host',
  memory_efficiency: 'lower bound of peak_rss over what the request allows on this host',
  queue_wait_seconds: 'from submission to start; of a job that ran several times, to this start',
};

export function cpuEfficiency(
  record: Pick<JobRecord, 'cpu_seconds' | 'wallclock_seconds' | 'host_slots'>,
): number | null {
  const { cpu_seconds: cpu, wallclock_seconds: wallclock, host_slots: slots } = record;
  return cpu === null || wallclock === null || slots === null || wallclock * slots <= 0
    ? null
    : cpu / (wallclock * slots);
}

export function memoryEfficiency(
  record: Pick<JobRecord, 'peak_rss' | 'h_vmem' | 'requests' | 'request_order'>,
): number | null {
  return shareOfLimit(record.peak_rss, limitOf(record));
}

/** Seconds from submission to start; null: not known. */
export function queueWait({
  cluster,
  submitted_at,
  started_at,
}: Pick<JobRecord, 'cluster' | 'submitted_at' | 'started_at'>): number | null {
  // Without Grid Engine (`qmemacct run`) there is no queue: a job waits only for the sampler.
  if (privateWorld(cluster) !== null) return null;
  const waited = Date.parse(started_at ?? '') - Date.parse(submitted_at ?? '');
  return Number.isNaN(waited) ? null : Math.max(0, waited / 1000);
}

export function derivedOf(record: JobRecord): Derived {
  return {
    request: enforcedRequest(record),
    cpu_efficiency: cpuEfficiency(record),
    memory_efficiency: memoryEfficiency(record),
    queue_wait_seconds: queueWait(record),
  };
}

/** A record with its derived values. */
export const withDerived = <T extends JobRecord>(record: T): T & Derived => ({ ...record, ...derivedOf(record) });
