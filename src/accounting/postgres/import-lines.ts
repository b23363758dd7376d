import type { ImportBatch, ImportedFile, ImportOutcome, Imports, KeptLine } from '../history-store';
import { USUAL_RULES } from '../../record/request-rules';
import type { Cell, WordCodec } from '../columns';
import { rowOfBatch, type FileRow } from '../import/known-file';
import type { PlacedLine } from '../import/line-place';
import { lineRevision, recordOfLine } from '../import/line-record';
import { LineRows, USUAL_COLUMNS, USUAL_VALUES } from '../import/line-rows';
import type { Row } from '../row';
import { hourOf } from '../sums/periods';
import type { Connection, Transaction } from './connect';
import type { TypedColumn } from './insert-rows';
import { NEW_ROW, type Merger } from './merger';

const FILE_COLUMNS =
  'cluster, head, head_bytes AS "headBytes", path, device, inode::float8 AS inode, "offset", tail, lines';

const typed = (name: string): TypedColumn => NEW_ROW.find((column) => column.name === name) ?? { name, type: 'bigint' };
/** A usual line's row: its own columns, then those that are the same in all. */
const USUAL = [...USUAL_COLUMNS, ...Object.keys(USUAL_VALUES)].map(typed);
const SAME: readonly Cell[] = Object.values(USUAL_VALUES);

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

const jobOf = ({ jobId, task }: PlacedLine): string => `${jobId}/${task}`;

/** The jobs among those of lines that have a record already. */
async function knownJobs(db: Pick<Transaction, 'rows'>, lines: readonly PlacedLine[]): Promise<ReadonlySet<string>> {
  const list = (of: (line: PlacedLine) => number): string => `{${lines.map(of).join(',')}}`;
  const rows = await db.rows<[number, number]>(
    `SELECT DISTINCT j.job_id, j.task_id FROM unnest($1::text::bigint[], $2::text::bigint[]) AS j (job_id, task_id)
     JOIN qmemacct.record AS r ON r.job_id = j.job_id AND coalesce(r.task_id, 0) = j.task_id`,
    [list(({ jobId }) => jobId), list(({ task }) => task)],
  );
  return new Set(rows.map(([job, task]) => `${job}/${task}`));
}

/** Lines that join nothing: the only ones of jobs that have no record. */
async function insertLines(
  merger: Merger,
  inner: Transaction,
  lines: readonly PlacedLine[],
  { file: { cluster }, rules = USUAL_RULES }: ImportBatch,
): Promise<void> {
  const hours = new Set(lines.map((line) => hourOf(lineRevision(line))));
  const usual: (readonly Cell[])[] = [];
  const others: PlacedLine[] = [];
  const usualRows = (words: WordCodec): readonly (readonly Cell[])[] => {
    const rows = new LineRows(words, cluster, rules);
    usual.length = others.length = 0;
    for (const line of lines) {
      const row: Cell[] = [];
      if (rows.push(row, line)) usual.push(row.concat(SAME));
      else others.push(line);
    }
    return usual;
  };
  await merger.insertNew(inner, USUAL, usualRows, hours);
  const otherRows = (words: WordCodec): readonly Row[] => {
    const rows = new LineRows(words, cluster, rules);
    return others.map((line) => rows.any(line));
  };
  await merger.insertNew(inner, NEW_ROW, otherRows, new Set());
}

/** Takes a batch of accounting lines in, in one transaction. Rejects with StoreError. */
export function importLines(merger: Merger, batch: ImportBatch): Promise<ImportOutcome> {
  return merger.alone(async (inner) => {
    const { file, before } = batch;
    const row = rowOfBatch(
      batch,
      await findFile(inner, file),
      before === null ? undefined : await findFile(inner, before),
    );
    if (row === 'conflict') return { added: 0, joined: 0, unchanged: 0, conflict: true };
    const lines = [...batch.lines];
    const met = new Set(await knownJobs(inner, lines));
    const seen = new Set<string>();
    for (const job of lines.map(jobOf)) (seen.has(job) ? met : seen).add(job);
    const fresh = lines.filter((line) => !met.has(jobOf(line)));
    await insertLines(merger, inner, fresh, batch);
    const rest = lines.filter((line) => met.has(jobOf(line)));
    const outcomes = await merger.merge(
      inner,
      rest.map((line) => recordOfLine(line, { cluster: file.cluster, rules: batch.rules ?? USUAL_RULES })),
    );
    await keepUnreadable(inner, await storeFile(inner, file, row), batch.unreadable);
    const count = (change: string): number =>
      outcomes.filter((outcome) => outcome.ok && outcome.change === change).length;
    return {
      added: fresh.length + count('added'),
      joined: count('changed'),
      unchanged: count('unchanged'),
      conflict: false,
    };
  });
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

/** What was kept aside of a cluster's files: the latest, oldest first. */
export async function unreadableLines(db: Connection, cluster: string, limit: number): Promise<readonly KeptLine[]> {
  const rows = await db.query<KeptLine>(
    `SELECT f.path, u."offset", u.reason, u.text
     FROM qmemacct.unreadable_line AS u JOIN qmemacct.imported_file AS f ON f.id = u.file_id WHERE f.cluster = $1
     ORDER BY u.file_id DESC, u."offset" DESC LIMIT $2`,
    [cluster, Number.isFinite(limit) ? limit : null],
  );
  return rows.toReversed();
}
