import type { AccountingRecord } from '../../../gridengine/accounting-line';
import { STATUSES, TRUSTS } from '../../../record/fields';
import { NO_PROJECT } from '../../../record/membership';
import type { JobRecord } from '../../../record/record';
import type { Cell } from '../../columns';
import { COVERAGE_REASONS } from '../../../record/coverage';
import {
  lineAccount,
  lineCpu,
  lineHost,
  lineHostSlots,
  lineNote,
  lineQueue,
  lineRevision,
  lineRunId,
  lineWallclock,
  recordOfLine,
  requestsOfLine,
} from '../../import/line-record';
import { NO_REQUESTS, type LineRequests, type RequestRules } from '../../import/line-requests';
import { requestedBytes } from '../../../record/facts';
import { asStored } from '../../../record/merge';
import type { Words } from '../database/dictionary';
import { toRow, type Row } from '../../row';

/** Columns of Grid Engine's own account, of which a line tells all. */
export const ACCOUNT_COLUMNS = [
  'ge_wallclock_ms',
  'ge_cpu_ms',
  'ge_user_ms',
  'ge_system_ms',
  'ge_maxvmem_bytes',
  'ge_maxrss_bytes',
  'ge_mem_gib_seconds',
  'ge_io_gib',
  'ge_category_id',
  'ge_deleted_by_id',
  'ge_lines',
] as const;

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
  'h_vmem_request_bytes',
  'h_vmem_limit_bytes',
  'h_vmem_per',
  'requests_id',
  'requested_bytes',
  'wallclock_ms',
  'cpu_ms',
  'notes_id',
  'in_project',
  ...ACCOUNT_COLUMNS,
] as const;
/** The others that have a value, the same in all. */
export const USUAL_VALUES = {
  signal: 0,
  failed: 0,
  status: STATUSES.indexOf('unsampled'),
  trust: TRUSTS.indexOf('accounting'),
  ended: 1,
  coverage: COVERAGE_REASONS.indexOf('no-hooks'),
  sampled: 0,
  killed_by_memory: 0,
} as const;

/** What a line of a good end alone knows of a job that has a record of ours. */
const JOINED = JSON.stringify([{ trust: 'accounting', ended: true, slots: ['failed', 'grid_engine'] }]);

const CACHED = 20_000;
/** Longer texts are cut in the record. */
const LONGEST_USUAL = 1000;
const PER = { slot: 0, job: 1 } as const;

/** What a category asks for with so many slots. */
interface Asked {
  readonly requests: LineRequests;
  /** In the dictionary; null: none beside h_vmem. */
  readonly id: number | null;
}

/** What a category says, which many lines share. */
interface Category {
  readonly id: number;
  readonly bySlots: Map<number, Asked>;
}

/** What a record of ours says that has met no line yet. */
interface Joinable {
  readonly hasLimit: boolean;
  readonly requestsId: number | null;
}

const wholeMs = (seconds: number): number => Math.round(seconds * 1000);

/**
 * The rows of accounting lines, as `toRow` makes them of `recordOfLine`, at a fraction of its cost for the jobs that ended
 * by themselves: without the record between, and with what repeats kept.
 */
export class LineRows {
  private categories = new Map<string, Category>();
  private complexes = new Map<number, ReadonlySet<string>>();
  private clusterId: number | null = null;
  private noteId: number | null = null;
  private joinedId: number | null = null;
  private readonly host;
  private readonly owner;
  private readonly jobName;
  private readonly account;
  private readonly queue;
  private readonly project;
  private readonly pe;

  constructor(
    private readonly words: Words,
    private readonly cluster: string,
    private readonly rules: RequestRules,
  ) {
    this.host = words.interner('host');
    this.owner = words.interner('owner');
    this.jobName = words.interner('job_name');
    this.account = words.interner('account');
    this.queue = words.interner('queue');
    this.project = words.interner('project');
    this.pe = words.interner('pe');
  }

  /** After a rollback: numbers given since are gone. */
  forget(): void {
    this.categories = new Map();
    this.complexes = new Map();
    this.clusterId = this.noteId = this.joinedId = null;
  }

  /** The record of a line. */
  record(line: AccountingRecord): JobRecord {
    const requests = this.asked(line, this.categoryOf(line)).requests;
    return recordOfLine(line, { cluster: this.cluster, rules: this.rules, requests });
  }

  /** The row of any line. */
  any(line: AccountingRecord): Row {
    return toRow(asStored(this.record(line)), this.words);
  }

  /**
   * Appends the row of a line that no record is there for, in the order of USUAL_COLUMNS; false: it is no usual line.
   */
  push(values: Cell[], line: AccountingRecord): boolean {
    const { startTimeMs } = line;
    const usual = startTimeMs !== null && line.failed === 0 && line.exitStatus >= 0 && line.exitStatus <= 128;
    if (!usual || line.jobName.length > LONGEST_USUAL || (line.category?.length ?? 0) > LONGEST_USUAL) return false;
    const { words } = this;
    this.clusterId ??= words.intern('cluster', this.cluster);
    this.noteId ??= words.intern('notes', JSON.stringify([lineNote(line)]));
    const category = this.categoryOf(line);
    const asked = this.asked(line, category);
    const { h_vmem: limit } = asked.requests;
    const hostSlots = lineHostSlots(line);
    values.push(
      line.jobId,
      line.task === 0 ? null : line.task,
      line.peTaskId,
      this.clusterId,
      this.host(lineHost(line)),
      lineRunId(line),
      line.owner === '' ? null : this.owner(line.owner),
      line.jobName === '' ? null : this.jobName(line.jobName),
      orNull(this.queue, lineQueue(line)),
      orNull(this.project, line.project),
      orNull(this.pe, line.pe),
      line.account === '' ? null : this.account(line.account),
      line.slots > 0 ? line.slots : null,
      hostSlots,
      line.submissionTimeMs,
      startTimeMs,
      line.endTimeMs,
      line.exitStatus,
      lineRevision(line),
      limit?.request_bytes ?? null,
      limit?.limit_bytes ?? null,
      limit === null ? null : PER[limit.per],
      asked.id,
      limit === null
        ? null
        : requestedBytes({
            h_vmem: limit,
            host_slots: hostSlots,
            slots: line.slots > 0 ? line.slots : null,
            trust: 'accounting',
            pe_task_id: line.peTaskId,
          }),
      wholeMs(lineWallclock(line)),
      wholeMs(lineCpu(line)),
      this.noteId,
      Number(line.owner !== '' && line.project !== null && !NO_PROJECT.includes(line.project)),
    );
    this.pushAccount(values, line, category);
    return true;
  }

  /**
   * Grid Engine's account and where it comes from, for a record of ours (ACCOUNT_COLUMNS, then `provenance_id` and
   * `provenance_revisions`); null: the line knows more of the job than how it ended and its account.
   */
  joined(line: AccountingRecord, ours: Joinable): readonly Cell[] | null {
    if ((line.category?.length ?? 0) > LONGEST_USUAL) return null;
    const category = this.categoryOf(line);
    const { h_vmem: limit, requests } = this.asked(line, category).requests;
    if (limit !== null && !ours.hasLimit) return null;
    if (requests !== NO_REQUESTS.requests) {
      const known = this.complexesOf(ours.requestsId);
      for (const complex in requests) if (!known.has(complex)) return null;
    }
    this.joinedId ??= this.words.intern('provenance', JOINED);
    const values: Cell[] = [];
    this.pushAccount(values, line, category);
    values.push(this.joinedId, lineRevision(line));
    return values;
  }

  private pushAccount(values: Cell[], line: AccountingRecord, category: Category | null): void {
    const account = lineAccount(line);
    values.push(
      wholeMs(account.wallclock_seconds),
      wholeMs(account.cpu_seconds),
      account.user_seconds === null ? null : wholeMs(account.user_seconds),
      account.system_seconds === null ? null : wholeMs(account.system_seconds),
      account.maxvmem_bytes,
      account.maxrss_bytes,
      account.mem_gib_seconds,
      account.io_gib,
      category === null ? null : category.id,
      account.deleted_by === null ? null : this.owner(account.deleted_by),
      1,
    );
  }

  private categoryOf({ category: text }: AccountingRecord): Category | null {
    if (text === null) return null;
    const known = this.categories.get(text);
    if (known !== undefined) return known;
    if (text.length > LONGEST_USUAL) return null;
    if (this.categories.size >= CACHED) this.categories = new Map();
    const made = { id: this.words.intern('category', text), bySlots: new Map<number, Asked>() };
    this.categories.set(text, made);
    return made;
  }

  private asked(line: AccountingRecord, category: Category | null): Asked {
    // A task's line has none, whatever its slots.
    const key = line.peTaskId === null ? line.slots : -1;
    const known = category?.bySlots.get(key);
    if (known !== undefined) return known;
    const requests = requestsOfLine(line, this.rules);
    const id =
      requests.requests === NO_REQUESTS.requests
        ? null
        : this.words.intern('requests', JSON.stringify(requests.requests));
    const made = { requests, id };
    category?.bySlots.set(key, made);
    return made;
  }

  /** The complexes of an entry of the dictionary `requests`. */
  private complexesOf(id: number | null): ReadonlySet<string> {
    if (id === null) return new Set();
    const known = this.complexes.get(id);
    if (known !== undefined) return known;
    if (this.complexes.size >= CACHED) this.complexes = new Map();
    const made = new Set(Object.keys(JSON.parse(this.words.text('requests', id)) as object));
    this.complexes.set(id, made);
    return made;
  }
}

function orNull(intern: (text: string) => number, text: string | null): number | null {
  return text === null ? null : intern(text);
}
