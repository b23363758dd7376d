import type { Database } from 'better-sqlite3';
import type { ImportBatch, ImportedFile, Imports, KeptLine } from '../../history-store';
import { rowOfBatch, type FileRow } from '../../import/known-file';
import type { Words } from '../database/dictionary';
import { openForReading } from '../database/open';
import { prepared } from '../database/prepared';

/** Which accounting files have been imported, how far, and what could not be read. */

export const FILE_COLUMNS =
  'c.name AS cluster, f.head, f.head_bytes AS headBytes, f.path, f.device, f.inode, f.offset, f.tail, f.lines';
export const FROM_FILES = 'FROM imported_file f JOIN cluster c ON c.id = f.cluster_id';

const FIND = `SELECT f.id, ${FILE_COLUMNS} ${FROM_FILES}
  WHERE f.cluster_id = ? AND f.head = ? AND f.head_bytes = ? AND f.offset = ? AND f.tail = ?`;
const ADD = `INSERT INTO imported_file (head, head_bytes, path, device, inode, offset, tail, lines, imported_at, cluster_id)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const CHANGE = `UPDATE imported_file SET head = ?, head_bytes = ?, path = ?, device = ?, inode = ?, offset = ?, tail = ?,
  lines = ?, imported_at = ? WHERE id = ?`;
const KEEP = 'INSERT OR REPLACE INTO unreadable_line (file_id, offset, reason, text) VALUES (?, ?, ?, ?)';
const KEPT = `SELECT f.path, u.offset, u.reason, u.text FROM unreadable_line u JOIN imported_file f ON f.id = u.file_id
  WHERE f.cluster_id = ? ORDER BY u.file_id DESC, u.offset DESC LIMIT ?`;

export function importedFiles(db: Database): readonly ImportedFile[] {
  return prepared<[], ImportedFile>(db, `SELECT ${FILE_COLUMNS} ${FROM_FILES} ORDER BY f.id`).all();
}

/** What has been imported into the store at `path`. Throws StoreError. */
export function importsInto(path: string): Imports {
  const db = openForReading(path);
  try {
    const at = db.prepare<[], number | null>('SELECT max(imported_at) FROM imported_file').pluck().get() ?? null;
    return { at, files: importedFiles(db) };
  } finally {
    db.close();
  }
}

/** The unreadable lines of a cluster's files: the latest `limit`, oldest first. */
export function unreadableLines(db: Database, words: Words, cluster: string, limit: number): readonly KeptLine[] {
  const id = words.find('cluster', cluster);
  if (id === null) return [];
  return prepared<[number, number], KeptLine>(db, KEPT)
    .all(id, Number.isFinite(limit) ? limit : -1)
    .reverse();
}

/** The row that a batch updates: see `rowOfBatch`. */
export function fileRow(db: Database, batch: ImportBatch, clusterId: number): number | 'new' | 'conflict' {
  const find = ({ head, headBytes, offset, tail }: ImportedFile): FileRow | undefined =>
    prepared<unknown[], FileRow>(db, FIND).get(clusterId, head, headBytes, offset, tail);
  const { file, before } = batch;
  return rowOfBatch(batch, find(file), before === null ? undefined : find(before));
}

/** Stores the state of a batch's file, and its unreadable lines. */
export function storeFile(
  db: Database,
  { file, unreadable }: ImportBatch,
  row: number | 'new',
  clusterId: number,
): void {
  const { head, headBytes, path, device, inode, offset, tail, lines } = file;
  const values = [head, headBytes, path, device, inode, offset, tail, lines, Date.now()];
  let id = row;
  if (id === 'new') id = Number(prepared<unknown[], never>(db, ADD).run(...values, clusterId).lastInsertRowid);
  else prepared<unknown[], never>(db, CHANGE).run(...values, id);
  const keep = prepared<unknown[], never>(db, KEEP);
  for (const line of unreadable) keep.run(id, line.offset, line.reason, line.text);
}
