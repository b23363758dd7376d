import { shareOfLimit } from './peak-figure';
import type { JobRecord } from './record';

/** What follows from a record's fields: no store keeps it, JSON and CSV show it. An efficiency of 1 is all of it; null: not known. */
interface Efficiencies {
  readonly cpu_efficiency: number | null;
  readonly memory_efficiency: number | null;
  readonly queue_wait_seconds: number | null;
}

export const EFFICIENCY_HELP: Readonly<Record<keyof Efficiencies, string>> = {
  cpu_efficiency: 'CPU time over elapsed time x slots on this host',
  memory_efficiency: 'lower bound of peak_rss over the h_vmem limit of this host',
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

export function memoryEfficiency({ peak_rss, h_vmem }: Pick<JobRecord, 'peak_rss' | 'h_vmem'>): number | null {
  return shareOfLimit(peak_rss, h_vmem?.limit_bytes ?? null);
}

/** Seconds from submission to start; null: not known. */
export function queueWait({ submitted_at, started_at }: Pick<JobRecord, 'submitted_at' | 'started_at'>): number | null {
  const waited = Date.parse(started_at ?? '') - Date.parse(submitted_at ?? '');
  return Number.isNaN(waited) ? null : Math.max(0, waited / 1000);
}

/** A record with what follows from its fields. */
export function withEfficiencies<T extends JobRecord>(record: T): T & Efficiencies {
  return {
    ...record,
    cpu_efficiency: cpuEfficiency(record),
    memory_efficiency: memoryEfficiency(record),
    queue_wait_seconds: queueWait(record),
  };
}
