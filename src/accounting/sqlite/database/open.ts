import { codeOf } from '../../../base/error-code';
import type { Database } from 'better-sqlite3';
import {
  closeSync,
  fsyncSync,
  linkSync,
  lstatSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setMode } from '../../../base/set-owner';
import { untrustedForRoot } from '../../../base/trusted-path';
import { SqliteDatabase } from '../../../native/sqlite';
import { nameClass } from '../../../record/name-class';
import { migrate, requireNewestSchema } from '../../migrations';
import { networkFilesystem } from '../../network-filesystem';
import { StoreError } from '../../store-error';
import { RIGHT_PATH, storeError } from './faults';

/** "qmac": marks our file among SQLite databases. */
const APPLICATION_ID = 0x716d6163;
/** How long SQLite itself waits for a lock. */
const WRITER_WAIT_MS = 10_000;
const READER_WAIT_MS = 5_000;

const OTHERS_WRITE = 0o002;

function refuse(path: string, reason: string, hint: string): never {
  throw new StoreError(path, reason, hint, false);
}

/**
 * Refuses a file that someone else could have put there: SQLite itself would follow a link, and a stranger who may
 * write into the directory could plant a journal. False if there is no file yet. Throws StoreError.
 */
export function isSafeFile(path: string): boolean {
  const directory = dirname(path);
  const place = statSync(directory);
  if (place.mode & OTHERS_WRITE) refuse(path, `everyone may write to ${directory}`, `chmod o-w ${directory}`);
  const reason = untrustedForRoot(path);
  if (reason !== null) refuse(path, `root would trust it, and ${reason}`, 'deliver as its owner: set deliver_as');
  const file = lstatSync(path, { throwIfNoEntry: false });
  if (file === undefined) return false;
  if (file.isSymbolicLink()) refuse(path, 'it is a symbolic link', 'set "accounting" to the file itself');
  if (!file.isFile()) refuse(path, 'it is not a regular file', RIGHT_PATH);
  return true;
}

/** Whether an SQLite file is in WAL mode: byte 18 is 2 (file format, section 1.3). */
export function isWal(path: string): boolean {
  const file = openSync(path, 'r');
  try {
    const header = Buffer.alloc(20);
    readSync(file, header, 0, header.length, 0);
    return header[18] === 2;
  } finally {
    closeSync(file);
  }
}

/**
 * WAL keeps its index in memory shared by the processes of one host: on a file system that several hosts mount this
 * corrupts the database. So the shared store is never in WAL mode, and refused there if someone has switched it to WAL.
 */
function refuseSharedWal(path: string): void {
  if (!isWal(path)) return;
  const type = networkFilesystem(path);
  if (type !== null)
    refuse(
      path,
      `it is in WAL mode on ${type}, where several hosts corrupt it`,
      'stop delivering, then on one host: sqlite3 FILE "PRAGMA journal_mode=DELETE"',
    );
}

/** `nameClass` for our statements. */
export const NAME_CLASS = 'name_class';

function harden(db: Database): Database {
  // better-sqlite3 opens in defensive mode (SQLITE_DBCONFIG_DEFENSIVE).
  db.pragma('trusted_schema = OFF');
  db.pragma('cell_size_check = ON');
  db.function(NAME_CLASS, { deterministic: true }, (name: unknown) =>
    typeof name === 'string' ? nameClass(name) : null,
  );
  return db;
}

function requireOurs(db: Database): void {
  const id = db.pragma('application_id', { simple: true });
  if (id !== APPLICATION_ID) refuse(db.name, 'it is not an accounting DB of qmemacct', RIGHT_PATH);
}

/** Runs a step on an open database; closes the database if the step fails. */
function closingOnError<T>(db: Database, step: (db: Database) => T): T {
  try {
    return step(db);
  } catch (error) {
    db.close();
    throw error;
  }
}

/**
 * Creates the file with its schema and permissions under a name of its own, then links it into place: nobody ever
 * sees half a store, and of many creators one wins.
 */
function create(path: string, mode: number): void {
  // The name need not be secret, only unused (`wx`); node:crypto would cost every delivery 3 ms.
  const draft = join(dirname(path), `.${basename(path)}.${process.pid}.${Math.random().toString(36).slice(2)}.new`);
  writeFileSync(draft, '', { flag: 'wx', mode });
  try {
    const db = harden(new SqliteDatabase(draft, { fileMustExist: true }));
    try {
      db.pragma('synchronous = OFF');
      // A row grows when its job's accounting comes; smaller pages would leave more space empty.
      db.pragma('page_size = 8192');
      // Before the first table: later only a VACUUM of the whole file changes it. Without it pruning frees no space.
      db.pragma('auto_vacuum = INCREMENTAL');
      db.pragma(`application_id = ${APPLICATION_ID}`);
      migrate(db);
    } finally {
      db.close();
    }
    // When the file was made, the umask may have removed permissions.
    setMode(draft, mode);
    const file = openSync(draft, 'r');
    fsyncSync(file);
    closeSync(file);
    linkSync(draft, path);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  } finally {
    rmSync(draft, { force: true });
    rmSync(`${draft}-journal`, { force: true });
  }
}

function adjustMode(path: string, mode: number): void {
  const { mode: present, uid } = lstatSync(path);
  if ((present & 0o777) !== mode && uid === process.geteuid?.()) setMode(path, mode);
}

/** Opens the store's file for writing; makes it if missing (its directory must exist). Throws StoreError. */
export function openForWriting(path: string, mode: number): Database {
  try {
    if (!isSafeFile(path)) {
      create(path, mode);
      isSafeFile(path);
    }
    adjustMode(path, mode);
    refuseSharedWal(path);
    const db = new SqliteDatabase(path, { fileMustExist: true, timeout: WRITER_WAIT_MS });
    return closingOnError(db, () => {
      harden(db);
      requireOurs(db);
      db.pragma('journal_mode = DELETE');
      // EXTRA also syncs the directory after the journal is removed: a row that was reported as committed stays.
      db.pragma('synchronous = EXTRA');
      migrate(db);
      return db;
    });
  } catch (error) {
    throw storeError(path, error);
  }
}

/** Opens the store's file for reading, which waits at most 5 s for a writer. Throws StoreError. */
export function openForReading(path: string): Database {
  try {
    refuseSharedWal(path);
    const db = new SqliteDatabase(path, { readonly: true, fileMustExist: true, timeout: READER_WAIT_MS });
    return closingOnError(db, () => {
      harden(db);
      requireOurs(db);
      requireNewestSchema(db);
      return db;
    });
  } catch (error) {
    throw storeError(path, error, 'read');
  }
}
