import { accountingReader, isProblem } from '../../gridengine/accounting-line';
import type { AccountingFile } from './accounting-file';
import { hashOfHead, HEAD_BYTES } from './accounting-file';
import { beginOfFile, type LinePlace } from './line-place';
import { lineSplitter } from './split-lines';

/** So far back there is nearly always a line of a job that started. */
const FIRST_LOOK_BYTES = 1 << 16;
const STEP = 32;
const LINES = 1000;

const NEWLINE = 0x0a;

/** When the first job that started, by whole lines at the beginning of a file, ended (ms); null: there is none. */
function firstEnd(head: Buffer): number | null {
  const read = accountingReader();
  for (let start = 0, end = head.indexOf(NEWLINE); end >= 0; start = end + 1, end = head.indexOf(NEWLINE, start)) {
    const line = read(head, start, end);
    if (!isProblem(line) && line.startTimeMs !== null && line.endTimeMs !== null)
      return Math.floor(line.endTimeMs / 1000) * 1000;
  }
  return null;
}

/** What the lines from `from` up to `until` make of the place `begin`. */
async function placeAfter(file: AccountingFile, from: number, until: number, begin: LinePlace): Promise<LinePlace> {
  const splitter = lineSplitter(from, LINES, begin);
  let left = until - from;
  for await (const piece of file.read(from)) {
    splitter.add(piece.subarray(0, left));
    left -= piece.length;
    if (left <= 0) break;
  }
  return splitter.place();
}

/**
 * Where in the accounting the line at `offset` is, as far back in the file as is needed. Rejects with the file system's
 * error or zlib's.
 */
export async function placeAt(file: AccountingFile, offset: number): Promise<LinePlace> {
  const head = await file.head(HEAD_BYTES);
  const begin = beginOfFile(hashOfHead(head), firstEnd(head));
  if (offset === 0) return begin;
  for (let bytes = FIRST_LOOK_BYTES; ; bytes *= STEP) {
    const from = Math.max(0, offset - bytes);
    const place = await placeAfter(file, from, offset, begin);
    if (from === 0 || place.after !== begin.after) return place;
  }
}
