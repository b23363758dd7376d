import type { ImportBatch, ImportedFile, ImportOutcome, KeptLine } from '../history-store';
import { recordOfLine } from '../import/line-record';
import type { Connection, Transaction } from './connect';
import type { Merger } from './merger';

const FILE_COLUMNS = 'cluster, head, head_bytes AS "headBytes", path, device, inode::float8 AS inode, "offset", lines';
const NOTHING = { added: 0, joined: 0, unchanged: 0 };

type FileRow = ImportedFile & { readonly id: number };

async function findFile(
  db: Pick<Transaction, 'query'>,
  { cluster, head, headBytes }: ImportedFile,
): Promise<FileRow | undefined> {
  const [row] = await db.query<FileRow>(
    `SELECT id, ${FILE_COLUMNS} FROM qmemacct.imported_file WHERE cluster = $1 AND head = $2 AND head_bytes = $3`,
    [cluster, head, headBytes],
  );
  return row;
}

/** The file's row, as `before` says; a batch that begins a file must not find it there. */
async function fileId(
  db: Pick<Transaction, 'query'>,
  { before, file }: ImportBatch,
): Promise<number | 'new' | 'conflict'> {
  const present = await findFile(db, file);
  if (before === null) return present === undefined ? 'new' : 'conflict';
  const found = await findFile(db, before);
  // Two importers that began a short file at different lengths meet where their heads become the same.
  const isOther = present !== undefined && present.id !== found?.id;
  return isOther || found?.offset !== before.offset ? 'conflict' : found.id;
}

async function storeFile(db: Pick<Transaction, 'query'>, file: ImportedFile, id: number | 'new'): Promise<number> {
  const { cluster, head, headBytes, path, device, inode, offset, lines } = file;
  const values = [cluster, head, headBytes, path, device, inode, offset, lines];
  const names = 'cluster, head, head_bytes, path, device, inode, "offset", lines';
  const [row] =
    id === 'new'
      ? await db.query<{ id: number }>(
          `INSERT INTO qmemacct.imported_file (${names}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING id`,
          values,
        )
      : await db.query<{ id: number }>(
          `UPDATE qmemacct.imported_file SET (${names}) = ($1, $2, $3, $4, $5, $6, $7, $8) WHERE id = $9 RETURNING id`,
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

/** Takes a batch of accounting lines in, in one transaction. Rejects with StoreError. */
export function importLines(merger: Merger, batch: ImportBatch): Promise<ImportOutcome> {
  return merger.alone(async (inner) => {
    const id = await fileId(inner, batch);
    if (id === 'conflict') return { ...NOTHING, conflict: true };
    const { cluster } = batch.file;
    const outcomes = await merger.merge(
      inner,
      Array.from(batch.lines, (line) => recordOfLine(line, { cluster })),
    );
    await keepUnreadable(inner, await storeFile(inner, batch.file, id), batch.unreadable);
    const count = (change: string): number =>
      outcomes.filter((outcome) => outcome.ok && outcome.change === change).length;
    return { added: count('added'), joined: count('changed'), unchanged: count('unchanged'), conflict: false };
  });
}

export function importedFiles(db: Connection, cluster: string): Promise<readonly ImportedFile[]> {
  return db.query<ImportedFile>(`SELECT ${FILE_COLUMNS} FROM qmemacct.imported_file WHERE cluster = $1 ORDER BY id`, [
    cluster,
  ]);
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
