import { createHash } from 'node:crypto';
import type { AccountingRecord } from '../../gridengine/accounting-line';

/**
 * What is imported of a line of the accounting. Of a job that never started it has no time but that of its submission, so that two attempts
 * that failed alike have the same line: what distinguishes them, and is the same in every copy and form of the file, is the
 * line of a job that did start before it, and how many others of such jobs come between. `place`: both of it. It counts
 * when that line was written: `endTimeMs` says so where Grid Engine does not.
 */
export type PlacedLine = Pick<
  AccountingRecord,
  | ('jobId' | 'task' | 'peTaskId' | 'slots' | 'host' | 'owner' | 'jobName' | 'account' | 'queue' | 'project' | 'pe')
  | (
      | 'submissionTimeMs'
      | 'startTimeMs'
      | 'endTimeMs'
      | 'failed'
      | 'exitStatus'
      | 'deletedBy'
      | 'category'
      | 'submitCommand'
    )
  | ('wallclockSeconds' | 'cpuSeconds' | 'userSeconds' | 'systemSeconds' | 'memGibSeconds' | 'ioGib')
  | ('maxvmemBytes' | 'maxrssBytes' | 'jobMaxrssBytes')
> & { readonly place?: string | null };

/** Where in the accounting a reader is. */
export interface LinePlace {
  /** The last line of a job that started. */
  readonly after: string;
  /** Lines of jobs that did not, since. */
  readonly others: number;
  /** Before the first line of a job that started: when that one ended (ms); null: not known. */
  readonly nextEndMs: number | null;
}

/** `head`: hash of the file's first line of a job. Before the first line of a job that started only the file has one. */
export function beginOfFile(head: string, nextEndMs: number | null = null): LinePlace {
  return { after: `0.${head.slice(0, 8)}`, others: 0, nextEndMs };
}

const second = (ms: number | null): number => Math.floor((ms ?? 0) / 1000);

/** Sorts by time. What Open Cluster Scheduler's two forms of a line share. */
function nameOf(line: AccountingRecord): string {
  const { jobId, task, peTaskId, host, startTimeMs, endTimeMs, failed, exitStatus } = line;
  const text = [jobId, task, peTaskId, host, second(startTimeMs), second(endTimeMs), failed, exitStatus].join('/');
  return `${second(endTimeMs)}.${createHash('sha256').update(text).digest('hex').slice(0, 8)}`;
}

interface LinePlacer {
  /** The next line, with its place if it needs one. */
  readonly next: (line: AccountingRecord) => PlacedLine;
  readonly place: () => LinePlace;
}

export function linePlacer(begin: LinePlace): LinePlacer {
  let { after, others, nextEndMs } = begin;
  /** The last line of a job that started, unless `after` is its name already. */
  let last: AccountingRecord | null = null;
  const settle = (): void => {
    if (last !== null) {
      after = nameOf(last);
      nextEndMs = null;
    }
    last = null;
  };
  /** When a line was written that has no end: as the one before it, and not before its job was submitted. */
  const writtenMs = ({ submissionTimeMs }: AccountingRecord): number | null =>
    Math.max(Number.parseInt(after, 10) * 1000 || (nextEndMs ?? 0), submissionTimeMs ?? 0) || null;
  return {
    next(line) {
      if (line.startTimeMs !== null) {
        last = line;
        others = 0;
        return line;
      }
      settle();
      return { ...line, endTimeMs: line.endTimeMs ?? writtenMs(line), place: `${after}.${others++}` };
    },
    place() {
      settle();
      return { after, others, nextEndMs };
    },
  };
}
