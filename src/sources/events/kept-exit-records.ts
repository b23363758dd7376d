import { exitRecordPid, parseExitRecord, type ExitRecord } from './exit-records';

/** The exit record of one thread as the kernel sent it, not parsed: for most, only the thread's id is ever needed. */
export class KeptExitRecord {
  constructor(
    /** The thread's id. */
    readonly pid: number,
    private readonly chunk: Buffer,
    private readonly offset: number,
    private readonly length: number,
  ) {}

  /** null: cut off. */
  read(): ExitRecord | null {
    return parseExitRecord(this.chunk, this.offset, this.length);
  }
}

/**
 * Records share pieces of memory of this size outside the JavaScript heap; a piece goes with the last of its records.
 */
const CHUNK_BYTES = 64 * 1024;

/** Copies records out of a buffer that is soon overwritten; null: the message is not a record. */
export function newRecordKeeper(): (buffer: Buffer, offset: number, length: number) => KeptExitRecord | null {
  let chunk = Buffer.alloc(0);
  let used = 0;
  return (buffer, offset, length) => {
    const pid = exitRecordPid(buffer, offset, length);
    if (pid === null) return null;
    if (used + length > chunk.length) {
      chunk = Buffer.allocUnsafeSlow(Math.max(CHUNK_BYTES, length));
      used = 0;
    }
    buffer.copy(chunk, used, offset, offset + length);
    const kept = new KeptExitRecord(pid, chunk, used, length);
    used += length;
    return kept;
  };
}
