import { accountingReader, isProblem } from '../../gridengine/accounting-line';
import type { UnreadableLine } from '../history-store';
import { hashOf } from './accounting-file';
import { lineFault } from './line-fault';
import { linePlacer, type LinePlace } from './line-place';
import { LinePacker, type PackedLines } from './line-table';

const NEWLINE = 0x0a;
/** A longer line is no record. */
const LONGEST_LINE = 1 << 20;
const KEPT_TEXT = 4096;
/** By so many bytes before a position a file is known to have there still what was read of it. */
const TAIL_BYTES = 4096;

/** Where reading a file begins, or has come to: behind a newline. */
export interface FilePlace extends LinePlace {
  readonly offset: number;
  /** The bytes before it, at most TAIL_BYTES. */
  readonly tail: Uint8Array;
}

/** Lines as they are to be stored in one transaction. */
export interface LineBatch {
  readonly packed: PackedLines;
  readonly unreadable: readonly UnreadableLine[];
  /** Those of them that begin as a job's line. */
  readonly split: number;
  /** Lines that it is made of, with those that are no records. */
  readonly count: number;
  /** Position behind the newline of its last line. */
  readonly end: number;
  /** Hash of the bytes before that, as of `FilePlace`. */
  readonly tail: string;
}

/** Finds and reads the lines of a file piece by piece; holds one line and one batch at most. */
interface LineSplitter {
  /** The batches that are full with this piece. */
  readonly add: (piece: Buffer) => readonly LineBatch[];
  /** What there is now, if anything; a last line without its newline stays out. */
  readonly rest: () => LineBatch | null;
  /** Where the lines that came have led. */
  readonly place: () => FilePlace;
}

/** The last bytes of those `before` and of `bytes` up to `end`, in memory of their own. */
function lastBytes(before: Uint8Array, bytes: Buffer, end: number): Buffer {
  if (end >= TAIL_BYTES) return Buffer.from(bytes.subarray(end - TAIL_BYTES, end));
  return Buffer.concat([before, bytes.subarray(0, end)]).subarray(-TAIL_BYTES);
}

/** `begin`: where the first piece is; `most`: lines in a batch. */
export function lineSplitter(begin: FilePlace, most: number): LineSplitter {
  const read = accountingReader();
  const lines = new LinePacker(most);
  const placer = linePlacer(begin);
  let unreadable: UnreadableLine[] = [];
  let split = 0;
  let count = 0;
  /** Where the first line that is not in the batch begins. */
  let position = begin.offset;
  /** The bytes before it, and before the next piece with what is held. */
  let { tail } = begin;
  let before = tail;
  let held: Buffer = Buffer.alloc(0);
  /** Bytes of a line that is too long: dropped but for how it begins. */
  let skipped = 0;

  const setAside = (reason: string, bytes: Buffer, start: number, end: number): void => {
    const text = bytes.toString('latin1', start, Math.min(end, start + KEPT_TEXT));
    unreadable.push({ offset: position, reason, text });
  };
  const take = (bytes: Uint8Array): LineBatch => {
    const batch = { packed: lines.take(), unreadable, split, count, end: position, tail: hashOf(bytes) };
    unreadable = [];
    split = 0;
    count = 0;
    return batch;
  };
  const readLine = (bytes: Buffer, start: number, newline: number): void => {
    // Some tools on the way leave lines that end as on Windows.
    const end = newline > start && bytes[newline - 1] === 0x0d ? newline - 1 : newline;
    const record = read(bytes, start, end);
    if (!isProblem(record)) {
      const fault = lineFault(record);
      if (fault === null) lines.add(placer.next(record));
      else setAside(fault, bytes, start, end);
    } else if (record.kind !== 'no-record') {
      if (record.kind === 'split') split++;
      setAside(record.detail, bytes, start, end);
    }
    count++;
    position += newline + 1 - start;
  };

  return {
    add(piece) {
      const batches: LineBatch[] = [];
      const bytes = held.length === 0 ? piece : Buffer.concat([held, piece]);
      held = Buffer.alloc(0);
      let start = 0;
      for (;;) {
        const newline = bytes.indexOf(NEWLINE, start);
        if (newline < 0) break;
        if (skipped > 0) {
          setAside(`longer than ${LONGEST_LINE} bytes`, bytes, start, newline);
          position += skipped + newline + 1 - start;
          skipped = 0;
          count++;
        } else readLine(bytes, start, newline);
        start = newline + 1;
        if (count >= most) batches.push(take(lastBytes(before, bytes, start)));
      }
      if (start > 0) tail = lastBytes(before, bytes, start);
      const left = bytes.length - start;
      if (left + skipped > LONGEST_LINE) {
        before = lastBytes(before, bytes, bytes.length);
        skipped += left;
      } else {
        before = tail;
        held = Buffer.from(bytes.subarray(start));
      }
      return batches;
    },
    rest: () => (count === 0 ? null : take(tail)),
    place: () => ({ ...placer.place(), offset: position, tail }),
  };
}
