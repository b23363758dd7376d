import { shareOfLimit } from './peak-figure';
import type { JobRecord } from './record';

/** What follows from a record's fields: no store keeps it, JSON and CSV show it. 1 is all of it; null: not known. */
interface Efficiencies {
  readonly cpu_efficiency: number | null;
  readonly memory_efficiency: number | null;
}

export const EFFICIENCY_HELP: Readonly<Record<keyof Efficiencies, string>> = {
  cpu_efficiency: 'CPU time over elapsed time x slots on this host',
  memory_efficiency: 'lower bound of peak_rss over the h_vmem limit of this host',
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

/** A record with what follows from its fields. */
export function withEfficiencies<T extends JobRecord>(record: T): T & Efficiencies {
  return { ...record, cpu_efficiency: cpuEfficiency(record), memory_efficiency: memoryEfficiency(record) };
}
