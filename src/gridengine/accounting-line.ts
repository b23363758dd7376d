import { jsonAccountingLine } from './accounting-json';
import { STILL_RUNNING, type AccountingLineProblem, type AccountingRecord } from './accounting-record';
import { byteStrings, HASH_START, hashByte } from './byte-strings';
import { plainNumber } from './bytes-to-number';
import { bytesToText } from './bytes-to-text';
import { epochToMs } from './epoch-time';
import { withoutReserved } from './reserved-usage';

export type { AccountingLineProblem, AccountingRecord };
export { STILL_RUNNING };

const COLON = 0x3a;
const HASH = 0x23;
const BRACE = 0x7b;
const ZERO = 0x30;
const LAST_ASCII = 0x7f;

/** Fields before the category, the only one that can hold a colon (`-l h_rt=24:00:00`); nothing is escaped. */
const BEFORE_CATEGORY = 39;
const FEWEST_FIELDS = 43;
/** There is room for this many fields at first; a category with more colons makes more of them. */
const USUAL_FIELDS = 128;

/** Layouts by number of fields: 43 is 6.0, 45 is 6.2 and 8.1.9, 46 and more Univa's (55: 54 and the bound cores). */
type Layout = 43 | 45 | 46 | 52 | 53 | 54 | 55 | 74;

/**
 * Layouts in the order in which they are tried, where times are seconds, and where they are Univa's milliseconds. The
 * first layout whose last fields fit is taken.
 */
const CLASSIC: readonly Layout[] = [45, 46, 52, 53, 54, 55, 74, 43];
const UNIVA: readonly Layout[] = [52, 53, 54, 55, 74, 45, 46, 43];
/** A time above this is not in seconds. */
const MOST_SECONDS = 1e11;
/** The first layout with Univa's own fields from the 46th on. */
const FIRST_WITH_DELETED_BY = 52;

const integer = /^-?\d{1,20}$/;
const decimal = /^-?\d{1,20}(\.\d{1,20})?(e[+-]?\d{1,3})?$/i;

/** NONE, or a number and a host's name, which is no number itself. */
const peTask = /^(NONE|\d{1,10}\.(?=[\w.-]*[A-Za-z])[\w.-]{1,255})$/;

/** Reads the line in `bytes` from `from` to `to`, without its newline. Never throws, whatever the bytes are. */
export type AccountingReader = (bytes: Buffer, from: number, to: number) => AccountingRecord | AccountingLineProblem;

export function isProblem(read: AccountingRecord | AccountingLineProblem): read is AccountingLineProblem {
  return 'kind' in read;
}

const NO_RECORD: AccountingLineProblem = { kind: 'no-record', detail: 'comment or empty' };
const malformed = (detail: string): AccountingLineProblem => ({ kind: 'malformed', detail });

/** A decimal number as Grid Engine prints one; NaN if it is none, by the rule of `decimal`. */
function readDecimal(bytes: Buffer, from: number, to: number): number {
  const plain = plainNumber(bytes, from, to);
  return Number.isNaN(plain) ? readRare(bytes, from, to) : plain;
}

function readRare(bytes: Buffer, from: number, to: number): number {
  if (to - from > 50) return NaN;
  const text = bytes.toString('latin1', from, to);
  return decimal.test(text) ? Number(text) : NaN;
}

function text(bytes: Buffer, from: number, to: number): string {
  for (let at = from; at < to; at++) if ((bytes[at] as number) > LAST_ASCII) return bytesToText(bytes, from, to);
  return bytes.toString('latin1', from, to);
}

/** The fields of one line after another. Short strings are kept once they are made: they repeat a thousand times. */
class LineFields {
  count = 0;
  private readonly strings = byteStrings(8192, 96, text);
  /** Where each field begins; then the end of the line, plus one. */
  private starts = new Int32Array(USUAL_FIELDS + 1);
  private bytes: Buffer = Buffer.alloc(0);

  /** Turns to another line; null, or what is wrong with it. */
  turnTo(bytes: Buffer, from: number, to: number): AccountingLineProblem | null {
    let { starts } = this;
    let count = 1;
    this.count = 0;
    starts[0] = from;
    for (let at = from; at < to; at++) {
      const byte = bytes[at] as number;
      if (byte > COLON) continue;
      // Where a machine crashed, a file may have a hole of zeros.
      if (byte === 0) return malformed('a zero byte');
      if (byte !== COLON) continue;
      if (count === starts.length - 1) {
        this.starts = new Int32Array(2 * starts.length);
        this.starts.set(starts);
        ({ starts } = this);
      }
      starts[count++] = at + 1;
    }
    starts[count] = to + 1;
    this.bytes = bytes;
    this.count = count;
    return count < FEWEST_FIELDS ? malformed(`${count} fields, a record has at least ${FEWEST_FIELDS}`) : null;
  }

  /** The field's bytes as Latin-1. */
  latin1(index: number): string {
    return this.bytes.toString('latin1', this.start(index), this.end(index));
  }

  numberAt(index: number): number {
    return readDecimal(this.bytes, this.start(index), this.end(index));
  }

  isInteger(index: number): boolean {
    const length = this.end(index) - this.start(index);
    if (length === 1 && this.bytes[this.start(index)] === ZERO) return true;
    return length <= 21 && integer.test(this.latin1(index));
  }

  /** The text of one field, or of the fields up to another, with the colons between them. */
  word(index: number, last = index): string {
    const from = this.start(index);
    const to = this.end(last);
    let hash = HASH_START;
    for (let at = from; at < to; at++) hash = hashByte(hash, this.bytes[at] as number);
    return this.strings(this.bytes, from, to, hash);
  }

  wordOrNull(index: number, last = index): string | null {
    const read = this.word(index, last);
    return read === '' || read === 'NONE' ? null : read;
  }

  /** `seconds`: the field as a number. */
  timeAt(index: number, seconds: number): number | null {
    const from = this.start(index);
    const to = this.end(index);
    // Ten digits are seconds; the rarer forms are read as everywhere else.
    let digits = 0;
    while (from + digits < to && ((this.bytes[from + digits] as number) ^ ZERO) < 10) digits++;
    return digits === 10 && from + digits === to ? seconds * 1000 : epochToMs(this.latin1(index));
  }

  private start(index: number): number {
    return this.starts[index] as number;
  }

  private end(index: number): number {
    return (this.starts[index + 1] as number) - 1;
  }
}

/** The index of the first field after the category. */
const tailOf = ({ count }: LineFields, layout: Layout): number => count - (layout - BEFORE_CATEGORY - 1);

function fits(fields: LineFields, layout: Layout): boolean {
  const tail = tailOf(fields, layout);
  if (tail <= BEFORE_CATEGORY || Number.isNaN(fields.numberAt(tail)) || Number.isNaN(fields.numberAt(tail + 2)))
    return false;
  const task = fields.word(tail + 1);
  if (task !== 'NONE' && !peTask.test(task)) return false;
  if (layout === 43) return true;
  if (!fields.isInteger(tail + 3) || !fields.isInteger(tail + 4)) return false;
  return layout < FIRST_WITH_DELETED_BY || !Number.isNaN(fields.numberAt(tail + 7));
}

function layoutOf(fields: LineFields): Layout | null {
  const layouts = fields.numberAt(8) >= MOST_SECONDS ? UNIVA : CLASSIC;
  for (const candidate of layouts) if (fits(fields, candidate)) return candidate;
  return null;
}

/** The fields before the category that are numbers. */
const NUMBERS = Array.from({ length: BEFORE_CATEGORY }, (_, index) => index).filter(
  (index) => index === 5 || (index > 6 && (index < 31 || index > 33)),
);

/** Reads the numbers before the category; null, or what is wrong. */
function readNumbers(fields: LineFields, numbers: Float64Array): AccountingLineProblem | null {
  for (const index of NUMBERS) {
    const number = fields.numberAt(index);
    if (Number.isNaN(number)) return malformed(`field ${index + 1} is not a number`);
    numbers[index] = number;
  }
  return null;
}

/**
 * The problem of a line that begins as a job's, and has no known last fields: it may be cut in the category, which is
 * its owner's text. null: it does not begin so.
 */
function splitLine(fields: LineFields, numbers: Float64Array): AccountingLineProblem | null {
  if (fields.count <= BEFORE_CATEGORY || readNumbers(fields, numbers) !== null) return null;
  const request = `the request of job ${numbers[5] ?? 0} of ${fields.word(3)}`;
  return {
    kind: 'split',
    detail: `cut by a line feed in ${request} (the next lines may be forged), or of an unknown form`,
  };
}

function recordOf(fields: LineFields, numbers: Float64Array, layout: Layout): AccountingRecord {
  const number = (index: number): number => numbers[index] as number;
  const tail = tailOf(fields, layout);
  const isUnivas = layout >= FIRST_WITH_DELETED_BY;
  const jobMaxrss = isUnivas ? fields.numberAt(tail + 7) : 0;
  return {
    queue: fields.word(0),
    host: fields.word(1),
    owner: fields.word(3),
    jobName: fields.word(4),
    jobId: number(5),
    account: fields.word(6),
    submissionTimeMs: fields.timeAt(8, number(8)),
    startTimeMs: fields.timeAt(9, number(9)),
    endTimeMs: fields.timeAt(10, number(10)),
    failed: number(11),
    exitStatus: number(12),
    wallclockSeconds: number(13),
    userSeconds: number(14),
    systemSeconds: number(15),
    maxrssBytes: Math.round(number(16) * 1024),
    project: fields.wordOrNull(31),
    pe: fields.wordOrNull(33),
    slots: number(34),
    task: number(35),
    cpuSeconds: number(36),
    memGibSeconds: number(37),
    ioGib: number(38),
    category: fields.wordOrNull(BEFORE_CATEGORY, tail - 1),
    submitCommand: null,
    peTaskId: fields.wordOrNull(tail + 1),
    maxvmemBytes: Math.round(fields.numberAt(tail + 2)),
    jobMaxrssBytes: jobMaxrss > 0 ? Math.round(jobMaxrss) : null,
    deletedBy: isUnivas ? fields.wordOrNull(tail + 6) : null,
  };
}

/** A reader of all known forms of accounting lines: make one for a file, not one for a line. */
export function accountingReader(): AccountingReader {
  const fields = new LineFields();
  const numbers = new Float64Array(BEFORE_CATEGORY);
  return (bytes, from, to) => {
    if (to - from <= 1 || bytes[from] === HASH) return NO_RECORD;
    if (bytes[from] === BRACE) return jsonAccountingLine(bytesToText(bytes, from, to));
    const problem = fields.turnTo(bytes, from, to);
    if (problem !== null) return splitLine(fields, numbers) ?? problem;
    const layout = layoutOf(fields);
    if (layout === null)
      return splitLine(fields, numbers) ?? malformed(`${fields.count} fields that fit no known layout`);
    return readNumbers(fields, numbers) ?? withoutReserved(recordOf(fields, numbers, layout));
  };
}
