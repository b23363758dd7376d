import { AFTER_SIGNAL, failedCode, isAfterJob } from '../gridengine/failed-code';
import type { JobRecord } from './record';

/** The signal that ended the job, from `signal` or a shell's exit status 128 + n; 0: none. */
export function endingSignal(record: Pick<JobRecord, 'exit_status' | 'signal'>): number {
  if (record.signal !== null && record.signal > 0) return record.signal;
  const status = record.exit_status ?? 0;
  return status > 128 && status < 128 + 65 ? status - 128 : 0;
}

function saysBadEnd(record: Pick<JobRecord, 'failed' | 'exit_status' | 'signal'>): boolean {
  return Boolean(record.failed) || Boolean(record.exit_status) || Boolean(record.signal);
}

/** The fields that say how a job ended. */
export const END_FIELDS = [
  'failed',
  'exit_status',
  'signal',
  'status',
  'started_at',
  'ended_at',
  'grid_engine',
] as const;
type HowEnded = Pick<JobRecord, (typeof END_FIELDS)[number]>;

/**
 * Whether an exit status, a signal or Grid Engine's `failed` says that the job did not end in good order, or it was
 * deleted by force.
 */
export function endedBadly(record: HowEnded): boolean {
  return saysBadEnd(record) || deletedByForce(record);
}

export const SIGKILL = 9;

/** The least time between the two of a line: a job that runs for less than a second may end in the next. */
export const APART_MS = 2000;

/**
 * Whether the job's line is that of a forced deletion (qdel -f): qmaster writes it at once, with both times, failed 0,
 * exit status 0 and no usage, whatever becomes of the job.
 */
export function deletedByForce(record: HowEnded): boolean {
  const { failed, status, exit_status: exit, started_at: start, ended_at: end, grid_engine: account } = record;
  if (failed !== 0 || exit === null || account?.wallclock_seconds !== 0) return false;
  const mayBeItsEnd = saysBadEnd(record) ? endingSignal(record) === SIGKILL : status !== 'finished';
  if (!mayBeItsEnd) return false;
  return start !== null && end !== null && Date.parse(end) - Date.parse(start) >= APART_MS;
}

/** Whether the job is known to have ended in good order; null: not known. */
export function succeeded(record: JobRecord): boolean | null {
  if (saysBadEnd(record)) return false;
  if (deletedByForce(record)) return null;
  return record.exit_status === null && record.signal === null ? null : true;
}

type Failure = Pick<JobRecord, 'failed' | 'grid_engine'>;

/**
 * `failed` codes of an output file that can't be opened and of a missing working directory. A hook is started with both:
 * where the job has removed them, its epilog fails like a job that could not start.
 */
const FILES_MISSING: ReadonlySet<number> = new Set([26, 28]);

/** Whether the job itself was over when something failed: the PE's stop procedure, the epilog. */
export function failedAfterwards({ failed, grid_engine: account }: Failure): boolean {
  if (failed === null) return false;
  // Grid Engine has no usage of a first process that could not execute its program.
  const hasUsage = (account?.wallclock_seconds ?? 0) > 0;
  return isAfterJob(failed) || (FILES_MISSING.has(failed) && hasUsage);
}

/** Whether Grid Engine says that the job never ran. */
export function neverRan(record: Failure): boolean {
  return record.failed !== null && failedCode(record.failed).ran === false && !failedAfterwards(record);
}

/** As `succeeded`, of the job itself: what Grid Engine does after it (epilog) may have failed. */
export function ranWell(record: JobRecord): boolean | null {
  return succeeded(failedAfterwards(record) ? { ...record, failed: null } : record);
}

/**
 * Whether nobody saw the job end: its shepherd or host died, as far as is known. False where Grid Engine's accounting
 * says that the job ran to its own end: then only the sampler did not see it.
 */
export function endUnseen(record: Pick<JobRecord, 'status' | 'exit_status' | 'failed'>): boolean {
  const { status, exit_status: exit, failed } = record;
  if (status !== 'lost') return false;
  return exit === null || failed === null || failed === AFTER_SIGNAL || failedCode(failed).ran !== true;
}

const LIMIT_ENFORCED = 37;
/** Open Cluster Scheduler's `deleted_by` (`USER@HOST`) begins like this if execd itself killed the job for a limit. */
const BY_EXECD = 'execd@';

/** How Grid Engine says that execd killed the run for a limit: "failed 37", "deleted by execd@HOST"; null: not said. */
export function enforcedLimit({ failed, grid_engine: account }: JobRecord): string | null {
  if (failed === LIMIT_ENFORCED) return `failed ${LIMIT_ENFORCED}`;
  const by = account?.deleted_by ?? '';
  return by.startsWith(BY_EXECD) ? `deleted by ${by}` : null;
}

/** `failed` codes of a run that another follows: its `deleted_by` is the user who rescheduled it (qmod -rj). */
const RUNS_AGAIN: ReadonlySet<number | null> = new Set([24, 25]);

/** Who deleted the job (qdel); null: nobody, or Grid Engine does not say who. */
export function deletedBy({ failed, grid_engine: account }: JobRecord): string | null {
  const by = account?.deleted_by ?? '';
  return by === '' || RUNS_AGAIN.has(failed) || by.startsWith(BY_EXECD) ? null : by;
}

/** `failed` codes of a job that died by a signal: Grid Engine enforced a limit by SIGKILL, or any other signal. */
const DIED: ReadonlySet<number | null> = new Set([LIMIT_ENFORCED, AFTER_SIGNAL]);

/**
 * Whether the ending signal hit the job's own first process; false: its shell survived and reported a child that died
 * by the signal; null: not known. Grid Engine kills all processes of a job, the kernel's OOM killer only one.
 */
export function diedItself(record: JobRecord): boolean | null {
  if ((record.signal ?? 0) > 0 || DIED.has(record.failed)) return true;
  return record.signal === 0 || record.failed === 0 ? false : null;
}
