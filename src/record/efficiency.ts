import { privateWorld } from './job-name';
import { shareOfLimit } from './peak-figure';
import type { JobRecord } from './record';
import { enforcedRequest, limitOf, REQUEST_HELP } from './request';

type Derived = Readonly<ReturnType<typeof derivedOf>>;

export const DERIVED_HELP: Readonly<Record<keyof Derived, string>> = {
  request: REQUEST_HELP,
  cpu_efficiency:
    'CPU time over elapsed time (suspended time left out) x slots on this host; of a job known only by its accounting line, all of its slots',
  memory_efficiency: 'lower bound of peak_rss over what the request allows on this host',
  queue_wait_seconds: 'from submission to start; of a job that ran several times, to this start',
};

/** Elapsed time without that in which the job was suspended; null: not known. */
export const activeSeconds = ({
  wallclock_seconds: elapsed,
  suspended_seconds: suspended,
}: Pick<JobRecord, 'wallclock_seconds' | 'suspended_seconds'>): number | null =>
  elapsed === null ? null : Math.max(0, elapsed - (suspended ?? 0));

type CpuUse = Pick<JobRecord, 'cpu_seconds' | 'wallclock_seconds' | 'suspended_seconds'>;

export function shareOfSlots(used: CpuUse, slots: number | null): number | null {
  const { cpu_seconds: cpu } = used;
  const active = activeSeconds(used);
  return cpu === null || active === null || slots === null || active * slots <= 0 ? null : cpu / (active * slots);
}

export function cpuEfficiency(
  record: CpuUse & Pick<JobRecord, 'host_slots' | 'slots' | 'trust' | 'pe_task_id'>,
): number | null {
  const { host_slots: onHost, slots, trust, pe_task_id: task } = record;
  return shareOfSlots(record, onHost ?? (trust === 'accounting' && task === null ? (slots ?? 1) : null));
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

/** What is shown in JSON and CSV, and not stored. An efficiency of 1 is full use; null: unknown. */
export function derivedOf(record: JobRecord) {
  return {
    request: enforcedRequest(record),
    cpu_efficiency: cpuEfficiency(record),
    memory_efficiency: memoryEfficiency(record),
    queue_wait_seconds: queueWait(record),
  };
}

/** A record with its derived values. */
export const withDerived = <T extends JobRecord>(record: T): T & Derived => ({ ...record, ...derivedOf(record) });
