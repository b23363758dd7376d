import { DAY_MS } from '../base/units';
import { categoryRequests } from '../gridengine/category-requests';
import { bytesForSlots } from '../gridengine/memory-request';
import type { JobRecord } from './record';
import { countedByGridEngine, killedByMemory } from './cause';
import { coverageReason, isSampled } from './coverage';
import { endedBadly } from './job-end';
import { figureOf } from './peak-figure';
import { privateWorld } from './job-name';
import { complexesOf, limitOf, requestOf } from './request';
import type { CoverageReason } from './coverage';

/** What sums need to know of a record. Bytes, ms, joules; null: not known. */
export interface Facts {
  readonly running: boolean;
  /**
   * Every task of a parallel job is given its whole host's limit and slots, as the master is: so of each host only one
   * record counts there, the master's, or that of the first task.
   */
  readonly standsForHost: boolean;
  /** It stands for its host, and no other record of the job can have held what it requested. */
  readonly alone: boolean;
  readonly slots: number;
  readonly wallclock: number | null;
  readonly cpu: number | null;
  /** On the host; `requested` is the limit where nothing else was asked for. */
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

/** So far apart may the records of one job be: job numbers come again after some months at the busiest sites. */
export const JOB_SPAN_MS = 45 * DAY_MS;

/** Where a job counts in time (ms): where it ended; a running one at its last heartbeat. */
export function countedAt(record: JobRecord): number {
  const ended = record.ended_at ?? null;
  if (ended !== null) return Date.parse(ended);
  if (record.status === 'running') return record.revision;
  const begun = record.started_at ?? record.submitted_at;
  return begun === null ? record.revision : Date.parse(begun);
}

/** Whether sums have it: what an owner reported, and nothing confirms, counts among private runs alone. */
export const countsInSums = ({ trust, cluster }: Pick<JobRecord, 'trust' | 'cluster'>): boolean =>
  trust !== 'self-reported' || privateWorld(cluster) !== null;

type SlotFacts = Pick<JobRecord, 'host_slots' | 'slots' | 'trust' | 'pe_task_id'>;

/**
 * What is requested for the record on its host, in bytes; null: nothing, or no limit; 0: its master has all of it, as it
 * has a request for the whole job.
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

/** Of a task that is known by Grid Engine's accounting alone: its master's line has the request of all hosts. */
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

/** Slots on the host. A line of Grid Engine's accounting, alone, has only the job's: they stand in its master's. */
export function hostSlots(record: SlotFacts): number {
  if (record.host_slots !== null) return record.host_slots;
  if (record.trust !== 'accounting') return 1;
  return record.pe_task_id === null ? (record.slots ?? 1) : 0;
}

/** Joules that the job was charged with. */
export function chargedEnergy(record: JobRecord): number | null {
  const { energy_package_joules: cpus, energy_dram_joules: memory } = record.metrics;
  return cpus === undefined && memory === undefined ? null : (cpus ?? 0) + (memory ?? 0);
}

/**
 * Whether no other record of its job can have held what one that stands for its host requested: Grid Engine limits each
 * host by itself, but a line of accounting has the request of all hosts.
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

/** The facts of a record; whether it stands for its host is the store's to say, which has its job's others: `job`. */
export function factsOf(record: JobRecord, standsForHost: boolean, job: readonly JobRecord[] = [record]): Facts {
  const ms = (seconds: number | null): number | null => (seconds === null ? null : seconds * 1000);
  const failed = endedBadly(record);
  return {
    running: record.status === 'running',
    standsForHost,
    alone: standsForHost && isAlone(record, job),
    slots: hostSlots(record),
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
