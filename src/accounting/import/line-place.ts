import { createHash } from 'node:crypto';
import type { AccountingRecord } from '../../gridengine/accounting-line';

/**
 * What is imported of a line of the accounting. A job that never started has only its submission time, so two attempts
 * that failed alike have equal lines. They differ, in every copy and format of the file, in the last line before them
 * of a job that did start, and in the number of other lines between: `place` holds both. Where Grid Engine gives no
 * end, `endTimeMs` is that of the preceding started job: about when the line was written.
 */
export interface PlacedLine extends AccountingRecord {
  readonly place?: string | null;
}

/** Where in the accounting a reader is. */
export interface LinePlace {
  /** Names the last line of a job that started. */
  readonly after: string;
  /** Lines since then, of jobs that did not start. */
  readonly others: number;
  /** Only before the first line of a job that started: when that job ended (ms); null: not known. */
  readonly nextEndMs: number | null;
}

/** `head`: hash of the first job's line in the file, which stands for `after` until a job that started comes. */
export function beginOfFile(head: string, nextEndMs: number | null = null): LinePlace {
  return { after: `0.${head.slice(0, 8)}`, others: 0, nextEndMs };
}

const second = (ms: number | null): number => Math.floor((ms ?? 0) / 1000);

/** A name that sorts by time, made from what Open Cluster Scheduler's two formats of a line have in common. */
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
  /** When a line without an end was written (ms): with the line of `after`, but not before its job was submitted. */
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
