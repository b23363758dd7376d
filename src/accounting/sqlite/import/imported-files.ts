import type { Database, Statement } from 'better-sqlite3';
import type { ImportBatch, ImportedFile, Imports, KeptLine } from '../../history-store';
import { rowOfBatch, type FileRow } from '../../import/known-file';
import type { Words } from '../database/dictionary';
import { openForReading } from '../database/open';

export const FILE_COLUMNS =
  'c.name AS cluster, f.head, f.head_bytes AS headBytes, f.path, f.device, f.inode, f.offset, f.tail, f.lines';
export const FROM_FILES = 'FROM imported_file f JOIN cluster c ON c.id = f.cluster_id';
const ALL = `SELECT ${FILE_COLUMNS} ${FROM_FILES} ORDER BY f.id`;

/** What has been imported into the store at `path`. Throws StoreError. */
export function importsInto(path: string): Imports {
  const db = openForReading(path);
  try {
    const at = db.prepare<[], number | null>('SELECT max(imported_at) FROM imported_file').pluck().get() ?? null;
    return { at, files: db.prepare<[], ImportedFile>(ALL).all() };
  } finally {
    db.close();
  }
}

/** Which accounting files have been imported, how far, and what could not be read. */
export class ImportedFiles {
  readonly all: () => readonly ImportedFile[];
  private readonly find: Statement<[number, string, number, number, string], FileRow>;
  private readonly add: Statement;
  private readonly change: Statement;
  private readonly keep: Statement<[number, number, string, string]>;
  private readonly kept: Statement<[number, number], KeptLine>;

  constructor(
    db: Database,
    private readonly words: Words,
  ) {
    const all = db.prepare<[], ImportedFile>(ALL);
    this.all = () => all.all();
    this.find = db.prepare(
      `SELECT f.id, ${FILE_COLUMNS} ${FROM_FILES}
       WHERE f.cluster_id = ? AND f.head = ? AND f.head_bytes = ? AND f.offset = ? AND f.tail = ?`,
    );
    this.add = db.prepare(
      `INSERT INTO imported_file (head, head_bytes, path, device, inode, offset, tail, lines, imported_at, cluster_id)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    );
    this.change = db.prepare(
      `UPDATE imported_file SET head = ?, head_bytes = ?, path = ?, device = ?, inode = ?, offset = ?, tail = ?, lines = ?,
         imported_at = ? WHERE id = ?`,
    );
    this.keep = db.prepare(
      'INSERT OR REPLACE INTO unreadable_line (file_id, offset, reason, text) VALUES (?, ?, ?, ?)',
    );
    this.kept = db.prepare(
      `SELECT f.path, u.offset, u.reason, u.text FROM unreadable_line u JOIN imported_file f ON f.id = u.file_id
       WHERE f.cluster_id = ? ORDER BY u.file_id DESC, u.offset DESC LIMIT ?`,
    );
  }

  unreadable(cluster: string, limit: number): readonly KeptLine[] {
    const id = this.words.find('cluster', cluster);
    return id === null ? [] : this.kept.all(id, Number.isFinite(limit) ? limit : -1).reverse();
  }

  /** The row that a batch updates: see `rowOfBatch`. */
  rowFor(batch: ImportBatch, clusterId: number): number | 'new' | 'conflict' {
    const find = ({ head, headBytes, offset, tail }: ImportedFile): FileRow | undefined =>
      this.find.get(clusterId, head, headBytes, offset, tail);
    const { file, before } = batch;
    return rowOfBatch(batch, find(file), before === null ? undefined : find(before));
  }

  store({ file, unreadable }: ImportBatch, row: number | 'new', clusterId: number): void {
    const { head, headBytes, path, device, inode, offset, tail, lines } = file;
    const values = [head, headBytes, path, device, inode, offset, tail, lines, Date.now()];
    let id = row;
    if (id === 'new') id = Number(this.add.run(...values, clusterId).lastInsertRowid);
    else this.change.run(...values, id);
    for (const line of unreadable) this.keep.run(id, line.offset, line.reason, line.text);
  }
}
