import type { JobRecord } from './record';

/** The signal that ended the job, be it told directly or by a shell's 128 + n; 0: none. */
export function endingSignal(record: JobRecord): number {
  if (record.signal !== null && record.signal > 0) return record.signal;
  const status = record.exit_status ?? 0;
  return status > 128 && status < 128 + 65 ? status - 128 : 0;
}

/** Whether the job is known to have ended in good order; null: not known. */
export function succeeded(record: JobRecord): boolean | null {
  if (record.exit_status === null && record.signal === null) return null;
  return (record.exit_status ?? 0) === 0 && (record.signal ?? 0) === 0 && (record.failed ?? 0) === 0;
}

/** `failed`: the job died by a signal; Grid Engine enforced a limit, by SIGKILL. */
const DIED: ReadonlySet<number | null> = new Set([37, 100]);

/**
 * Whether the ending signal hit the job's own first process; false: its shell lived on and told of a child that died so.
 * null: not known. Grid Engine kills all processes of a job, the kernel's OOM killer one of them.
 */
export function diedItself(record: JobRecord): boolean | null {
  if ((record.signal ?? 0) > 0 || DIED.has(record.failed)) return true;
  return record.signal === 0 || record.failed === 0 ? false : null;
}
