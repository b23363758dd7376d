import { clipText } from '../../record/clip';
import { killedByMemory } from '../../record/cause';
import { COVERAGE_REASONS, coverageReason, NOT_SEEN } from '../../record/coverage';
import { requestedBytes } from '../../record/facts';
import { PERS } from '../../gridengine/memory-request';
import { STATUSES, TRUSTS } from '../../record/fields';
import { sameHost, startsOfLine } from '../../record/join';
import { NO_PROJECT } from '../../record/membership';
import { asStored } from '../../record/merge';
import type { JobRecord } from '../../record/record';
import { requestOf } from '../../record/request';
import type { RequestRules } from '../../record/request-rules';
import type { Cell, Dictionary, WordCodec } from '../cell-codec';
import { toRow, type Row } from '../row';
import { Categories, LONGEST_USUAL } from './categories';
import type { Joinable } from './joinable';
import type { PlacedLine } from './line-place';
import {
  lineAccount,
  lineCpu,
  lineHost,
  lineHostSlots,
  lineQueue,
  lineRevision,
  lineRunId,
  lineWallclock,
  recordOfLine,
} from './line-record';
import { NO_REQUESTS } from './line-requests';
import { TEXT_COLUMNS, type PackedLines, type TableLine } from './line-table';

/** Columns of Grid Engine's own account that a line fills; `ge_lines` is always 1. */
const ACCOUNT_COLUMNS = [
  'ge_wallclock_ms',
  'ge_cpu_ms',
  'ge_user_ms',
  'ge_system_ms',
  'ge_maxvmem_bytes',
  'ge_maxrss_bytes',
  'ge_mem_gib_seconds',
  'ge_io_gib',
  'ge_category_id',
  'ge_submit_command_id',
  'ge_deleted_by_id',
] as const;

/** The columns that vary in the row of a usual line: the line of a job that started. */
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
  'signal',
  'failed',
  'coverage',
  'killed_by_memory',
  'revision',
  'h_vmem_request_bytes',
  'h_vmem_limit_bytes',
  'h_vmem_per',
  'request_set_id',
  'request_order_id',
  'request_complex_id',
  'limit_bytes',
  'requested_bytes',
  'wallclock_ms',
  'cpu_ms',
  'notes_id',
  'in_project',
  ...ACCOUNT_COLUMNS,
] as const;
/** The other columns with a value, which is the same in all usual lines. */
export const USUAL_VALUES = {
  status: STATUSES.indexOf('unsampled'),
  trust: TRUSTS.indexOf('accounting'),
  ended: 1,
  ge_lines: 1,
} as const;

/** Provenance of a record of ours that a line of a good end has joined: the fields that come from the line. */
const JOINED = JSON.stringify([{ trust: 'accounting', ended: true, slots: ['failed', 'grid_engine'] }]);

/** What changes in our record when a line of a good end joins it: the same in all, then cells of `LineRows.joined`. */
export const JOINED_SAME = 'failed = 0, ge_lines = 1';
export const JOINED_COLUMNS = [...ACCOUNT_COLUMNS, 'provenance_id', 'provenance_revisions'] as const;

/** `signal`, `failed`, `coverage` and `killed_by_memory` of a job that ended by itself, and of any other. */
const GOOD_END: readonly Cell[] = [0, 0, COVERAGE_REASONS.indexOf('no-hooks'), 0];
const endCells = (record: JobRecord): readonly Cell[] => [
  record.signal,
  record.failed,
  COVERAGE_REASONS.indexOf(coverageReason(record)),
  Number(killedByMemory(record)),
];

const USUAL_NOTES = JSON.stringify([NOT_SEEN]);

const asMs = (seconds: number): number => Math.round(seconds * 1000);

const same = (text: string): string => text;
const unlessEmpty = (text: string): string | null => (text === '' ? null : clipText(text));

/** A text of a line: its column in the table, its dictionary, and what a record has of it; null: nothing. */
interface TextOfLine {
  readonly column: number;
  readonly dictionary: Dictionary;
  readonly textOf: (text: string) => string | null;
}

const textOfLine = (
  name: (typeof TEXT_COLUMNS)[number],
  dictionary: Dictionary,
  textOf: TextOfLine['textOf'],
): TextOfLine => ({ column: TEXT_COLUMNS.indexOf(name), dictionary, textOf });

const HOST = textOfLine('host', 'host', (host) => lineHost({ host }));
const OWNER = textOfLine('owner', 'owner', unlessEmpty);
const JOB_NAME = textOfLine('jobName', 'job_name', unlessEmpty);
const ACCOUNT = textOfLine('account', 'account', unlessEmpty);
const QUEUE = textOfLine('queue', 'queue', (queue) => lineQueue({ queue }));
const PROJECT = textOfLine('project', 'project', same);
const PE = textOfLine('pe', 'pe', same);
const CATEGORY = textOfLine('category', 'category', unlessEmpty);
const SUBMIT_COMMAND = textOfLine('submitCommand', 'submit_command', unlessEmpty);
const DELETED_BY = textOfLine('deletedBy', 'owner', unlessEmpty);

/** In `LineRows.ids`: a record has nothing of the text. */
const NOTHING = -(2 ** 31);

/**
 * The rows of accounting lines, as `toRow` makes them from `recordOfLine`. For jobs that started this costs a fraction:
 * no row is made of a whole record, and what repeats is kept. It lasts as long as the numbers of `words`.
 */
export class LineRows {
  private readonly categories: Categories;
  private readonly clusterId: number;
  private readonly notesId: number;
  private table: PackedLines | null = null;
  /** The numbers of the table's words, by column of texts and word; 0: not yet looked up. */
  private ids = new Int32Array(0);

  constructor(
    private readonly words: WordCodec,
    private readonly cluster: string,
    private readonly rules: RequestRules,
  ) {
    this.categories = new Categories(rules);
    this.clusterId = words.intern('cluster', cluster);
    this.notesId = words.intern('notes', USUAL_NOTES);
  }

  /** The record of a line. */
  record(line: PlacedLine): JobRecord {
    const { requests } = this.categories.asked(line, this.categories.of(line));
    return recordOfLine(line, { cluster: this.cluster, rules: this.rules, requests });
  }

  /** The row of any line. */
  any(line: PlacedLine): Row {
    return toRow(asStored(this.record(line)), this.words);
  }

  /**
   * Appends the row of a line that has no record yet, in the order of USUAL_COLUMNS; false: it is no usual line.
   */
  push(values: Cell[], line: TableLine): boolean {
    const { startTimeMs, exitStatus, project } = line;
    const cpu = lineCpu(line);
    if (startTimeMs === null || line.jobName.length > LONGEST_USUAL || (line.category?.length ?? 0) > LONGEST_USUAL)
      return false;
    values.push(
      line.jobId,
      line.task === 0 ? null : line.task,
      line.peTaskId,
      this.clusterId,
      this.idOf(line, HOST),
      lineRunId(line),
      this.idOf(line, OWNER),
      this.idOf(line, JOB_NAME),
      this.idOf(line, QUEUE),
      this.idOf(line, PROJECT),
      this.idOf(line, PE),
      this.idOf(line, ACCOUNT),
      line.slots > 0 ? line.slots : null,
      lineHostSlots(line),
      line.submissionTimeMs,
      startTimeMs,
      line.endTimeMs,
      exitStatus,
      ...(line.failed === 0 && exitStatus === 0 ? GOOD_END : endCells(this.record(line))),
      lineRevision(line),
      ...this.requestCells(line),
      asMs(lineWallclock(line)),
      cpu === null ? null : asMs(cpu),
      this.notesId,
      Number(line.owner !== '' && project !== null && !NO_PROJECT.includes(project)),
    );
    this.pushAccount(values, line);
    return true;
  }

  /**
   * What a line of a good end writes (JOINED_COLUMNS) into `ours`, the only record with its cluster, job, task and pe
   * task. null: the record may be another run's, or the line adds more than how the job ended and its account.
   */
  joined(line: TableLine, ours: Joinable): readonly Cell[] | null {
    const [, isPlain, startedAt, host, owner, asked, hasProject, hasPe, hasLimit, hasOrder] = ours;
    const { startTimeMs, failed, exitStatus } = line;
    if (isPlain === 0 || startedAt === null || startTimeMs === null || failed !== 0 || exitStatus !== 0) return null;
    const { from, to } = startsOfLine(startTimeMs, line.endTimeMs);
    if (startedAt < from || startedAt > to || owner !== line.owner || !sameHost(host, lineHost(line))) return null;
    if ((hasProject === 0 && line.project !== null) || (hasPe === 0 && line.pe !== null)) return null;
    const category = this.categories.of(line);
    if (category === null) return null;
    const { h_vmem: limit, requests } = this.categories.asked(line, category).requests;
    if (hasLimit === 0 && limit !== null) return null;
    if (hasOrder === 0 && this.rules.orderText(lineQueue(line)) !== null) return null;
    if (requests !== NO_REQUESTS.requests) {
      const known = asked === null ? null : this.categories.complexesOf(asked);
      for (const complex in requests) if (known?.has(complex) !== true) return null;
    }
    const values: Cell[] = [];
    this.pushAccount(values, line);
    values.push(this.words.intern('provenance', JOINED), lineRevision(line));
    return values;
  }

  /** From `h_vmem_request_bytes` to `requested_bytes`. */
  private requestCells(line: TableLine): readonly Cell[] {
    const { requests: asked, beside, cells } = this.categories.asked(line, this.categories.of(line));
    const order = this.rules.orderText(lineQueue(line));
    const known = cells.get(order);
    if (known !== undefined) return known;
    const { h_vmem: limit } = asked;
    const requests = { ...asked, request_order: order };
    const request = requestOf(requests);
    const slots = { host_slots: lineHostSlots(line), slots: line.slots > 0 ? line.slots : null };
    const key = { ...slots, trust: 'accounting', pe_task_id: line.peTaskId } as const;
    const intern = (dictionary: Dictionary, text: string | null | undefined): number | null =>
      text == null ? null : this.words.intern(dictionary, text);
    const made = [
      limit?.request_bytes ?? null,
      limit?.limit_bytes ?? null,
      limit === null ? null : PERS.indexOf(limit.per),
      intern('request_set', beside),
      intern('complex', order),
      intern('complex', request?.complex),
      request?.limit_bytes ?? null,
      requestedBytes({ ...requests, ...key, grid_engine: line.peTaskId === null ? null : lineAccount(line) }),
    ];
    cells.set(order, made);
    return made;
  }

  private pushAccount(values: Cell[], line: TableLine): void {
    const account = lineAccount(line);
    values.push(
      asMs(account.wallclock_seconds),
      asMs(account.cpu_seconds),
      account.user_seconds === null ? null : asMs(account.user_seconds),
      account.system_seconds === null ? null : asMs(account.system_seconds),
      account.maxvmem_bytes,
      account.maxrss_bytes,
      account.mem_gib_seconds,
      account.io_gib,
      this.idOf(line, CATEGORY),
      this.idOf(line, SUBMIT_COMMAND),
      this.idOf(line, DELETED_BY),
    );
  }

  /** The number of a text in its dictionary; null: a record has nothing of it. */
  private idOf(line: TableLine, { column, dictionary, textOf }: TextOfLine): number | null {
    const word = line.word(column);
    if (word === 0) return null;
    const { words } = line.table;
    if (line.table !== this.table) this.turnTo(line.table);
    const at = column * words.length + word;
    let id = this.ids[at] ?? 0;
    if (id === 0) {
      const text = textOf(words[word] ?? '');
      this.ids[at] = id = text === null ? NOTHING : this.words.intern(dictionary, text);
    }
    return id === NOTHING ? null : id;
  }

  private turnTo(table: PackedLines): void {
    this.table = table;
    const size = TEXT_COLUMNS.length * table.words.length;
    if (this.ids.length < size) this.ids = new Int32Array(size);
    else this.ids.fill(0, 0, size);
  }
}
