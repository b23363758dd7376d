import { sumOfAll } from '../base/known';
import type { GridEngineAccount, JobRecord } from './record';
import { deletedBy, diedItself, endedBadly, endingSignal, enforcedLimit, neverRan, SIGKILL } from './job-end';
import { limitsHold } from './job-name';
import { figureOf, judgedEnd, shareOf } from './peak-figure';
import { execdLimit, isBelowAnyProgram, processLimit } from './request';

/** From this share of the limit on, a peak counts as at its limit: a refused allocation raises no peak. */
export const CLOSE_TO_LIMIT = 0.9;

const SIGTERM = 15;

/**
 * Signals that mostly end a program that is refused memory (others exit with an error status): an illegal instruction
 * or a trap (V8, Go), an abort (C++, Java), a bus error, a null pointer.
 */
export const AFTER_REFUSAL: ReadonlySet<number> = new Set([4, 5, 6, 7, 11]);

/** Whether memory may have caused a bad end, and the shares of the h_vmem limit that were in use; null: unknown. */
interface MemoryEnd {
  /** execd adds up what all processes hold; the kernel refuses memory or kills for lack of it. null: none of these. */
  readonly by: 'execd' | 'refusal' | 'oom-killer' | null;
  /** By all processes together (`held`), by the largest address space of one process (`space`). */
  readonly held: number | null;
  readonly space: number | null;
}

/**
 * Whether maxvmem is the reserved amount (ACCT_RESERVED_USAGE), which the import leaves out, or may be that, since it is
 * exactly the limit or the request.
 */
export function mayBeReservation({ grid_engine: account, h_vmem: request }: JobRecord): boolean {
  const counted = account?.maxvmem_bytes ?? 0;
  if (counted <= 0) return (account?.mem_gib_seconds ?? 0) > 0;
  return counted === request?.limit_bytes || counted === request?.request_bytes;
}

/**
 * Grid Engine's peak figure (maxvmem) in bytes; what it adds up depends on the dialect: for a slave task that task
 * alone, for a parallel job's master perhaps all hosts. null: unknown, the job ended before execd first looked, or the
 * figure may be the reserved amount.
 */
export function countedByGridEngine(record: JobRecord): number | null {
  const counted = record.grid_engine?.maxvmem_bytes ?? 0;
  return counted > 0 && !mayBeReservation(record) ? counted : null;
}

/** Sum of `countedByGridEngine` over all records of a run, on any hosts; null: unknown for at least one. */
export const countedTogether = (records: readonly JobRecord[]): number | null =>
  sumOfAll(records.map(countedByGridEngine));

/** A record's measured peak, else Grid Engine's figure, in bytes; null: neither is known. */
export const heldBytes = (record: JobRecord): number | null =>
  record.peak_rss === null ? countedByGridEngine(record) : figureOf(record.peak_rss);

/**
 * The largest number of bytes that execd itself compared with h_vmem; null: unknown, or not known for this host alone
 * (a parallel job's figure may be a sum over hosts).
 */
export function countedByExecd(record: JobRecord): number | null {
  const hosts = record.granted_hosts?.length ?? (record.pe === null || record.slots === 1 ? 1 : 0);
  return record.pe_task_id === null && hosts === 1 ? countedByGridEngine(record) : null;
}

/**
 * The accounting line of one part of a parallel job (its master or a slave task) that by itself reached what h_vmem
 * allows on its host; null: none did. All parts together may still have reached it, since execd adds them up. `run`:
 * all records of the run; `here`: those of the host.
 */
export function lineAtLimit(
  run: readonly JobRecord[],
  here: readonly JobRecord[],
  limit: number | null,
): GridEngineAccount | null {
  // With accounting_summary the only line is the master's, which sums over all hosts.
  const oneEach = run.some(({ pe_task_id: task, grid_engine: line }) => task !== null && line !== null);
  if (!oneEach || limit === null || limit <= 0) return null;
  return here.find((record) => (countedByGridEngine(record) ?? 0) >= limit)?.grid_engine ?? null;
}

/** `failed` codes that report no fault of Grid Engine: the job ended by itself or by a signal. */
const OF_THE_JOB: ReadonlySet<number | null> = new Set([null, 0, 100]);

function isKilledAtLimit(record: JobRecord, limit: number, held: number | null): boolean {
  if (enforcedLimit(record) === null) {
    if (endingSignal(record) !== SIGKILL || diedItself(record) === false || !OF_THE_JOB.has(record.failed))
      return false;
  }
  if (isBelowAnyProgram(record)) return true;
  const counted = countedByExecd(record);
  if (counted !== null) return counted >= limit;
  // execd compares more than a task's line shows: it adds what other tasks on the host hold.
  const ofTask = record.pe_task_id === null ? null : countedByGridEngine(record);
  return (ofTask ?? 0) >= limit || (held ?? 0) >= CLOSE_TO_LIMIT * limit;
}

function isRefused(record: JobRecord, limit: number, space: number | null): boolean {
  const signal = endingSignal(record);
  const stopped = signal === 0 ? (record.exit_status ?? 0) !== 0 : AFTER_REFUSAL.has(signal);
  const reached = isBelowAnyProgram(record) || (space !== null && space >= CLOSE_TO_LIMIT * limit);
  return stopped && OF_THE_JOB.has(record.failed) && reached;
}

interface OomKills {
  readonly count: number;
  /** Killed at the limit of a control group; false: for lack of memory on the node; null: not known. */
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

/** If a child is killed, its parent may exit with an error; systemd stops its scope by SIGTERM. */
function isOutOfMemory(record: JobRecord): boolean {
  const signal = endingSignal(record);
  const stopped = signal === SIGKILL || signal === SIGTERM || (signal === 0 && (record.exit_status ?? 0) !== 0);
  return stopped && (oomKills(record)?.count ?? 0) > 0 && enforcedLimit(record) === null;
}

/** null: the job ended well or never started, or how it ended is not known. */
export function memoryEnd(record: JobRecord): MemoryEnd | null {
  if (!endedBadly(record) || neverRan(record)) return null;
  const limit = processLimit(record) ?? 0;
  const limitTogether = execdLimit(record) ?? 0;
  const peak = record.peak_rss_swap ?? record.peak_rss;
  const held = peak === null ? countedByGridEngine(record) : judgedEnd(peak);
  const space = record.peak_process_vmem && figureOf(record.peak_process_vmem);
  const isLimited = limit > 0 && limitsHold(record);
  // If someone is known to have deleted the job, nothing else ended it.
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
