import type { Database, Statement, Transaction } from 'better-sqlite3';
import type { JobRecord } from '../../../record/record';
import { USUAL_RULES } from '../../../record/request-rules';
import type { Cell } from '../../cell-codec';
import type { ImportBatch, ImportOutcome } from '../../history-store';
import { joinableColumns, type Joinable } from '../../import/joinable';
import { lineRevision } from '../../import/line-record';
import { JOINED_COLUMNS, JOINED_SAME, LineRows } from '../../import/line-rows';
import type { TableLine } from '../../import/line-table';
import type { MergeOutcome } from '../../store';
import type { Words } from '../database/dictionary';
import { createMerger } from '../write/merger';
import { staleHours, type StaleHours } from '../write/stale-hours';
import { fileRow, storeFile } from './imported-files';
import { LineInserter } from './insert-lines';
import { seenKeys } from './seen-keys';

/** Records of a line's job, task and pe task; two are enough to tell that there are several. */
const CANDIDATES = `SELECT ${joinableColumns()} FROM record r
  WHERE r.job_id = ? AND r.task_id IS ? AND r.pe_task_id IS ? AND r.cluster_id = ? LIMIT 2`;
const JOIN = `UPDATE record SET ${JOINED_SAME}, ${JOINED_COLUMNS.map((column) => `${column} = ?`).join(', ')} WHERE id = ?`;

const taskOf = ({ task }: TableLine): number | null => (task === 0 ? null : task);

/**
 * Imports lines of Grid Engine's accounting. A line without any record becomes a row directly, a line that surely joins
 * a record of ours is written into its row; all others are merged like any record. The result is the same.
 */
export class LineImporter {
  private readonly stale: StaleHours;
  private readonly mergeOne: (record: JobRecord) => MergeOutcome;
  private readonly inserter: LineInserter;
  private readonly seen;
  private readonly rows = new Map<string, LineRows>();
  private readonly candidates: Statement<unknown[], Joinable>;
  private readonly join: Statement<Cell[]>;
  private readonly importAll: Transaction<(batch: ImportBatch) => ImportOutcome>;

  constructor(
    private readonly db: Database,
    private readonly words: Words,
  ) {
    this.stale = staleHours(db);
    this.mergeOne = createMerger(db, words, this.stale);
    this.inserter = new LineInserter(db);
    this.seen = seenKeys(db);
    this.candidates = db.prepare<unknown[], Joinable>(CANDIDATES).raw();
    this.join = db.prepare(JOIN);
    this.importAll = db.transaction((batch) => this.importInside(batch));
  }

  /** One transaction. Throws SQLite's errors. */
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
    const file = fileRow(this.db, batch, clusterId);
    if (file === 'conflict') return { ...counts, conflict: true };
    const rows = this.rows.get(cluster) ?? new LineRows(this.words, cluster, batch.rules ?? USUAL_RULES);
    this.rows.set(cluster, rows);
    this.seen.refresh();
    for (const line of batch.lines) counts[this.importLine(line, rows, clusterId)]++;
    this.inserter.flush();
    this.seen.settle();
    this.stale.flush();
    storeFile(this.db, batch, file, clusterId);
    return { ...counts, conflict: false };
  }

  private importLine(line: TableLine, rows: LineRows, clusterId: number): 'added' | 'joined' | 'unchanged' {
    if (!this.seen.mayHave(line.jobId, taskOf(line), line.peTaskId)) return this.insert(line, rows, clusterId);
    this.inserter.settle(line);
    const same = this.candidates.all(line.jobId, taskOf(line), line.peTaskId, clusterId);
    const [first] = same;
    if (first === undefined) return this.insert(line, rows, clusterId);
    const joined = same.length === 1 ? rows.joined(line, first) : null;
    if (joined !== null) {
      this.join.run(...joined, first[0]);
      return 'joined';
    }
    const outcome = this.mergeOne(rows.record(line));
    if (!outcome.ok) throw new Error(outcome.error);
    if (outcome.change === 'added') this.seen.add(line.jobId, taskOf(line), line.peTaskId);
    return outcome.change === 'changed' ? 'joined' : outcome.change;
  }

  private insert(line: TableLine, rows: LineRows, clusterId: number): 'added' {
    this.inserter.add(rows, line);
    this.seen.add(line.jobId, taskOf(line), line.peTaskId);
    this.stale.touch({
      job_id: line.jobId,
      task_id: taskOf(line),
      cluster_id: clusterId,
      counted_at: lineRevision(line),
      others: line.pe !== null || line.peTaskId !== null,
    });
    return 'added';
  }
}
