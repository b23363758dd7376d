import { accountingReader, isProblem } from '../../gridengine/accounting-line';
import { hashOf, type AccountingFile } from './accounting-file';
import { beginOfFile } from './line-place';
import { lineSplitter, type FilePlace } from './split-lines';

/** Within this distance there is nearly always a line of a job that started. */
const FIRST_LOOK_BYTES = 1 << 16;
const STEP = 32;
const LINES = 1000;

const NEWLINE = 0x0a;

/** Comments, then the first line of a job, or as much of it as there is. */
const FIRST_LINE = /^(?:#.*\n)*(.*)/;

/** When the first job that started ended (ms), by the whole lines in `head`; null: there is none. */
function firstEnd(head: Buffer): number | null {
  const read = accountingReader();
  for (let start = 0, end = head.indexOf(NEWLINE); end >= 0; start = end + 1, end = head.indexOf(NEWLINE, start)) {
    const line = read(head, start, end);
    if (!isProblem(line) && line.startTimeMs !== null && line.endTimeMs !== null)
      return Math.floor(line.endTimeMs / 1000) * 1000;
  }
  return null;
}

/** The place at `until`, reached by reading the lines from `begin` on; null: no line ends there. */
async function placeAfter(file: AccountingFile, begin: FilePlace, until: number): Promise<FilePlace | null> {
  const splitter = lineSplitter(begin, LINES);
  let left = until - begin.offset;
  for await (const piece of file.read(begin.offset)) {
    splitter.add(piece.subarray(0, left));
    left -= piece.length;
    if (left <= 0) break;
  }
  const place = splitter.place();
  return place.offset === until ? place : null;
}

/** The place at the beginning of a file with this `head`: the same however far the file has grown. */
export function beginPlace(head: Buffer): FilePlace {
  const [, first = ''] = FIRST_LINE.exec(head.toString('latin1')) ?? [];
  return { ...beginOfFile(hashOf(Buffer.from(first, 'latin1')), firstEnd(head)), offset: 0, tail: new Uint8Array() };
}

/**
 * The place at `offset` of a file that begins with `head`, by what comes before it, as far back as is needed; null: no
 * line ends there. Rejects with the file system's error or zlib's.
 */
export async function placeAt(file: AccountingFile, head: Buffer, offset: number): Promise<FilePlace | null> {
  const begin = beginPlace(head);
  for (let bytes = FIRST_LOOK_BYTES; ; bytes *= STEP) {
    const from = Math.max(0, offset - bytes);
    const place = await placeAfter(file, { ...begin, offset: from }, offset);
    if (from === 0 || place?.after !== begin.after) return place;
  }
}
