import { accountingReader, isProblem } from '../../gridengine/accounting-line';
import type { UnreadableLine } from '../history-store';
import { hashOf } from './accounting-file';
import { lineFault } from './line-fault';
import { linePlacer, type LinePlace } from './line-place';
import { LinePacker, type PackedLines } from './line-table';

const NEWLINE = 0x0a;
/** A longer line can't be a record. */
const LONGEST_LINE = 1 << 20;
const KEPT_TEXT = 4096;
/** By this many bytes before a position we check that a file still has what was read there. */
const TAIL_BYTES = 4096;

/** Where reading a file begins, or has come to: after a newline. */
export interface FilePlace extends LinePlace {
  readonly offset: number;
  /** The bytes before it, at most TAIL_BYTES. */
  readonly tail: Uint8Array;
}

/** Lines to be stored in one transaction. */
export interface LineBatch {
  readonly packed: PackedLines;
  readonly unreadable: readonly UnreadableLine[];
  /** How many of the unreadable lines begin as a job's line. */
  readonly split: number;
  /** How many lines the batch comes from, including those that are no records. */
  readonly count: number;
  /** Position after the newline of its last line. */
  readonly end: number;
  /** Hash of the bytes before `end`, as in `FilePlace`. */
  readonly tail: string;
}

/** Finds and reads the lines of a file piece by piece; holds one line and one batch at most. */
interface LineSplitter {
  /** Takes a piece; returns the batches that it completes. */
  readonly add: (piece: Buffer) => readonly LineBatch[];
  /** A batch of the remaining lines, if there are any; a last line without its newline is left out. */
  readonly rest: () => readonly LineBatch[];
  /** The place after the last line that came. */
  readonly place: () => FilePlace;
}

/** The last TAIL_BYTES of `before` and `bytes` up to `end`, as a copy. */
function lastBytes(before: Uint8Array, bytes: Buffer, end: number): Buffer {
  if (end >= TAIL_BYTES) return Buffer.from(bytes.subarray(end - TAIL_BYTES, end));
  return Buffer.concat([before, bytes.subarray(0, end)]).subarray(-TAIL_BYTES);
}

/** `begin`: where the first piece begins; `most`: lines in a batch. */
export function lineSplitter(begin: FilePlace, most: number): LineSplitter {
  const read = accountingReader();
  const lines = new LinePacker(most);
  const placer = linePlacer(begin);
  let unreadable: UnreadableLine[] = [];
  let split = 0;
  let count = 0;
  /** Where the first line that is not in the batch begins. */
  let position = begin.offset;
  /** `tail`: the bytes before `position`; `before`: the bytes before `held` and the next piece. */
  let { tail } = begin;
  let before = tail;
  let held: Buffer = Buffer.alloc(0);
  /** Dropped bytes of a line that is too long. */
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
    // Some tools leave lines that end as on Windows.
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
    rest: () => (count === 0 ? [] : [take(tail)]),
    place: () => ({ ...placer.place(), offset: position, tail }),
  };
}
