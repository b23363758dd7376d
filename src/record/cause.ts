import { sumOfAll } from '../base/known';
import { failedCode } from '../gridengine/failed-code';
import type { GridEngineAccount, JobRecord } from './record';
import { deletedBy, diedItself, endedBadly, endingSignal, enforcedLimit } from './job-end';
import { limitsHold } from './job-name';
import { figureOf, judgedEnd, shareOf } from './peak-figure';
import { execdLimit } from './request';

/** From here on a peak counts as at its limit: an allocation that did not fit leaves no mark at all. */
export const CLOSE_TO_LIMIT = 0.9;

const SIGKILL = 9;
const SIGTERM = 15;

/**
 * Refused memory mostly ends so (or with an error status): an illegal instruction or a trap (V8, Go), an abort (C++,
 * Java), a bus error, a null pointer.
 */
export const AFTER_REFUSAL: ReadonlySet<number> = new Set([4, 5, 6, 7, 11]);

/** How a bad end, as far as memory may have brought it about, stands to h_vmem; shares of the limit, null: unknown. */
interface MemoryEnd {
  /** By execd, which adds up what all processes hold; by the kernel, which refuses memory or kills for want of it. */
  readonly by: 'execd' | 'refusal' | 'oom-killer' | null;
  /** Held of the limit by all processes together, by the address space of one. */
  readonly held: number | null;
  readonly space: number | null;
}

/** Whether maxvmem is exactly the limit or the request: then it may be what was reserved (ACCT_RESERVED_USAGE). */
export function maybeReserved({ grid_engine: account, h_vmem: request }: JobRecord): boolean {
  const counted = account?.maxvmem_bytes ?? 0;
  return counted > 0 && (counted === request?.limit_bytes || counted === request?.request_bytes);
}

/**
 * Bytes that Grid Engine counted at most (maxvmem), whatever its dialect adds up there: of a task those of the task, of a
 * parallel job's master perhaps those of all hosts. null: none are known, the job was over before execd's first look, or
 * it may be what was reserved.
 */
export function countedByGridEngine(record: JobRecord): number | null {
  const counted = record.grid_engine?.maxvmem_bytes ?? 0;
  return counted > 0 && !maybeReserved(record) ? counted : null;
}

/** The same of all records of a run together, on whatever hosts; null: it is not known of all. */
export const countedTogether = (records: readonly JobRecord[]): number | null =>
  sumOfAll(records.map(countedByGridEngine));

/** A record's peak, by Grid Engine's figure where nobody measured one; null: neither is known. */
export const heldBytes = (record: JobRecord): number | null =>
  record.peak_rss === null ? countedByGridEngine(record) : figureOf(record.peak_rss);

/**
 * Bytes that execd itself compared with h_vmem at the job's highest; null: not known for this host alone (a parallel job's
 * may be a sum over hosts), or not at all.
 */
export function countedByExecd(record: JobRecord): number | null {
  const hosts = record.granted_hosts?.length ?? (record.pe === null || record.slots === 1 ? 1 : 0);
  return record.pe_task_id === null && hosts === 1 ? countedByGridEngine(record) : null;
}

/**
 * The line of a part of a parallel job (its master, a task) for which alone execd counted as much as h_vmem allows on
 * its host; null: none. With less in every line all parts together may still have reached it, since execd adds them up.
 * `run`: all its records; `here`: those of the host.
 */
export function lineAtLimit(
  run: readonly JobRecord[],
  here: readonly JobRecord[],
  limit: number | null,
): GridEngineAccount | null {
  // One line for the whole job (accounting_summary) is the master's, and sums over all hosts.
  const oneEach = run.some(({ pe_task_id: task, grid_engine: line }) => task !== null && line !== null);
  if (!oneEach || limit === null || limit <= 0) return null;
  return here.find((record) => (countedByGridEngine(record) ?? 0) >= limit)?.grid_engine ?? null;
}

/** `failed` codes that say nothing else than how the job itself ended. */
const OF_THE_JOB: ReadonlySet<number | null> = new Set([null, 0, 100]);

function isKilledAtLimit(record: JobRecord, limit: number, held: number | null): boolean {
  if (enforcedLimit(record) === null) {
    if (endingSignal(record) !== SIGKILL || diedItself(record) === false || !OF_THE_JOB.has(record.failed))
      return false;
  }
  const counted = countedByExecd(record);
  if (counted !== null) return counted >= limit;
  // To what stands in a task's line execd adds what other tasks of the host hold.
  const ofTask = record.pe_task_id === null ? null : countedByGridEngine(record);
  return (ofTask ?? 0) >= limit || (held ?? 0) >= CLOSE_TO_LIMIT * limit;
}

function isRefused(record: JobRecord, limit: number, space: number | null): boolean {
  const signal = endingSignal(record);
  const stopped = signal === 0 ? (record.exit_status ?? 0) !== 0 : AFTER_REFUSAL.has(signal);
  return stopped && OF_THE_JOB.has(record.failed) && space !== null && space >= CLOSE_TO_LIMIT * limit;
}

interface OomKills {
  readonly count: number;
  /** For the limit of a control group; false: for lack of memory on the node; null: not known. */
  readonly atLimit: boolean | null;
}

/** What the kernel's OOM killer did to the job on its host, by the job's cgroup or the kernel's log; null: neither says. */
export function oomKills({ metrics }: JobRecord): OomKills | null {
  const counted = metrics.cgroup_oom_kills;
  const reached = metrics.cgroup_oom_events;
  const ofGroup = metrics.taskstats_cgroup_oom_kills ?? 0;
  const logged = ofGroup + (metrics.taskstats_node_oom_kills ?? 0);
  if (logged > 0) return { count: Math.max(counted ?? 0, logged), atLimit: ofGroup > 0 };
  return counted === undefined ? null : { count: counted, atLimit: reached === undefined ? null : reached > 0 };
}

/** The killed process may have been a child of which its parent made an error; systemd stops its scope by SIGTERM. */
function isOutOfMemory(record: JobRecord): boolean {
  const signal = endingSignal(record);
  const stopped = signal === SIGKILL || signal === SIGTERM || (signal === 0 && (record.exit_status ?? 0) !== 0);
  return stopped && (oomKills(record)?.count ?? 0) > 0 && enforcedLimit(record) === null;
}

/** null: it ended well or never started, or it is not known how it ended. */
export function memoryEnd(record: JobRecord): MemoryEnd | null {
  if (!endedBadly(record) || (record.failed !== null && failedCode(record.failed).ran === false)) return null;
  const limit = record.h_vmem?.limit_bytes ?? 0;
  const limitTogether = execdLimit(record) ?? 0;
  const peak = record.peak_rss_swap ?? record.peak_rss;
  const held = peak === null ? countedByGridEngine(record) : judgedEnd(peak);
  const space = record.peak_process_vmem && figureOf(record.peak_process_vmem);
  const isLimited = limit > 0 && limitsHold(record);
  // Where it is known who deleted the job, nothing else ended it.
  const by =
    deletedBy(record) !== null
      ? null
      : isOutOfMemory(record)
        ? 'oom-killer'
        : isLimited && isKilledAtLimit(record, limitTogether, held)
          ? 'execd'
          : isLimited && isRefused(record, limit, space)
            ? 'refusal'
            : null;
  return { by, held: shareOf(held, limitTogether), space: shareOf(space, limit) };
}

/**
 * Whether the record's bad end is consistent with lack of memory: killed at h_vmem, refused memory under it, or killed
 * by the kernel for its cgroup. No proof: a refused allocation leaves no mark.
 */
export function killedByMemory(record: JobRecord): boolean {
  return (memoryEnd(record)?.by ?? null) !== null;
}
