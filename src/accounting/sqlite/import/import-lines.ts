import type { Database, Statement, Transaction } from 'better-sqlite3';
import { LINE_RUN } from '../../../record/coverage';
import { startsOfLine } from '../../../record/join';
import type { JobRecord } from '../../../record/record';
import { USUAL_RULES } from '../../../record/request-rules';
import type { Cell } from '../../columns';
import type { ImportBatch, ImportOutcome } from '../../history-store';
import type { PlacedLine } from '../../import/line-place';
import { lineHost, lineRevision } from '../../import/line-record';
import { ACCOUNT_COLUMNS, LineRows } from '../../import/line-rows';
import type { MergeOutcome } from '../../store';
import type { Words } from '../database/dictionary';
import type { StaleHours } from '../write/stale-hours';
import { ImportedFiles } from './imported-files';
import { LineInserter } from './insert-lines';
import { seenKeys } from './seen-keys';

/** What its writer keeps of the file: the ends of the indexes that an import writes to. */
const CACHE_KIB = 64 * 1024;

/**
 * Records of a line's job and task. First whether it is one of ours that began when the line did, has met no line yet,
 * ended well, and of which the line could only say how it ended (`failed`) and Grid Engine's own account, as far as
 * columns say: see `LineRows.joined`.
 */
const CANDIDATES = `SELECT r.status <> 1 AND r.trust <= 1 AND r.failed IS NULL AND r.exit_status = 0 AND r.signal = 0
    AND r.ended = 1 AND r.ge_lines IS NULL AND r.provenance_id IS NULL AND r.run_id NOT GLOB '${LINE_RUN}*'
    AND r.host_id = ? AND r.owner_id = ? AND r.started_at BETWEEN ? AND ?
    AND (r.project_id IS NOT NULL OR ?) AND (r.pe_id IS NOT NULL OR ?)
    AND r.job_name_id IS NOT NULL AND r.queue_id IS NOT NULL AND r.account_id IS NOT NULL AND r.slots IS NOT NULL
    AND r.host_slots IS NOT NULL AND r.submitted_at IS NOT NULL AND r.ended_at IS NOT NULL
    AND r.wallclock_ms IS NOT NULL AND r.cpu_ms IS NOT NULL,
    r.id, r.h_vmem_per IS NOT NULL, r.request_order_id IS NOT NULL, r.request_set_id
  FROM record r
  WHERE r.job_id = ? AND r.task_id IS ? AND r.pe_task_id IS ? AND r.cluster_id = ? LIMIT 2`;
/** No column of an index, nor any that sums are made of: a job that ended well has still ended well. */
const JOIN = `UPDATE record SET failed = 0, ge_lines = 1, ${ACCOUNT_COLUMNS.map((column) => `${column} = ?`).join(', ')},
    provenance_id = ?, provenance_revisions = ? WHERE id = ?`;

type Candidate = readonly [isPlain: number, id: number, hasLimit: number, hasOrder: number, requestsId: number | null];

const taskOf = ({ task }: PlacedLine): number | null => (task === 0 ? null : task);

/**
 * Imports lines of Grid Engine's accounting. Those that nothing is known of become rows directly; a line that may belong
 * to a record that is there goes the way of every record, through `mergeOne`. What comes of both is the same. All throw
 * SQLite's errors.
 */
export class LineImporter {
  readonly files: ImportedFiles;
  private readonly inserter: LineInserter;
  private readonly seen;
  private readonly rows = new Map<string, LineRows>();
  private readonly candidates: Statement<unknown[], Candidate>;
  private readonly join: Statement<Cell[]>;
  private readonly importAll: Transaction<(batch: ImportBatch) => ImportOutcome>;

  constructor(
    db: Database,
    private readonly words: Words,
    private readonly stale: StaleHours,
    private readonly mergeOne: (record: JobRecord) => MergeOutcome,
  ) {
    db.pragma(`cache_size = -${CACHE_KIB}`);
    this.files = new ImportedFiles(db, words);
    this.inserter = new LineInserter(db);
    this.seen = seenKeys(db);
    this.candidates = db.prepare<unknown[], Candidate>(CANDIDATES).raw();
    this.join = db.prepare(JOIN);
    this.importAll = db.transaction((batch) => this.importInside(batch));
  }

  /** One transaction. */
  importLines(batch: ImportBatch): ImportOutcome {
    try {
      return this.importAll.immediate(batch);
    } catch (error) {
      for (const { forget } of [this.words, this.stale, this.seen]) forget();
      this.inserter.forget();
      this.rows.clear();
      throw error;
    }
  }

  private importInside(batch: ImportBatch): ImportOutcome {
    const { cluster } = batch.file;
    const clusterId = this.words.intern('cluster', cluster);
    const counts = { added: 0, joined: 0, unchanged: 0 };
    const file = this.files.rowFor(batch, clusterId);
    if (file === 'conflict') return { ...counts, conflict: true };
    const rows = this.rows.get(cluster) ?? new LineRows(this.words, cluster, batch.rules ?? USUAL_RULES);
    this.rows.set(cluster, rows);
    this.seen.refresh();
    for (const line of batch.lines) counts[this.importLine(line, rows, clusterId)]++;
    this.inserter.flush();
    this.seen.settle();
    this.stale.flush();
    this.files.store(batch, file, clusterId);
    return { ...counts, conflict: false };
  }

  private importLine(line: PlacedLine, rows: LineRows, clusterId: number): 'added' | 'joined' | 'unchanged' {
    if (!this.seen.mayHave(line.jobId, taskOf(line), line.peTaskId)) return this.insert(line, rows, clusterId);
    this.inserter.settle(line);
    const same = this.candidatesOf(line, clusterId);
    const [first] = same;
    if (first === undefined) return this.insert(line, rows, clusterId);
    if (same.length === 1 && this.joinWell(rows, line, first)) return 'joined';
    const outcome = this.mergeOne(rows.record(line));
    if (!outcome.ok) throw new Error(outcome.error);
    if (outcome.change === 'added') this.seen.add(line.jobId, taskOf(line), line.peTaskId);
    return outcome.change === 'changed' ? 'joined' : outcome.change;
  }

  private insert(line: PlacedLine, rows: LineRows, clusterId: number): 'added' {
    this.inserter.add(rows, line);
    this.seen.add(line.jobId, taskOf(line), line.peTaskId);
    this.stale.touch({
      job_id: line.jobId,
      task_id: taskOf(line),
      cluster_id: clusterId,
      counted_at: line.endTimeMs ?? line.startTimeMs ?? line.submissionTimeMs ?? lineRevision(line),
      others: line.pe !== null || line.peTaskId !== null,
    });
    return 'added';
  }

  private candidatesOf(line: PlacedLine, clusterId: number): readonly Candidate[] {
    const { startTimeMs, endTimeMs } = line;
    const starts = startTimeMs === null ? null : startsOfLine(startTimeMs, endTimeMs);
    return this.candidates.all(
      this.words.find('host', lineHost(line)) ?? -1,
      this.words.find('owner', line.owner) ?? -1,
      starts?.from ?? null,
      starts?.to ?? null,
      Number(line.project === null),
      Number(line.pe === null),
      line.jobId,
      taskOf(line),
      line.peTaskId,
      clusterId,
    );
  }

  /** Joins a line with the record of ours that it is surely of, if all that it says is how the job ended. */
  private joinWell(
    rows: LineRows,
    line: PlacedLine,
    [isPlain, id, hasLimit, hasOrder, requestsId]: Candidate,
  ): boolean {
    if (isPlain !== 1 || line.failed !== 0 || line.exitStatus !== 0) return false;
    const joined = rows.joined(line, { hasLimit: hasLimit === 1, hasOrder: hasOrder === 1, requestsId });
    if (joined === null) return false;
    this.join.run(...joined, id);
    return true;
  }
}
