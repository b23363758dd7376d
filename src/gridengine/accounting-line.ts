import { jsonAccountingLine } from './accounting-json';
import {
  STILL_RUNNING,
  type AccountingLayout,
  type AccountingLineProblem,
  type AccountingRecord,
} from './accounting-record';
import { byteStrings, HASH_START, hashByte } from './byte-strings';
import { bytesToText } from './bytes-to-text';
import { epochToMs } from './epoch-time';

export type { AccountingLayout, AccountingLineProblem, AccountingRecord };
export { STILL_RUNNING };

const COLON = 0x3a;
const HASH = 0x23;
const BRACE = 0x7b;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
const LAST_ASCII = 0x7f;

/** Fields before the category, the only one that can hold a colon (`-l h_rt=24:00:00`); nothing is escaped. */
const BEFORE_CATEGORY = 39;
const FEWEST_FIELDS = 43;
/** A category may hold any number of colons: this many fields are looked at, a line with more is no record. */
const MOST_FIELDS = 4096;

type ColonLayout = Exclude<AccountingLayout, 'json'>;

/** By the magnitude of the times: seconds, or Univa's milliseconds. The first layout whose last fields fit is taken. */
const CLASSIC: readonly ColonLayout[] = [45, 46, 52, 53, 54, 55, 74, 43];
const UNIVA: readonly ColonLayout[] = [52, 53, 54, 55, 74, 45, 46, 43];
/** Above this a time is no number of seconds. */
const MOST_SECONDS = 1e11;
/** Layouts with Univa's own fields from the 46th on. */
const FIRST_WITH_DELETED_BY = 52;

const integer = /^-?\d{1,20}$/;
const decimal = /^-?\d{1,20}(\.\d{1,20})?(e[+-]?\d{1,3})?$/i;

/** NONE, or a number and a host's name, which is no number itself. */
const peTask = /^(NONE|\d{1,10}\.(?=[\w.-]*[A-Za-z])[\w.-]{1,255})$/;

const TEN_TO: readonly number[] = Array.from({ length: 16 }, (_, power) => 10 ** power);

/** Reads the line in `bytes` from `from` to `to`, without its newline. Never throws, whatever the bytes are. */
export type AccountingReader = (bytes: Buffer, from: number, to: number) => AccountingRecord | AccountingLineProblem;

export function isProblem(read: AccountingRecord | AccountingLineProblem): read is AccountingLineProblem {
  return 'kind' in read;
}

const NO_RECORD: AccountingLineProblem = { kind: 'no-record', detail: 'comment or empty' };
const malformed = (detail: string): AccountingLineProblem => ({ kind: 'malformed', detail });

/**
 * A decimal number as Grid Engine prints one, without making a string where it fits into 15 digits; NaN if it is none,
 * by the rule of `decimal`.
 */
function readDecimal(bytes: Buffer, from: number, to: number): number {
  let at = from;
  const negative = bytes[at] === MINUS && at < to;
  if (negative) at++;
  const start = at;
  let value = 0;
  for (; at < to; at++) {
    const digit = (bytes[at] as number) - ZERO;
    if (digit < 0 || digit > 9) break;
    value = value * 10 + digit;
  }
  const whole = at - start;
  if (whole === 0 || whole > 15) return readRare(bytes, from, to);
  if (at === to) return negative ? -value : value;
  if (bytes[at] !== POINT) return readRare(bytes, from, to);
  let fraction = 0;
  const point = at++;
  for (; at < to; at++) {
    const digit = (bytes[at] as number) - ZERO;
    if (digit < 0 || digit > 9) return readRare(bytes, from, to);
    fraction = fraction * 10 + digit;
  }
  const digits = at - point - 1;
  if (digits === 0 || digits > 15) return readRare(bytes, from, to);
  if (fraction === 0) return negative ? -value : value;
  if (whole + digits > 15) return readRare(bytes, from, to);
  const scale = TEN_TO[digits] as number;
  const number = (value * scale + fraction) / scale;
  return negative ? -number : number;
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

/**
 * A reader of all known forms of accounting lines. It keeps the short strings that it has made, since they repeat a
 * thousand times in a file: make one for a file, not one for a line.
 */
export function accountingReader(): AccountingReader {
  const strings = byteStrings(8192, 96, text);
  /** Where each field of the present line begins; one more where the line ends, plus one. */
  const starts = new Int32Array(MOST_FIELDS + 1);
  const numbers = new Float64Array(BEFORE_CATEGORY);
  let bytes: Buffer = Buffer.alloc(0);
  let count = 0;

  // No functions inside the reader below: it would make them anew for each line.
  function start(index: number): number {
    return starts[index] as number;
  }
  function end(index: number): number {
    return (starts[index + 1] as number) - 1;
  }
  function numberAt(index: number): number {
    return readDecimal(bytes, start(index), end(index));
  }
  function isInteger(index: number): boolean {
    const from = start(index);
    const length = end(index) - from;
    if (length === 1) return bytes[from] === ZERO || integer.test(bytes.toString('latin1', from, from + 1));
    return length <= 21 && integer.test(bytes.toString('latin1', from, from + length));
  }
  function wordIn(from: number, to: number): string {
    let hash = HASH_START;
    for (let at = from; at < to; at++) hash = hashByte(hash, bytes[at] as number);
    return strings(bytes, from, to, hash);
  }
  function word(index: number): string {
    return wordIn(start(index), end(index));
  }
  function wordOrNull(index: number): string | null {
    const read = word(index);
    return read === '' || read === 'NONE' ? null : read;
  }
  function timeAt(index: number): number | null {
    const from = start(index);
    const to = end(index);
    // Ten digits are seconds; the rarer forms are read as everywhere else.
    let digits = 0;
    while (from + digits < to && ((bytes[from + digits] as number) ^ ZERO) < 10) digits++;
    if (digits === 10 && from + digits === to) return (numbers[index] as number) * 1000;
    return epochToMs(bytes.toString('latin1', from, to));
  }
  function isPeTask(index: number): boolean {
    const task = word(index);
    return task === 'NONE' || peTask.test(task);
  }
  function fits(layout: ColonLayout): boolean {
    const tail = count - (layout - BEFORE_CATEGORY - 1);
    if (tail <= BEFORE_CATEGORY || Number.isNaN(numberAt(tail)) || Number.isNaN(numberAt(tail + 2))) return false;
    if (!isPeTask(tail + 1)) return false;
    if (layout === 43) return true;
    if (!isInteger(tail + 3) || !isInteger(tail + 4)) return false;
    return layout < FIRST_WITH_DELETED_BY || !Number.isNaN(numberAt(tail + 7));
  }
  function findLayout(): ColonLayout | null {
    const layouts = numberAt(8) >= MOST_SECONDS ? UNIVA : CLASSIC;
    for (const candidate of layouts) if (fits(candidate)) return candidate;
    return null;
  }

  return (given, from, to) => {
    if (to - from <= 1 || given[from] === HASH) return NO_RECORD;
    if (given[from] === BRACE) return jsonAccountingLine(bytesToText(given, from, to));
    bytes = given;
    count = 1;
    starts[0] = from;
    for (let at = from; at < to; at++) {
      const byte = given[at] as number;
      if (byte > COLON) continue;
      // Where a machine crashed, a file may have a hole of zeros.
      if (byte === 0) return malformed('a zero byte');
      if (byte !== COLON) continue;
      if (count === MOST_FIELDS) return malformed(`more than ${MOST_FIELDS} fields`);
      starts[count++] = at + 1;
    }
    if (count < FEWEST_FIELDS) return malformed(`${count} fields, a record has at least ${FEWEST_FIELDS}`);
    starts[count] = to + 1;
    const layout = findLayout();
    if (layout === null) return malformed(`${count} fields that fit no known layout`);
    for (let index = 5; index < BEFORE_CATEGORY; index++) {
      if (index === 6 || (index >= 31 && index <= 33)) continue;
      const number = numberAt(index);
      if (Number.isNaN(number)) return malformed(`field ${index + 1} is not a number`);
      numbers[index] = number;
    }
    const tail = count - (layout - BEFORE_CATEGORY - 1);
    const priority = numbers[7] as number;
    const arId = layout === 43 ? 0 : numberAt(tail + 3);
    const isUnivas = layout >= FIRST_WITH_DELETED_BY;
    const jobMaxrss = isUnivas ? numberAt(tail + 7) : 0;
    const category = wordIn(start(BEFORE_CATEGORY), end(tail - 1));
    return {
      queue: word(0),
      host: word(1),
      group: word(2),
      owner: word(3),
      jobName: word(4),
      jobId: numbers[5] as number,
      account: word(6),
      priority: Number.isSafeInteger(priority) ? priority : signed64(given.toString('latin1', start(7), end(7))),
      submissionTimeMs: timeAt(8),
      startTimeMs: timeAt(9),
      endTimeMs: timeAt(10),
      failed: numbers[11] as number,
      exitStatus: numbers[12] as number,
      wallclockSeconds: numbers[13] as number,
      userSeconds: numbers[14] as number,
      systemSeconds: numbers[15] as number,
      maxrssBytes: Math.round((numbers[16] as number) * 1024),
      minorFaults: numbers[21] as number,
      majorFaults: numbers[22] as number,
      blocksIn: numbers[24] as number,
      blocksOut: numbers[25] as number,
      voluntarySwitches: numbers[29] as number,
      involuntarySwitches: numbers[30] as number,
      project: wordOrNull(31),
      department: wordOrNull(32),
      pe: wordOrNull(33),
      slots: numbers[34] as number,
      task: numbers[35] as number,
      cpuSeconds: numbers[36] as number,
      memGibSeconds: numbers[37] as number,
      ioGib: numbers[38] as number,
      category: category === '' || category === 'NONE' ? null : category,
      submitCommand: null,
      iowSeconds: numberAt(tail),
      peTaskId: wordOrNull(tail + 1),
      maxvmemBytes: Math.round(numberAt(tail + 2)),
      arId: arId === 0 ? null : arId,
      jobMaxrssBytes: jobMaxrss > 0 ? Math.round(jobMaxrss) : null,
      deletedBy: isUnivas ? wordOrNull(tail + 6) : null,
      layout,
    };
  };
}

function signed64(digits: string): number {
  return integer.test(digits) ? Number(BigInt.asIntN(64, BigInt(digits))) : Number(digits);
}
