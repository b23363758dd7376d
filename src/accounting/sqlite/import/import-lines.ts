import type { Database } from 'better-sqlite3';
import type { AccountingRecord } from '../../../gridengine/accounting-line';
import type { JobRecord } from '../../../record/record';
import type { ImportBatch, ImportedFile, ImportLines, ImportOutcome, KeptLine } from '../../history-store';
import { lineHost, lineRevision, lineRunId } from '../../import/line-record';
import { USUAL_RULES } from '../../import/line-requests';
import { SAME_START_MS } from '../../../record/join';
import type { MergeOutcome } from '../../store';
import type { Words } from '../database/dictionary';
import { lineInserter } from './insert-lines';
import { ACCOUNT_COLUMNS, LineRows } from './line-row';
import type { Cell } from '../../columns';
import { LINE_RUN } from '../../../record/coverage';
import { LAST_ROLLED_DAY, MARK_STALE } from '../read/queries';
import { seenKeys } from './seen-keys';
import type { StaleDays } from '../write/stale-days';
import { dayOf } from '../../sums/periods';

/** What its writer keeps of the file: the ends of the indexes that an import writes to. */
const CACHE_KIB = 64 * 1024;

/**
 * Records that a line may be of: of its job and task, and begun when it did, or of its own run. First whether it is one
 * of ours that has met no line yet, ended well, and of which the line could only tell how it ended (`failed`) and Grid
 * Engine's own account, as far as columns say: see `LineRows.joined`.
 */
const CANDIDATES = `SELECT r.status <> 1 AND r.trust <= 1 AND r.failed IS NULL AND r.exit_status = 0 AND r.signal = 0
    AND r.ended = 1 AND r.ge_lines IS NULL AND r.provenance_id IS NULL AND r.run_id NOT GLOB '${LINE_RUN}*'
    AND r.host_id = ? AND r.owner_id = ?
    AND (r.project_id IS NOT NULL OR ?) AND (r.pe_id IS NOT NULL OR ?)
    AND r.job_name_id IS NOT NULL AND r.queue_id IS NOT NULL AND r.account_id IS NOT NULL AND r.slots IS NOT NULL
    AND r.host_slots IS NOT NULL AND r.submitted_at IS NOT NULL AND r.ended_at IS NOT NULL
    AND r.wallclock_ms IS NOT NULL AND r.cpu_ms IS NOT NULL,
    r.id, r.h_vmem_per IS NOT NULL, r.requests_id
  FROM record r
  WHERE r.job_id = ? AND r.task_id IS ? AND r.pe_task_id IS ? AND r.cluster_id = ?
    AND (r.started_at BETWEEN ? AND ? OR r.host_id = ? AND r.run_id = ?) LIMIT 2`;
/** No column of an index, nor any that sums are made of: a job that ended well has still ended well. */
const JOIN = `UPDATE record SET failed = 0, ${ACCOUNT_COLUMNS.map((column) => `${column} = ?`).join(', ')},
    provenance_id = ?, provenance_revisions = ? WHERE id = ?`;

const FILE_COLUMNS =
  'c.name AS cluster, f.head, f.head_bytes AS headBytes, f.path, f.device, f.inode, f.offset, f.lines';

type Candidate = readonly [isPlain: number, id: number, hasLimit: number, requestsId: number | null];

type FileRow = ImportedFile & { readonly id: number };

/** Importing lines of Grid Engine's accounting; `importLines` is one transaction. Both throw SQLite's errors. */
export interface LineImporter {
  readonly importedFiles: (cluster: string) => readonly ImportedFile[];
  readonly importLines: (batch: ImportBatch) => ImportOutcome;
  readonly unreadableLines: (cluster: string, limit: number) => readonly KeptLine[];
}

/**
 * Lines that nothing is known of become rows directly; a line that may belong to a record that is there goes the way
 * of every record, through `mergeOne`. What comes of both is the same.
 */
export function lineImporter(
  db: Database,
  words: Words,
  stale: StaleDays,
  mergeOne: (record: JobRecord) => MergeOutcome,
): LineImporter {
  db.pragma(`cache_size = -${CACHE_KIB}`);
  const files = db.prepare<[number], ImportedFile>(
    `SELECT ${FILE_COLUMNS} FROM imported_file f JOIN cluster c ON c.id = f.cluster_id WHERE f.cluster_id = ?`,
  );
  const findFile = db.prepare<[number, string, number], FileRow>(
    `SELECT f.id, ${FILE_COLUMNS} FROM imported_file f JOIN cluster c ON c.id = f.cluster_id
     WHERE f.cluster_id = ? AND f.head = ? AND f.head_bytes = ?`,
  );
  const addFile = db.prepare(
    `INSERT INTO imported_file (head, head_bytes, path, device, inode, offset, lines, cluster_id)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  );
  const changeFile = db.prepare(
    `UPDATE imported_file SET head = ?, head_bytes = ?, path = ?, device = ?, inode = ?, offset = ?, lines = ?
     WHERE id = ?`,
  );
  const addUnreadable = db.prepare<[number, number, string, string]>(
    'INSERT OR REPLACE INTO unreadable_line (file_id, offset, reason, text) VALUES (?, ?, ?, ?)',
  );
  const kept = db.prepare<[number, number], KeptLine>(
    `SELECT f.path, u.offset, u.reason, u.text FROM unreadable_line u JOIN imported_file f ON f.id = u.file_id
     WHERE f.cluster_id = ? ORDER BY u.file_id DESC, u.offset DESC LIMIT ?`,
  );
  const inserter = lineInserter(db);
  const candidates = db.prepare<unknown[], Candidate>(CANDIDATES).raw();
  const join = db.prepare<Cell[]>(JOIN);
  const lastRolled = db.prepare<[], number | null>(LAST_ROLLED_DAY).pluck();
  const markStale = db.prepare<{ day: number }>(MARK_STALE);
  const seen = seenKeys(db);
  const rowsOf = new Map<string, LineRows>();

  function rowsFor(cluster: string): LineRows {
    const rows = rowsOf.get(cluster) ?? new LineRows(words, cluster, USUAL_RULES);
    rowsOf.set(cluster, rows);
    return rows;
  }

  /** The file's row, as `before` says; a batch that begins a file must not find it there. */
  function fileId({ before, file }: ImportBatch, clusterId: number): number | 'new' | 'conflict' {
    const present = findFile.get(clusterId, file.head, file.headBytes);
    if (before === null) return present === undefined ? 'new' : 'conflict';
    const found = findFile.get(clusterId, before.head, before.headBytes);
    // Two importers that began a short file at different lengths meet where their heads become the same.
    const isOther = present !== undefined && present.id !== found?.id;
    return isOther || found?.offset !== before.offset ? 'conflict' : found.id;
  }

  function storeFile(file: ImportedFile, id: number | 'new', clusterId: number): number {
    const { head, headBytes, path, device, inode, offset, lines } = file;
    const values = [head, headBytes, path, device, inode, offset, lines];
    if (id === 'new') return Number(addFile.run(...values, clusterId).lastInsertRowid);
    changeFile.run(...values, id);
    return id;
  }

  /** Joins a line with the record of ours that it is surely of, if all that it tells is how the job ended. */
  function joinWell(rows: LineRows, line: AccountingRecord, [isPlain, id, hasLimit, requestsId]: Candidate): boolean {
    if (isPlain !== 1 || line.failed !== 0 || line.exitStatus !== 0) return false;
    const joined = rows.joined(line, {
      hasLimit: hasLimit === 1,
      requestsId,
    });
    if (joined === null) return false;
    join.run(...joined, id);
    return true;
  }

  function addLines(lines: ImportLines, cluster: string, clusterId: number): ImportOutcome {
    const rows = rowsFor(cluster);
    const rolled = lastRolled.get() ?? null;
    const days = new Set<number>();
    let lastDay = NaN;
    let added = 0;
    let joined = 0;
    let unchanged = 0;

    const insert = (line: AccountingRecord, task: number | null): void => {
      inserter.add(rows, line);
      seen.add(line.jobId, task, line.peTaskId);
      added++;
      const countedAt = line.endTimeMs ?? line.startTimeMs ?? line.submissionTimeMs ?? lineRevision(line);
      const day = dayOf(countedAt);
      if (rolled === null || (day >= rolled && line.pe === null)) {
        if (day !== lastDay) days.add(day);
        lastDay = day;
      } else
        stale.touch({
          job_id: line.jobId,
          task_id: task,
          cluster_id: clusterId,
          counted_at: countedAt,
          parallel: line.pe !== null || line.peTaskId !== null,
        });
    };

    for (const line of lines.passing?.() ?? lines) {
      const task = line.task === 0 ? null : line.task;
      if (!seen.mayHave(line.jobId, task, line.peTaskId)) {
        insert(line, task);
        continue;
      }
      inserter.settle(line);
      const hostId = words.find('host', lineHost(line)) ?? -1;
      const same = candidates.all(
        hostId,
        words.find('owner', line.owner) ?? -1,
        Number(line.project === null),
        Number(line.pe === null),
        line.jobId,
        task,
        line.peTaskId,
        clusterId,
        // Of a job that never started: no record but that of the same line.
        line.startTimeMs === null ? null : line.startTimeMs - SAME_START_MS,
        line.startTimeMs === null ? null : line.startTimeMs + SAME_START_MS,
        hostId,
        lineRunId(line),
      );
      const [first] = same;
      if (first === undefined) {
        insert(line, task);
        continue;
      }
      if (same.length === 1 && joinWell(rows, line, first)) {
        joined++;
        continue;
      }
      const outcome = mergeOne(rows.record(line));
      if (!outcome.ok) throw new Error(outcome.error);
      if (outcome.change === 'added') {
        seen.add(line.jobId, task, line.peTaskId);
        added++;
      } else if (outcome.change === 'changed') joined++;
      else unchanged++;
    }
    inserter.flush();
    seen.settle();
    for (const day of days) markStale.run({ day });
    stale.flush();
    return { added, joined, unchanged, conflict: false };
  }

  const importAll = db.transaction((batch: ImportBatch): ImportOutcome => {
    const { cluster } = batch.file;
    const clusterId = words.intern('cluster', cluster);
    const id = fileId(batch, clusterId);
    if (id === 'conflict') return { added: 0, joined: 0, unchanged: 0, conflict: true };
    seen.refresh();
    const outcome = addLines(batch.lines, cluster, clusterId);
    const file = storeFile(batch.file, id, clusterId);
    for (const { offset, reason, text } of batch.unreadable) addUnreadable.run(file, offset, reason, text);
    return outcome;
  });

  return {
    importedFiles(cluster) {
      const id = words.find('cluster', cluster);
      return id === null ? [] : files.all(id);
    },
    unreadableLines(cluster, limit) {
      const id = words.find('cluster', cluster);
      return id === null ? [] : kept.all(id, Number.isFinite(limit) ? limit : -1).reverse();
    },
    importLines(batch) {
      try {
        return importAll.immediate(batch);
      } catch (error) {
        words.forget();
        stale.forget();
        seen.forget();
        inserter.forget();
        rowsOf.clear();
        throw error;
      }
    },
  };
}
