import { COVERAGE_REASONS, NOT_SEEN } from '../../record/coverage';
import { requestedBytes } from '../../record/facts';
import { PERS } from '../../gridengine/memory-request';
import { STATUSES, TRUSTS } from '../../record/fields';
import { sameHost, startsOfLine } from '../../record/join';
import { NO_PROJECT } from '../../record/membership';
import { asStored } from '../../record/merge';
import type { JobRecord } from '../../record/record';
import { requestOf } from '../../record/request';
import type { RequestRules } from '../../record/request-rules';
import type { Cell, Dictionary, WordCodec } from '../columns';
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

/** The columns that vary in the row of a usual line: the line of a job that ended by itself. */
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
  signal: 0,
  failed: 0,
  status: STATUSES.indexOf('unsampled'),
  trust: TRUSTS.indexOf('accounting'),
  ended: 1,
  coverage: COVERAGE_REASONS.indexOf('no-hooks'),
  sampled: 0,
  killed_by_memory: 0,
  ge_lines: 1,
} as const;

/** Provenance of a record of ours that a line of a good end has joined: the fields that come from the line. */
const JOINED = JSON.stringify([{ trust: 'accounting', ended: true, slots: ['failed', 'grid_engine'] }]);

/** What changes in our record when a line of a good end joins it: the same in all, then cells of `LineRows.joined`. */
export const JOINED_SAME = 'failed = 0, ge_lines = 1';
export const JOINED_COLUMNS = [...ACCOUNT_COLUMNS, 'provenance_id', 'provenance_revisions'] as const;

const USUAL_NOTES = JSON.stringify([NOT_SEEN]);

const asMs = (seconds: number): number => Math.round(seconds * 1000);

/**
 * The rows of accounting lines, as `toRow` makes them from `recordOfLine`. For jobs that ended by themselves this costs
 * a fraction: no record is made in between, and what repeats is kept.
 */
export class LineRows {
  private readonly categories: Categories;

  constructor(
    private readonly words: WordCodec,
    private readonly cluster: string,
    private readonly rules: RequestRules,
  ) {
    this.categories = new Categories(rules);
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
  push(values: Cell[], line: PlacedLine): boolean {
    const { startTimeMs, project } = line;
    const usual = startTimeMs !== null && line.failed === 0 && line.exitStatus >= 0 && line.exitStatus <= 128;
    if (!usual || line.jobName.length > LONGEST_USUAL || (line.category?.length ?? 0) > LONGEST_USUAL) return false;
    const category = this.categories.of(line);
    const asked = this.categories.asked(line, category);
    const { h_vmem: limit } = asked.requests;
    const queue = lineQueue(line);
    const order = this.rules.orderText(queue);
    const requests = { ...asked.requests, request_order: order };
    const request = requestOf(requests);
    const hostSlots = lineHostSlots(line);
    const slots = line.slots > 0 ? line.slots : null;
    const key = { host_slots: hostSlots, slots, trust: 'accounting', pe_task_id: line.peTaskId } as const;
    values.push(
      line.jobId,
      line.task === 0 ? null : line.task,
      line.peTaskId,
      this.words.intern('cluster', this.cluster),
      this.idOf('host', lineHost(line)),
      lineRunId(line),
      this.idOf('owner', line.owner),
      this.idOf('job_name', line.jobName),
      this.idOf('queue', queue),
      project === null ? null : this.words.intern('project', project),
      line.pe === null ? null : this.words.intern('pe', line.pe),
      this.idOf('account', line.account),
      slots,
      hostSlots,
      line.submissionTimeMs,
      startTimeMs,
      line.endTimeMs,
      line.exitStatus,
      lineRevision(line),
      limit?.request_bytes ?? null,
      limit?.limit_bytes ?? null,
      limit === null ? null : PERS.indexOf(limit.per),
      this.idOf('request_set', asked.beside),
      this.idOf('complex', order),
      this.idOf('complex', request?.complex ?? null),
      request?.limit_bytes ?? null,
      requestedBytes({ ...requests, ...key, grid_engine: line.peTaskId === null ? null : lineAccount(line) }),
      asMs(lineWallclock(line)),
      asMs(lineCpu(line)),
      this.words.intern('notes', USUAL_NOTES),
      Number(line.owner !== '' && project !== null && !NO_PROJECT.includes(project)),
    );
    this.pushAccount(values, line, category?.text ?? null);
    return true;
  }

  /**
   * What a line of a good end writes (JOINED_COLUMNS) into `ours`, the only record with its cluster, job, task and pe
   * task. null: the record may be another run's, or the line adds more than how the job ended and its account.
   */
  joined(line: PlacedLine, ours: Joinable): readonly Cell[] | null {
    const [, isPlain, startedAt, host, owner, asked, hasProject, hasPe, hasLimit, hasOrder] = ours;
    const { startTimeMs, failed, exitStatus } = line;
    if (isPlain === 0 || startedAt === null || startTimeMs === null || failed !== 0 || exitStatus !== 0) return null;
    const { from, to } = startsOfLine(startTimeMs, line.endTimeMs);
    if (startedAt < from || startedAt > to || owner !== line.owner || !sameHost(host, lineHost(line))) return null;
    if ((hasProject === 0 && line.project !== null) || (hasPe === 0 && line.pe !== null)) return null;
    if ((line.category?.length ?? 0) > LONGEST_USUAL) return null;
    const category = this.categories.of(line);
    const { h_vmem: limit, requests } = this.categories.asked(line, category).requests;
    if (hasLimit === 0 && limit !== null) return null;
    if (hasOrder === 0 && this.rules.orderText(lineQueue(line)) !== null) return null;
    if (requests !== NO_REQUESTS.requests) {
      const known = asked === null ? null : this.categories.complexesOf(asked);
      for (const complex in requests) if (known?.has(complex) !== true) return null;
    }
    const values: Cell[] = [];
    this.pushAccount(values, line, category?.text ?? null);
    values.push(this.words.intern('provenance', JOINED), lineRevision(line));
    return values;
  }

  private pushAccount(values: Cell[], line: PlacedLine, category: string | null): void {
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
      this.idOf('category', category),
      this.idOf('submit_command', account.submit_command),
      this.idOf('owner', account.deleted_by),
    );
  }

  /** null: the text is empty. */
  private idOf(dictionary: Dictionary, text: string | null): number | null {
    return text === null || text === '' ? null : this.words.intern(dictionary, text);
  }
}
