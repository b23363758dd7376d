import type { AccountingRecord } from '../../src/gridengine/accounting-record';
import { epochToMs } from '../../src/gridengine/epoch-time';

/** A slow, plain reader of colon-separated lines (split and regular expressions), to check the fast reader against. */

const integer = /^-?\d{1,20}$/;
const decimal = /^-?\d{1,20}(\.\d{1,20})?(e[+-]?\d{1,3})?$/i;
const peTask = /^(NONE|\d{1,10}\.(?=[\w.-]*[A-Za-z])[\w.-]{1,255})$/;
const BEFORE_CATEGORY = 39;
const CLASSIC = [45, 46, 52, 53, 54, 55, 74, 43];
const UNIVA = [52, 53, 54, 55, 74, 45, 46, 43];

const NUMBERS = [5, ...Array.from({ length: 24 }, (_, index) => index + 7), 34, 35, 36, 37, 38];

function tailStart(fields: readonly string[], layout: number): number {
  return fields.length - (layout - BEFORE_CATEGORY - 1);
}

function fits(fields: readonly string[], layout: number): boolean {
  if (fields.length < layout) return false;
  const tail = fields.slice(tailStart(fields, layout));
  const [iow = '', task = '', maxvmem = '', arId = '0', arTime = '0'] = tail;
  const maxrss = layout >= 52 ? (tail[7] ?? '') : '0';
  return (
    decimal.test(iow) &&
    peTask.test(task) &&
    decimal.test(maxvmem) &&
    integer.test(arId) &&
    integer.test(arTime) &&
    decimal.test(maxrss)
  );
}

/** `no-record`, `malformed`, `split`, or the record. `line` has one character for each byte. */
export function plainAccountingLine(line: string): AccountingRecord | 'no-record' | 'malformed' | 'split' {
  if (line.length <= 1 || line.startsWith('#')) return 'no-record';
  const fields = line.split(':');
  const isJob = fields.length > BEFORE_CATEGORY && NUMBERS.every((index) => decimal.test(fields[index] ?? ''));
  if (!isJob || line.includes('\0')) return 'malformed';
  if (fields.length < 43) return 'split';
  const layouts = Number(fields[8]) >= 1e11 ? UNIVA : CLASSIC;
  const layout = layouts.find((candidate) => fits(fields, candidate));
  if (layout === undefined) return 'split';
  const text = (index: number): string => {
    const bytes = Buffer.from(fields[index] ?? '', 'latin1');
    const utf8 = bytes.toString('utf8');
    return Buffer.from(utf8, 'utf8').equals(bytes) ? utf8 : bytes.toString('latin1');
  };
  const word = (value: string): string | null => (value === '' || value === 'NONE' ? null : value);
  const number = (index: number): number => Number(fields[index]);
  const tail = tailStart(fields, layout);
  const univa = layout >= 52;
  fields[BEFORE_CATEGORY] = fields.slice(BEFORE_CATEGORY, tail).join(':');
  return {
    queue: text(0),
    host: text(1),
    owner: text(3),
    jobName: text(4),
    jobId: number(5),
    account: text(6),
    submissionTimeMs: epochToMs(fields[8] ?? ''),
    startTimeMs: epochToMs(fields[9] ?? ''),
    endTimeMs: epochToMs(fields[10] ?? ''),
    failed: number(11),
    exitStatus: number(12),
    wallclockSeconds: number(13),
    userSeconds: number(14),
    systemSeconds: number(15),
    maxrssBytes: Math.round(number(16) * 1024),
    project: word(text(31)),
    pe: word(text(33)),
    slots: number(34),
    task: number(35),
    cpuSeconds: number(36),
    memGibSeconds: number(37),
    ioGib: number(38),
    category: word(text(BEFORE_CATEGORY)),
    peTaskId: word(text(tail + 1)),
    maxvmemBytes: Math.round(number(tail + 2)),
    jobMaxrssBytes: univa && number(tail + 7) > 0 ? Math.round(number(tail + 7)) : null,
    submitCommand: null,
    deletedBy: univa ? word(text(tail + 6)) : null,
  };
}
