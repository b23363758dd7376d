import { constants } from 'node:os';
import { killedByMemory as hitLimit } from '../../record/cause';
import { endingSignal, endUnseen, succeeded } from '../../record/job-end';
import type { JobRecord } from '../../record/record';
import { isBelowAnyProgram } from '../../record/request';

/** Grid Engine's `failed` codes that a user meets, in words. */
const FAILED: Readonly<Record<number, string>> = {
  1: 'assumedly before the job',
  7: 'in the prolog',
  8: 'in the prolog',
  9: 'in pe_start',
  10: 'in pe_start',
  11: 'before the job',
  12: 'in pe_stop',
  13: 'in pe_stop',
  14: 'in the epilog',
  15: 'in the epilog',
  25: 'rescheduled',
  26: 'opening an output file',
  27: "finding the job's shell",
  28: "changing to the job's directory",
  30: 'application error',
  37: 'a limit was enforced: h_rt, h_cpu or h_vmem',
  100: 'after the job: killed by a signal',
};

export { hitLimit };
export { endingSignal, succeeded };

/** Whether a record ran into a limit from which its need can be guessed: no program runs with `h_vmem=4`. */
export const hitUsableLimit = (record: JobRecord): boolean => hitLimit(record) && !isBelowAnyProgram(record);

/** Whether the record's status is all that is known of how the job ended. */
export const endUnknown = (record: JobRecord): boolean =>
  endUnseen(record) || (record.status !== 'finished' && succeeded(record) === null);

/** How the job ended, in one phrase: "exit status 0", "killed by SIGKILL (exit status 137)". */
export function describeEnding(record: JobRecord): string {
  const signal = endingSignal(record);
  const status = record.exit_status === null ? null : `exit status ${record.exit_status}`;
  const failed =
    record.failed === null || record.failed === 0
      ? ''
      : `; Grid Engine: failed ${record.failed}${FAILED[record.failed] === undefined ? '' : ` (${FAILED[record.failed] ?? ''})`}`;
  if (signal > 0 && record.signal !== null && record.signal > 0)
    return `killed by ${signalName(signal)}${status === null ? '' : ` (${status})`}${failed}`;
  if (signal > 0) return `${status ?? ''}, which means ${signalName(signal)}${failed}`;
  return `${status ?? 'exit status not known'}${failed}`;
}

/** How the job ended, for a table cell */
export function endingLabel(record: JobRecord): string {
  if (record.status === 'running' || endUnknown(record)) return record.status;
  const signal = endingSignal(record);
  if (signal > 0) return signalName(signal);
  if (record.exit_status !== null && record.exit_status !== 0) return `exit ${record.exit_status}`;
  if (record.failed !== null && record.failed !== 0) return `failed ${record.failed}`;
  return succeeded(record) === true ? 'ok' : 'ended';
}

const NAMES = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]));
// Linux has old names for some numbers; these are the ones people know.
NAMES.set(6, 'SIGABRT').set(29, 'SIGIO').set(17, 'SIGCHLD').set(31, 'SIGSYS');

/** "SIGKILL"; "signal 64" where the number has no name. */
export function signalName(signal: number): string {
  return NAMES.get(signal) ?? `signal ${signal}`;
}
