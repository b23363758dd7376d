import { groupBy } from '../../base/group-by';
import type { ImportBatch, ImportedFile, ImportOutcome, Imports, KeptLine } from '../history-store';
import { USUAL_RULES } from '../../record/request-rules';
import type { Cell } from '../cell-codec';
import { rowOfBatch, type FileRow } from '../import/known-file';
import { joinableColumns, type Joinable } from '../import/joinable';
import { lineRevision } from '../import/line-record';
import { JOINED_COLUMNS, JOINED_SAME, LineRows, USUAL_COLUMNS, USUAL_VALUES } from '../import/line-rows';
import type { TableLine } from '../import/line-table';
import type { Row } from '../row';
import { hourOf } from '../sums/periods';
import type { Connection, Transaction } from './connect';
import type { TypedColumn } from './insert-rows';
import { markStale, NEW_ROW, type Merger } from './merger';

const FILE_COLUMNS =
  'cluster, head, head_bytes AS "headBytes", path, device, inode::float8 AS inode, "offset", tail, lines';

const typed = (name: string): TypedColumn => NEW_ROW.find((column) => column.name === name) ?? { name, type: 'bigint' };
const USUAL = USUAL_COLUMNS.map(typed);
const JOINED = JOINED_COLUMNS.map(typed);

async function findFile(
  db: Pick<Transaction, 'query'>,
  { cluster, head, headBytes, offset, tail }: ImportedFile,
): Promise<FileRow | undefined> {
  const [row] = await db.query<FileRow>(
    `SELECT id, ${FILE_COLUMNS} FROM qmemacct.imported_file
     WHERE cluster = $1 AND head = $2 AND head_bytes = $3 AND "offset" = $4 AND tail = $5`,
    [cluster, head, headBytes, offset, tail],
  );
  return row;
}

async function storeFile(db: Pick<Transaction, 'query'>, file: ImportedFile, id: number | 'new'): Promise<number> {
  const { cluster, head, headBytes, path, device, inode, offset, tail, lines } = file;
  const values = [cluster, head, headBytes, path, device, inode, offset, tail, lines];
  const names = 'cluster, head, head_bytes, path, device, inode, "offset", tail, lines';
  const [row] =
    id === 'new'
      ? await db.query<{ id: number }>(
          `INSERT INTO qmemacct.imported_file (${names}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING id`,
          values,
        )
      : await db.query<{ id: number }>(
          `UPDATE qmemacct.imported_file SET (${names}, imported_at) = ($1, $2, $3, $4, $5, $6, $7, $8, $9, now())
           WHERE id = $10 RETURNING id`,
          [...values, id],
        );
  return row?.id ?? 0;
}

async function keepUnreadable(
  db: Pick<Transaction, 'query'>,
  id: number,
  lines: ImportBatch['unreadable'],
): Promise<void> {
  if (lines.length === 0) return;
  await db.query(
    `INSERT INTO qmemacct.unreadable_line (file_id, "offset", reason, text)
     SELECT $1, (u ->> 'offset')::bigint, u ->> 'reason', u ->> 'text' FROM jsonb_array_elements($2::text::jsonb) AS u
     ON CONFLICT DO NOTHING`,
    [id, JSON.stringify(lines.map((line) => ({ ...line, text: line.text.replaceAll('\0', '\uFFFD') })))],
  );
}

/**
 * The records of the lines' jobs, by the index of the line: only those of the same part of the job (master or PE task),
 * so the list may be empty although the job has records.
 */
async function recordsOf(
  db: Pick<Transaction, 'rows'>,
  lines: readonly TableLine[],
  cluster: string,
): Promise<ReadonlyMap<number, readonly Joinable[]>> {
  const list = (of: (line: TableLine) => number): string => `{${lines.map(of).join(',')}}`;
  const rows = await db.rows<[place: number, peTaskId: string | null, ...ours: Joinable]>(
    `SELECT j.place - 1, r.pe_task_id, ${joinableColumns('qmemacct.')}
     FROM unnest($1::text::bigint[], $2::text::bigint[]) WITH ORDINALITY AS j (job_id, task_id, place)
     CROSS JOIN LATERAL (
       SELECT * FROM qmemacct.record AS r
       WHERE r.job_id = j.job_id AND coalesce(r.task_id, 0) = j.task_id
         AND r.cluster_id = (SELECT id FROM qmemacct.cluster WHERE name = $3)
       -- Job by job: before its first statistics PostgreSQL would read the whole table.
       OFFSET 0
     ) AS r`,
    [list(({ jobId }) => jobId), list(({ task }) => task), cluster],
  );
  const found = new Map<number, Joinable[]>();
  for (const [place, peTaskId, ...ours] of rows) {
    const part = found.get(place) ?? [];
    found.set(place, part);
    if (peTaskId === lines[place]?.peTaskId) part.push(ours);
  }
  return found;
}

/** Lines whose rows are made at once: those of 20,000 take half as long again, as V8 copies what lives long. */
const PIECE = 5000;

function* inPieces(lines: ImportBatch['lines']): Iterable<readonly TableLine[]> {
  let piece: TableLine[] = [];
  for (const line of lines) {
    piece.push(line);
    if (piece.length < PIECE) continue;
    yield piece;
    piece = [];
  }
  if (piece.length > 0) yield piece;
}

/** The rows of lines by how they are stored, and the hours in which new rows count. */
async function sorted(inner: Transaction, rows: LineRows, lines: readonly TableLine[], cluster: string) {
  const jobs = [...groupBy(lines, ({ jobId, task }) => `${jobId}/${task}`).values()];
  const single = jobs.flatMap((its) => (its.length === 1 ? its : []));
  const careful = jobs.flatMap((its) => (its.length === 1 ? [] : its.map((line) => rows.record(line))));
  const known = await recordsOf(inner, single, cluster);
  const [usual, others, joins]: [Row[], Row[], Row[]] = [[], [], []];
  const hours = new Set<number>();
  for (const [place, line] of single.entries()) {
    const part = known.get(place);
    if (part === undefined) {
      const cells: Cell[] = [];
      if (rows.push(cells, line)) usual.push(cells);
      else others.push(rows.any(line));
      hours.add(hourOf(lineRevision(line)));
      continue;
    }
    const [ours] = part;
    const joined = part.length === 1 && ours !== undefined ? rows.joined(line, ours) : null;
    if (ours === undefined || joined === null) careful.push(rows.record(line));
    else joins.push([ours[0], ...joined]);
  }
  return { usual, others, joins, careful, hours };
}

/**
 * Imports lines of Grid Engine's accounting. A line of a job without records becomes a row directly, a line that surely
 * joins a record of ours is written into its row; all others are merged like any record. The result is the same.
 */
export class LineImporter {
  constructor(private readonly merger: Merger) {}

  /** One transaction. Rejects with StoreError. */
  importLines(batch: ImportBatch): Promise<ImportOutcome> {
    return this.merger.alone((inner) => this.importInside(inner, batch));
  }

  private async importInside(inner: Transaction, batch: ImportBatch): Promise<ImportOutcome> {
    const { file, before, rules = USUAL_RULES } = batch;
    const fileRow = rowOfBatch(
      batch,
      await findFile(inner, file),
      before === null ? undefined : await findFile(inner, before),
    );
    if (fileRow === 'conflict') return { added: 0, joined: 0, unchanged: 0, conflict: true };
    const rows = new LineRows(this.merger.words, file.cluster, rules);
    const sum = { added: 0, joined: 0, unchanged: 0 };
    for (const lines of inPieces(batch.lines)) {
      const { added, joined, unchanged } = await this.importPiece(inner, rows, lines, file.cluster);
      sum.added += added;
      sum.joined += joined;
      sum.unchanged += unchanged;
    }
    await keepUnreadable(inner, await storeFile(inner, file, fileRow), batch.unreadable);
    return { ...sum, conflict: false };
  }

  private async importPiece(
    inner: Transaction,
    rows: LineRows,
    lines: readonly TableLine[],
    cluster: string,
  ): Promise<Omit<ImportOutcome, 'conflict'>> {
    const { merger } = this;
    const { usual, others, joins, careful, hours } = await sorted(inner, rows, lines, cluster);
    await merger.insertNew(inner, USUAL, usual, USUAL_VALUES);
    await merger.insertNew(inner, NEW_ROW, others);
    await markStale(inner, hours);
    await merger.update(inner, JOINED, joins, JOINED_SAME);
    const outcomes = await merger.merge(inner, careful);
    const count = (change: string): number =>
      outcomes.filter((outcome) => outcome.ok && outcome.change === change).length;
    return {
      added: usual.length + others.length + count('added'),
      joined: joins.length + count('changed'),
      unchanged: count('unchanged'),
    };
  }
}

/** Rejects with StoreError. */
export async function imports(db: Pick<Connection, 'query'>): Promise<Imports> {
  const [row] = await db.query<{ readonly at: number | null }>(
    'SELECT (extract(epoch FROM max(imported_at)) * 1000)::double precision AS at FROM qmemacct.imported_file',
  );
  return { at: row?.at ?? null, files: await importedFiles(db) };
}

export function importedFiles(db: Pick<Connection, 'query'>): Promise<readonly ImportedFile[]> {
  return db.query<ImportedFile>(`SELECT ${FILE_COLUMNS} FROM qmemacct.imported_file ORDER BY id`);
}

/** The unreadable lines of a cluster's files: the latest `limit`, oldest first. */
export async function unreadableLines(db: Connection, cluster: string, limit: number): Promise<readonly KeptLine[]> {
  const rows = await db.query<KeptLine>(
    `SELECT f.path, u."offset", u.reason, u.text
     FROM qmemacct.unreadable_line AS u JOIN qmemacct.imported_file AS f ON f.id = u.file_id WHERE f.cluster = $1
     ORDER BY u.file_id DESC, u."offset" DESC LIMIT $2`,
    [cluster, Number.isFinite(limit) ? limit : null],
  );
  return rows.toReversed();
}
