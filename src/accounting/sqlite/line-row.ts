import type { AccountingRecord } from '../../gridengine/accounting-line';
import { STATUSES, TRUSTS } from '../../sampler/parse-record';
import { COVERAGE_REASONS, LINE_RUN } from '../coverage';
import {
  lineAccount,
  lineCpu,
  lineCpuEfficiency,
  lineHost,
  lineHostSlots,
  lineNote,
  lineQueue,
  lineRevision,
  lineWallclock,
  recordOfLine,
  requestsOfLine,
  startSecond,
} from '../import/line-record';
import { NO_REQUESTS, type LineRequests, type RequestRules } from '../import/line-requests';
import type { JobRecord, MemoryRequest } from '../../sampler/record';
import { asStored } from '../merge';
import { createByteWriter } from './byte-codec';
import { ACCOUNT, DETAIL_FORM, FLAG, slotNumber, wholeMs, writeRequest } from './detail';
import type { Words } from './dictionary';
import { splitNote } from './note-codec';
import { ROW_COLUMNS, toRow, type RecordRow } from './row';
import { packRunId } from './run-id-codec';
import { skimDetail } from './skim-detail';

const UNSAMPLED = STATUSES.indexOf('unsampled');
const ACCOUNTING = TRUSTS.indexOf('accounting');
/** Of a job that ended by itself, without a sample. */
const NOT_SEEN = 4 * COVERAGE_REASONS.indexOf('no-hooks') + 2;

/** What a line of a good end alone knows of a job, as provenance numbers it. */
const JOINED_SLOTS = [slotNumber('failed'), slotNumber('grid_engine')];

/** Columns of the row of a usual line: of a job that ended by itself. */
export const USUAL_COLUMNS = [
  'job_id',
  'task_id',
  'pe_task_id',
  'cluster_id',
  'host_id',
  'run_id',
  'owner_id',
  'job_name_id',
  'queue_id',
  'project_id',
  'pe_id',
  'account_id',
  'slots',
  'host_slots',
  'submitted_at',
  'started_at',
  'ended_at',
  'exit_status',
  'revision',
  'h_vmem_limit',
  'wallclock_ms',
  'cpu_ms',
  'detail',
] as const satisfies readonly (keyof RecordRow)[];
/** The others that have a value, the same in all. */
export const USUAL_VALUES = {
  signal: 0,
  failed: 0,
  status: UNSAMPLED,
  trust: ACCOUNTING,
  judged: NOT_SEEN,
} as const satisfies Partial<RecordRow>;

const CACHED = 20_000;
/** Longer texts are cut in the record. */
const LONGEST_USUAL = 1000;

const NONE: readonly (readonly [string, MemoryRequest])[] = [];

/** What a category says, which many lines share. */
interface Category {
  readonly id: number;
  readonly bySlots: Map<number, LineRequests>;
}

/** What a record of ours says beside its detail. */
export interface Joinable {
  readonly revision: number;
  readonly wallclockMs: number;
  readonly cpuMs: number;
  readonly detail: Buffer;
}

export interface LineRows {
  /**
   * Appends the values of the row of a line that no record is there for, in the order of USUAL_COLUMNS; false: it is no
   * usual line.
   */
  readonly push: (values: unknown[], line: AccountingRecord) => boolean;
  /** The values of any line's row, in the order of ROW_COLUMNS. */
  readonly any: (line: AccountingRecord, earlier: number) => readonly unknown[];
  /**
   * The detail of a record of ours that has met no line yet (`JOINABLE`), joined with that of a line of a good end; null:
   * the line tells more of the record than how it ended and its account.
   */
  readonly joined: (line: AccountingRecord, ours: Joinable) => Buffer | null;
  /** The run id of a line of that start, as it is stored. */
  readonly run: (startMs: number) => Buffer | string;
  /** The record of a line. */
  readonly record: (line: AccountingRecord) => JobRecord;
  /** After a rollback: numbers given since are gone. */
  readonly forget: () => void;
}

/**
 * The rows of accounting lines, as `toRow` makes them of `recordOfLine`, at a fifth of its cost for the jobs that ended
 * by themselves: without the record between, and with what repeats kept.
 */
export function lineRows(words: Words, cluster: string, rules: RequestRules): LineRows {
  const writer = createByteWriter();
  let categories = new Map<string, Category>();
  let notes = new Map<string, { readonly id: number; readonly numbers: readonly number[] }>();
  let clusterId: number | null = null;

  const [host, owner, jobName, account] = [
    words.interner('host'),
    words.interner('owner'),
    words.interner('job_name'),
    words.interner('account'),
  ];
  const [queue, project, pe] = [words.interner('queue'), words.interner('project'), words.interner('pe')];
  const orNull = (intern: (text: string) => number, text: string | null): number | null =>
    text === null ? null : intern(text);
  const nonEmpty = (intern: (text: string) => number, text: string): number | null =>
    text === '' ? null : intern(text);

  function categoryOf(text: string): Category {
    const known = categories.get(text);
    if (known !== undefined) return known;
    if (categories.size >= CACHED) categories = new Map();
    const made = { id: words.intern('category', text), bySlots: new Map<number, LineRequests>() };
    categories.set(text, made);
    return made;
  }
  function requestsOf(line: AccountingRecord, category: Category | null): LineRequests {
    // A task's line has none, whatever its slots.
    const key = line.peTaskId === null ? line.slots : -1;
    const known = category?.bySlots.get(key);
    if (known !== undefined) return known;
    const made = requestsOfLine(line, rules);
    category?.bySlots.set(key, made);
    return made;
  }
  function noteOf(text: string): { readonly id: number; readonly numbers: readonly number[] } {
    const known = notes.get(text);
    if (known !== undefined) return known;
    if (notes.size >= CACHED) notes = new Map();
    const { template, numbers } = splitNote(text);
    const made = { id: words.intern('note', template), numbers };
    notes.set(text, made);
    return made;
  }

  /** As `packRunId` packs it. */
  function packedRun(startMs: number): Buffer | string {
    const second = startSecond(startMs);
    if (second < 0 || second >= 1e10) return packRunId(`${LINE_RUN}${second}`);
    writer.unsigned(second);
    return writer.finish();
  }

  /** As `writeDetail` writes it into a record of that wall clock and CPU time. */
  function writeLineAccount(line: AccountingRecord, category: Category | null, wallclock: number, cpu: number): void {
    const account = lineAccount(line);
    const code =
      Number(account.wallclock_seconds === wallclock) * ACCOUNT.wallclock +
      Number(account.cpu_seconds === cpu) * ACCOUNT.cpu +
      ACCOUNT.oneLine +
      Number(category !== null) * ACCOUNT.category +
      Number(account.deleted_by !== null) * ACCOUNT.deletedBy;
    writer.unsigned(code);
    if (!(code & ACCOUNT.wallclock)) writer.number(account.wallclock_seconds);
    if (!(code & ACCOUNT.cpu)) writer.number(account.cpu_seconds);
    if (category !== null) writer.unsigned(category.id);
    if (account.deleted_by !== null) writer.unsigned(words.intern('owner', account.deleted_by));
    // ACCOUNT_AMOUNTS, by name: to look each up costs more than to write it.
    writer.number(account.user_seconds);
    writer.number(account.system_seconds);
    writer.number(account.maxvmem_bytes);
    writer.number(account.maxrss_bytes);
    writer.number(account.mem_gib_seconds);
    writer.number(account.io_gib);
  }

  function detail(
    line: AccountingRecord,
    category: Category | null,
    { h_vmem, requests }: LineRequests,
    hostSlots: number | null,
    wallclock: number,
    cpu: number,
  ): Buffer {
    const efficiency = lineCpuEfficiency(line);
    const derived = hostSlots === null ? null : cpu / (wallclock * hostSlots);
    const exactWallclock = wholeMs(wallclock) === null;
    const exactCpu = wholeMs(cpu) === null;
    const others = requests === NO_REQUESTS.requests ? NONE : Object.entries(requests);
    writer.unsigned(DETAIL_FORM);
    writer.unsigned(
      Number(efficiency === derived) * FLAG.derivedCpuEfficiency +
        FLAG.derivedMemoryEfficiency +
        Number(h_vmem !== null) * FLAG.hVmem +
        Number(others.length > 0) * FLAG.requests +
        FLAG.notes +
        Number(exactWallclock) * FLAG.exactWallclock +
        Number(exactCpu) * FLAG.exactCpu +
        FLAG.gridEngine,
    );
    if (exactWallclock) writer.number(wallclock);
    if (exactCpu) writer.number(cpu);
    if (efficiency !== derived) writer.number(efficiency);
    if (h_vmem !== null) writeRequest(writer, h_vmem, hostSlots);
    if (others.length > 0) {
      writer.unsigned(others.length);
      for (const [complex, request] of others) {
        writer.unsigned(words.intern('complex', complex));
        writer.number(request.limit_bytes);
        writeRequest(writer, request, hostSlots);
      }
    }
    // Neither peaks nor counters.
    writer.unsigned(0);
    writer.unsigned(0);
    writeLineAccount(line, category, wallclock, cpu);
    writer.unsigned(1);
    const note = noteOf(lineNote(line));
    writer.unsigned(note.id);
    writer.unsigned(note.numbers.length);
    for (const number of note.numbers) writer.unsigned(number);
    return writer.finish();
  }

  return {
    joined(line, { revision, wallclockMs, cpuMs, detail: blob }) {
      if ((line.category?.length ?? 0) > LONGEST_USUAL) return null;
      const skimmed = skimDetail(blob);
      if (skimmed === null) return null;
      const { flags, complexes, exactWallclock, exactCpu } = skimmed;
      if (flags & (FLAG.gridEngine | FLAG.provenance | FLAG.otherEnd)) return null;
      const category = line.category === null ? null : categoryOf(line.category);
      const asked = requestsOf(line, category);
      if (asked.h_vmem !== null && !(flags & FLAG.hVmem)) return null;
      if (asked.requests !== NO_REQUESTS.requests)
        for (const complex in asked.requests)
          if (!complexes.includes(words.find('complex', complex) ?? NaN)) return null;
      if (!skimmed.hasEfficiency && lineCpuEfficiency(line) !== null) return null;
      writer.unsigned(DETAIL_FORM);
      writer.unsigned(flags | FLAG.gridEngine | FLAG.provenance);
      writer.bytes(blob.subarray(skimmed.body, skimmed.account));
      writeLineAccount(line, category, exactWallclock ?? wallclockMs / 1000, exactCpu ?? cpuMs / 1000);
      writer.bytes(blob.subarray(skimmed.account));
      // All of one stamp, as `writeProvenance` writes it.
      writer.unsigned(1);
      writer.unsigned(ACCOUNTING * 2 + 1);
      writer.signed(lineRevision(line) - revision);
      writer.unsigned(JOINED_SLOTS.length);
      for (const slot of JOINED_SLOTS) writer.unsigned(slot);
      return writer.finish();
    },
    run: packedRun,
    record(line) {
      const category = line.category === null ? null : categoryOf(line.category);
      return recordOfLine(line, { cluster, rules, requests: requestsOf(line, category) });
    },
    any(line, earlier) {
      const category = line.category === null ? null : categoryOf(line.category);
      const requests = requestsOf(line, category);
      const row = toRow(asStored(recordOfLine(line, { cluster, earlier, rules, requests })), words);
      return ROW_COLUMNS.map((column) => row[column]);
    },
    push(values, line) {
      const { startTimeMs } = line;
      const usual = startTimeMs !== null && line.failed === 0 && line.exitStatus >= 0 && line.exitStatus <= 128;
      if (!usual || line.jobName.length > LONGEST_USUAL || (line.category?.length ?? 0) > LONGEST_USUAL) return false;
      clusterId ??= words.intern('cluster', cluster);
      const category = line.category === null ? null : categoryOf(line.category);
      const asked = requestsOf(line, category);
      const hostSlots = lineHostSlots(line);
      const wallclock = lineWallclock(line);
      const cpu = lineCpu(line);
      values.push(
        line.jobId,
        line.task === 0 ? null : line.task,
        line.peTaskId,
        clusterId,
        host(lineHost(line)),
        packedRun(startTimeMs),
        nonEmpty(owner, line.owner),
        nonEmpty(jobName, line.jobName),
        orNull(queue, lineQueue(line)),
        orNull(project, line.project),
        orNull(pe, line.pe),
        nonEmpty(account, line.account),
        line.slots > 0 ? line.slots : null,
        hostSlots,
        line.submissionTimeMs,
        startTimeMs,
        line.endTimeMs,
        line.exitStatus,
        lineRevision(line),
        asked.h_vmem === null ? null : asked.h_vmem.limit_bytes,
        wholeMs(wallclock) ?? wallclock * 1000,
        wholeMs(cpu) ?? cpu * 1000,
        detail(line, category, asked, hostSlots, wallclock, cpu),
      );
      return true;
    },
    forget() {
      categories = new Map();
      notes = new Map();
      clusterId = null;
    },
  };
}
