import { epochToMs } from './epoch-time';
import { failure, success, type Result } from './result';

/** One line of the accounting file, accounting(5), in fixed units: bytes, milliseconds since the epoch, seconds. */
export interface AccountingRecord {
  /** Not to be relied on: a job with an argument of which a line is `queue=5` has queue `5` here (seen on 8.1.9). */
  readonly queue: string;
  readonly host: string;
  readonly group: string;
  readonly owner: string;
  readonly jobName: string;
  readonly jobId: number;
  readonly account: string;
  /** Nice value; negative ones are written as unsigned 64-bit numbers and restored here. */
  readonly priority: number;
  readonly submissionTimeMs: number | null;
  /** Null if the job never started. */
  readonly startTimeMs: number | null;
  readonly endTimeMs: number | null;
  readonly failed: number;
  readonly exitStatus: number;
  readonly wallclockSeconds: number;
  readonly userSeconds: number;
  readonly systemSeconds: number;
  /** The largest single process; summed over the tasks where the PE has accounting_summary. */
  readonly maxrssBytes: number;
  readonly minorFaults: number;
  readonly majorFaults: number;
  readonly blocksIn: number;
  readonly blocksOut: number;
  readonly voluntarySwitches: number;
  readonly involuntarySwitches: number;
  readonly project: string | null;
  readonly department: string | null;
  readonly pe: string | null;
  /** Slots of the whole job. */
  readonly slots: number;
  /** 0 for a job that is no array. */
  readonly task: number;
  readonly cpuSeconds: number;
  /** The integral of memory over CPU time, GiB seconds. */
  readonly memGibSeconds: number;
  readonly ioGib: number;
  /** The request as command line options; the user chooses it. */
  readonly category: string | null;
  readonly iowSeconds: number;
  /** `SEQ.HOST` of a `qrsh -inherit` task. */
  readonly peTaskId: string | null;
  readonly maxvmemBytes: number;
  readonly arId: number | null;
  /** Fields of the layout that fits: 43 6.0, 45 6.2 and 8.1.9, 46 and more Univa. */
  readonly layout: AccountingLayout;
}

export type AccountingLayout = 43 | 45 | 46 | 52 | 53 | 54;

export interface AccountingLineProblem {
  /** `no-record`: a comment or an empty line, as qacct skips them. */
  readonly kind: 'no-record' | 'malformed';
  readonly detail: string;
}

const layouts: readonly AccountingLayout[] = [45, 46, 52, 53, 54, 43];

/** Fields before the category, the only one that can hold a colon (`-l h_rt=24:00:00`); nothing is escaped. */
const fieldsBeforeCategory = 39;

const integer = /^-?\d{1,20}$/;
const decimal = /^-?\d{1,20}(\.\d{1,20})?(e[+-]?\d{1,3})?$/i;

/** NONE, or a number and a host's name, which is no number itself. */
const peTask = /^(NONE|\d{1,10}\.(?=[\w.-]*[A-Za-z])[\w.-]{1,255})$/;

/**
 * Reads one line without its newline. Colons in the category are found by counting from both ends; where the number of
 * fields fits several layouts, the first whose last fields look like what they should be is taken, 6.2's first.
 */
export function parseAccountingLine(line: string): Result<AccountingRecord, AccountingLineProblem> {
  if (line.length <= 1 || line.startsWith('#')) return failure({ kind: 'no-record', detail: 'comment or empty' });
  const fields = line.split(':');
  const malformed = (detail: string): Result<never, AccountingLineProblem> => failure({ kind: 'malformed', detail });
  if (fields.length < 43) return malformed(`${fields.length} fields, a record has at least 43`);
  const layout = layouts.find((candidate) => fitsLayout(fields, candidate));
  if (layout === undefined) return malformed(`${fields.length} fields that fit no known layout`);
  const badNumber = numericFields.find((index) => !decimal.test(fields[index] ?? ''));
  if (badNumber !== undefined) return malformed(`field ${badNumber + 1} is not a number`);
  return success(toRecord(fields, layout));
}

/** Zero-based positions before the category that must be numbers: job_number, priority to ru_nivcsw, slots to io. */
const numericFields: readonly number[] = [
  5,
  ...Array.from({ length: 24 }, (_, index) => index + 7),
  34,
  35,
  36,
  37,
  38,
];

function fitsLayout(fields: readonly string[], layout: AccountingLayout): boolean {
  const tail = fields.slice(tailStart(fields, layout));
  if (fields.length < layout) return false;
  const [iow = '', peTaskId = '', maxvmem = '', arId = '0', arTime = '0'] = tail;
  return (
    decimal.test(iow) && peTask.test(peTaskId) && decimal.test(maxvmem) && integer.test(arId) && integer.test(arTime)
  );
}

/** Position of the first field after the category, counted from the right. */
function tailStart(fields: readonly string[], layout: AccountingLayout): number {
  return fields.length - (layout - fieldsBeforeCategory - 1);
}

function toRecord(fields: readonly string[], layout: AccountingLayout): AccountingRecord {
  const text = (index: number): string => fields[index] ?? '';
  const word = (index: number): string | null => wordOrNull(text(index));
  const number = (index: number): number => Number(text(index));
  const tail = tailStart(fields, layout);
  const arId = layout === 43 ? 0 : number(tail + 3);
  return {
    queue: text(0),
    host: text(1),
    group: text(2),
    owner: text(3),
    jobName: text(4),
    jobId: number(5),
    account: text(6),
    priority: signed64(text(7)),
    submissionTimeMs: epochToMs(text(8)),
    startTimeMs: epochToMs(text(9)),
    endTimeMs: epochToMs(text(10)),
    failed: number(11),
    exitStatus: number(12),
    wallclockSeconds: number(13),
    userSeconds: number(14),
    systemSeconds: number(15),
    maxrssBytes: Math.round(number(16) * 1024),
    minorFaults: number(21),
    majorFaults: number(22),
    blocksIn: number(24),
    blocksOut: number(25),
    voluntarySwitches: number(29),
    involuntarySwitches: number(30),
    project: word(31),
    department: word(32),
    pe: word(33),
    slots: number(34),
    task: number(35),
    cpuSeconds: number(36),
    memGibSeconds: number(37),
    ioGib: number(38),
    category: wordOrNull(fields.slice(fieldsBeforeCategory, tail).join(':')),
    iowSeconds: number(tail),
    peTaskId: word(tail + 1),
    maxvmemBytes: Math.round(number(tail + 2)),
    arId: arId === 0 ? null : arId,
    layout,
  };
}

function wordOrNull(text: string): string | null {
  return text === '' || text === 'NONE' ? null : text;
}

function signed64(text: string): number {
  return integer.test(text) ? Number(BigInt.asIntN(64, BigInt(text))) : Number(text);
}
