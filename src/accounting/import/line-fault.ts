import { STILL_RUNNING, type AccountingRecord } from '../../gridengine/accounting-line';
import { LAST_MS } from '../../base/shape';
import { RECORD_LIMITS } from '../../record/fields';

const MOST_INT32 = 2 ** 31 - 1;
const MOST_SECONDS = 1e12;
/** For names that Grid Engine itself limits to a few hundred characters. */
const LONGEST_NAME = 1024;

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;
const isCode = (value: number): boolean => Number.isInteger(value) && Math.abs(value) <= MOST_INT32;

const isOneAbove = (most: number, values: readonly (number | null)[]): boolean =>
  values.some((value) => (value ?? 0) > most);

/** Why a line that could be read can't be a job's; null: it can. */
export function lineFault(line: AccountingRecord): string | null {
  if (!isCount(line.jobId) || line.jobId === 0) return 'job_number is not a job number';
  if (!isCount(line.task)) return 'task_number is not a task number';
  if (!isCount(line.slots) || line.slots > RECORD_LIMITS.slots) return 'slots is not a number of slots';
  if (line.exitStatus === STILL_RUNNING)
    return 'an intermediate record of a job that ran on, as only the reporting file has them';
  if (!isCode(line.failed)) return 'failed is not a code';
  if (!isCode(line.exitStatus)) return 'exit_status is not a status';
  if (isOneAbove(LAST_MS, [line.submissionTimeMs, line.startTimeMs, line.endTimeMs]))
    return 'a time beyond the year 9999';
  if (isOneAbove(MOST_SECONDS, [line.wallclockSeconds, line.cpuSeconds, line.userSeconds, line.systemSeconds]))
    return 'more than 30,000 years';
  if (
    isOneAbove(Number.MAX_SAFE_INTEGER, [line.maxvmemBytes, line.maxrssBytes, line.jobMaxrssBytes]) ||
    isOneAbove(1e30, [line.memGibSeconds, line.ioGib])
  )
    return 'more memory than there is';
  if (line.owner === '') return 'no owner';
  if ([line.owner, line.host, line.queue, line.project, line.pe].some((name) => (name ?? '').length > LONGEST_NAME))
    return `a name of more than ${LONGEST_NAME} characters`;
  return null;
}
