import type { HostView } from '../../live/cluster-view';
import type { HostTotals } from './host-totals';
import { partFields } from './machine-jobs';

/** Hosts for programs: the published contract (schema 1), as machine-jobs.ts. */
export function hostFields(host: HostView): Readonly<Record<string, unknown>> {
  return {
    host: host.name,
    up: host.up,
    processors: host.processors,
    load: host.load,
    memory_total_bytes: host.memoryTotal,
    memory_used_bytes: host.memoryUsed,
    swap_total_bytes: host.swapTotal,
    swap_used_bytes: host.swapUsed,
    slots: host.slots,
    slots_used: host.slotsUsed,
    capacity_bytes: host.capacity,
    free_bytes: host.free,
    requested_bytes: host.requested,
    peak_bytes: host.peak,
    used_bytes: host.used,
    jobs_without_limit: host.unlimited,
    stranded_bytes: host.strandedMemory,
    stranded_slots: host.strandedSlots,
    queues: host.queues.map(({ name, slots, slotsUsed, state }) => ({ name, slots, slots_used: slotsUsed, state })),
    jobs: host.parts.map((part) => ({
      job_id: part.job,
      task_id: part.task,
      owner: part.owner,
      job_name: part.name,
      ...partFields(part),
    })),
  };
}

/** Sums over the hosts of an answer. */
export function totalsFields(totals: HostTotals): Readonly<Record<string, unknown>> {
  return {
    hosts: totals.hosts,
    hosts_down: totals.down,
    peak_bytes: totals.peak,
    used_bytes: totals.used,
    requested_bytes: totals.requested,
    total_bytes: totals.total,
    free_bytes: totals.free,
    slots: totals.slots,
    slots_used: totals.slotsUsed,
    stranded_bytes: totals.strandedMemory,
    stranded_slots: totals.strandedSlots,
  };
}
