import { DAY_MS } from '../base/units';
import { categoryRequests } from '../gridengine/category-requests';
import { bytesForSlots } from '../gridengine/memory-request';
import type { JobRecord } from './record';
import { countedByGridEngine, killedByMemory } from './cause';
import { coverageReason, isSampled } from './coverage';
import { activeSeconds } from './efficiency';
import { endedBadly } from './job-end';
import { figureOf } from './peak-figure';
import { privateWorld } from './job-name';
import { complexesOf, limitOf, requestOf } from './request';
import type { CoverageReason } from './coverage';

/** What sums need to know of a record. Bytes, ms, joules; null: not known. */
export interface Facts {
  readonly running: boolean;
  /**
   * The master and every slave task of a parallel job carry the limit and slots of their whole host, so only one record
   * per host counts for these: the master's, or the first slave task's.
   */
  readonly standsForHost: boolean;
  /** The record stands for its host, and no other record of the job can have used the memory that it requested. */
  readonly alone: boolean;
  /** Time in which it was not suspended x slots on the host. */
  readonly slotMs: number;
  readonly wallclock: number | null;
  readonly cpu: number | null;
  /** On the host; `requested` is the limit where there is no other request. */
  readonly limit: number | null;
  readonly requested: number | null;
  readonly peak: number | null;
  /** Grid Engine's figure (maxvmem) where there is no peak. */
  readonly gridEngine: number | null;
  /** Byte seconds. */
  readonly used: number | null;
  readonly energy: number | null;
  readonly failed: boolean;
  readonly killed: boolean;
  readonly sampled: boolean;
  readonly reason: CoverageReason;
}

/** The records of one job are at most this far apart: the busiest sites reuse job numbers after some months. */
export const JOB_SPAN_MS = 45 * DAY_MS;

/** The moment (ms) at which a record counts: its end, or a running job's last heartbeat; without either its start. */
export function countedAt(record: JobRecord): number {
  const ended = record.ended_at ?? null;
  if (ended !== null) return Date.parse(ended);
  if (record.status === 'running') return record.revision;
  const begun = record.started_at ?? record.submitted_at;
  return begun === null ? record.revision : Date.parse(begun);
}

/** Whether sums include the record: what only its owner reported counts only among private runs. */
export const countsInSums = ({ trust, cluster }: Pick<JobRecord, 'trust' | 'cluster'>): boolean =>
  trust !== 'self-reported' || privateWorld(cluster) !== null;

type SlotFacts = Pick<JobRecord, 'host_slots' | 'slots' | 'trust' | 'pe_task_id'>;

/**
 * Bytes requested for the record on its host; null: no request, or no limit; 0: the record of the job's master has the
 * whole request, as with a request per job.
 */
export function requestedBytes(
  record: SlotFacts & Pick<JobRecord, 'h_vmem' | 'requests' | 'request_order' | 'grid_engine'>,
): number | null {
  const asked = requestOf(record);
  if (asked === null) return isInMasters(record) ? 0 : null;
  if (
    asked.request_bytes === null ||
    (asked.per === 'slot' && record.host_slots === null && asked.limit_bytes !== null)
  )
    return asked.limit_bytes;
  if (asked.per === 'job') return record.pe_task_id === null ? asked.request_bytes : 0;
  const slots = hostSlots(record);
  return bytesForSlots(asked.request_bytes, asked.per === 'host' ? Math.min(1, slots) : slots);
}

/** Whether the master's line has the request: for a slave task that only Grid Engine's accounting knows. */
function isInMasters({
  trust,
  pe_task_id,
  grid_engine: line,
  request_order: order,
}: SlotFacts & Pick<JobRecord, 'request_order' | 'grid_engine'>): boolean {
  if (trust !== 'accounting' || pe_task_id === null) return false;
  const complexes = complexesOf(order);
  return categoryRequests(line?.category ?? '').some(({ name }) => complexes.includes(name));
}

/** Slots on the host. Accounting lines alone tell only the job's slots: the master's record counts all of them. */
export function hostSlots(record: SlotFacts): number {
  if (record.host_slots !== null) return record.host_slots;
  if (record.trust !== 'accounting') return 1;
  return record.pe_task_id === null ? (record.slots ?? 1) : 0;
}

/** Joules that the job was charged with; null: not known. */
export function chargedEnergy(record: JobRecord): number | null {
  const { energy_package_joules: cpus, energy_dram_joules: memory } = record.metrics;
  return cpus === undefined && memory === undefined ? null : (cpus ?? 0) + (memory ?? 0);
}

/**
 * Whether no other record of the job can have used what `record`, which stands for its host, requested: Grid Engine
 * limits each host separately, but an accounting line has the request of all hosts.
 */
function isAlone(record: JobRecord, job: readonly JobRecord[]): boolean {
  const { pe, pe_task_id: task, host, host_slots: slots } = record;
  if (pe === null && task === null) return true;
  if (task !== null && slots === null) return false;
  const isBeside = (other: JobRecord): boolean =>
    task === null ? other.host === host || slots === null : other.pe_task_id === `2.${task.slice(2)}`;
  return !job.some(
    (other) =>
      other !== record &&
      isBeside(other) &&
      other.task_id === record.task_id &&
      other.trust !== 'self-reported' &&
      Math.abs(countedAt(other) - countedAt(record)) <= JOB_SPAN_MS,
  );
}

/** The facts of a record. The store, which has the `job`'s other records, says whether this one stands for its host. */
export function factsOf(record: JobRecord, standsForHost: boolean, job: readonly JobRecord[] = [record]): Facts {
  const ms = (seconds: number | null): number | null => (seconds === null ? null : seconds * 1000);
  const failed = endedBadly(record);
  return {
    running: record.status === 'running',
    standsForHost,
    alone: standsForHost && isAlone(record, job),
    slotMs: (ms(activeSeconds(record)) ?? 0) * hostSlots(record),
    wallclock: ms(record.wallclock_seconds),
    cpu: ms(record.cpu_seconds),
    limit: limitOf(record),
    requested: requestedBytes(record),
    peak: record.peak_rss && figureOf(record.peak_rss),
    gridEngine: record.peak_rss === null ? countedByGridEngine(record) : null,
    used: record.rss_byte_seconds,
    energy: chargedEnergy(record),
    failed,
    killed: killedByMemory(record),
    sampled: isSampled(record),
    reason: coverageReason(record),
  };
}
