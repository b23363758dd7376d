import { STILL_RUNNING, type AccountingRecord } from '../../gridengine/accounting-line';
import { LAST_MS } from '../../base/shape';
import { RECORD_LIMITS } from '../../record/fields';

const MOST_INT32 = 2 ** 31 - 1;
const MOST_SECONDS = 1e12;
/** For names that Grid Engine itself limits to a few hundred characters. */
const LONGEST_NAME = 1024;

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;

/** Why a line that could be read can't be a job's; null: it can. */
export function lineFault(line: AccountingRecord): string | null {
  if (!isCount(line.jobId) || line.jobId === 0) return 'job_number is not a job number';
  if (!isCount(line.task)) return 'task_number is not a task number';
  if (!isCount(line.slots) || line.slots > RECORD_LIMITS.slots) return 'slots is not a number of slots';
  if (line.exitStatus === STILL_RUNNING)
    return 'an intermediate record of a job that ran on, as only the reporting file has them';
  if (!Number.isInteger(line.failed) || Math.abs(line.failed) > MOST_INT32) return 'failed is not a code';
  if (!Number.isInteger(line.exitStatus) || Math.abs(line.exitStatus) > MOST_INT32)
    return 'exit_status is not a status';
  const { submissionTimeMs, startTimeMs, endTimeMs } = line;
  if ((submissionTimeMs ?? 0) > LAST_MS || (startTimeMs ?? 0) > LAST_MS || (endTimeMs ?? 0) > LAST_MS)
    return 'a time beyond the year 9999';
  if (line.wallclockSeconds > MOST_SECONDS || line.cpuSeconds > MOST_SECONDS) return 'more than 30,000 years';
  if (line.userSeconds > MOST_SECONDS || line.systemSeconds > MOST_SECONDS) return 'more than 30,000 years';
  if ((line.maxvmemBytes ?? 0) > Number.MAX_SAFE_INTEGER || line.maxrssBytes > Number.MAX_SAFE_INTEGER)
    return 'more memory than there is';
  if ((line.jobMaxrssBytes ?? 0) > Number.MAX_SAFE_INTEGER || line.memGibSeconds > 1e30 || line.ioGib > 1e30)
    return 'more memory than there is';
  if (line.owner === '') return 'no owner';
  if (line.owner.length > LONGEST_NAME || line.host.length > LONGEST_NAME || line.queue.length > LONGEST_NAME)
    return `a name of more than ${LONGEST_NAME} characters`;
  if ((line.project?.length ?? 0) > LONGEST_NAME || (line.pe?.length ?? 0) > LONGEST_NAME)
    return `a name of more than ${LONGEST_NAME} characters`;
  return null;
}
