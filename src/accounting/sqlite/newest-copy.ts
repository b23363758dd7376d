import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SqliteDatabase } from '../../native/sqlite';
import { listMigrations, migrate, requireNewestSchema, schemaVersion } from '../migrations';
import { storeError } from './faults';
import { openForReading, openOfAnySchema } from './open';

type Database = ReturnType<typeof openForReading>;

/** More than any file has: its writers wait once, instead of beginning the copy anew with each of their changes. */
const ALL_PAGES = 2 ** 31 - 1;

export interface Newest {
  readonly db: Database;
  /** Closes it, and removes the copy. */
  readonly close: () => void;
}

/**
 * The store at `path` to be read, whatever qmemacct wrote it: one of an earlier schema is copied, and the copy brought up
 * to date, so that the file itself stays as those who still write to it need it. Rejects with StoreError.
 */
export async function openNewest(path: string): Promise<Newest> {
  const db = openOfAnySchema(path);
  try {
    if (schemaVersion(db) >= listMigrations().length) {
      requireNewestSchema(db);
      return { db, close: () => void db.close() };
    }
  } catch (error) {
    db.close();
    throw storeError(path, error, 'read');
  }
  const directory = mkdtempSync(join(tmpdir(), 'qmemacct-older-'));
  const copy = join(directory, 'accounting.db');
  const remove = (): void => rmSync(directory, { recursive: true, force: true });
  try {
    await db.backup(copy, { progress: () => ALL_PAGES });
    const made = new SqliteDatabase(copy, { fileMustExist: true });
    try {
      made.pragma('synchronous = OFF');
      migrate(made);
    } finally {
      made.close();
    }
    const newest = openForReading(copy);
    return {
      db: newest,
      close: () => {
        newest.close();
        remove();
      },
    };
  } catch (error) {
    remove();
    throw storeError(copy, error);
  } finally {
    db.close();
  }
}
