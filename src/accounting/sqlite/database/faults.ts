import { codeOf } from '../../../base/error-code';
import type { Database } from 'better-sqlite3';
import { SqliteError, UnusableSqlite } from '../../../native/sqlite';
import { DamagedRecord, StoreError, type Fault } from '../../store-error';
import { denialOf, type StoreUse } from './denied';

/** It may come from the settings, or be a command's argument. */
export const RIGHT_PATH = 'check its path: "accounting" in qmemacct.toml, or the one given';

const FULL: Fault = { reason: 'its file system is full', hint: 'make room there', retry: true };
/** If permissions are not the reason (denied.ts). */
const READ_ONLY: Fault = {
  reason: 'it can only be read',
  hint: 'see that its file system is mounted for writing, and "lsattr" of the file and its directory',
  retry: true,
};
const UNREACHABLE: Fault = {
  reason: 'reading or writing it failed',
  hint: "look at its disk, or at its file server and the kernel's log",
  retry: true,
};
export const RESTORE = 'restore it from a backup (admin guide), or salvage it with "sqlite3 FILE .recover"';
const BROKEN: Fault = {
  reason: 'it is damaged',
  hint: RESTORE,
  retry: false,
};

const BY_SQLITE: readonly (readonly [RegExp, Fault])[] = [
  [
    /^SQLITE_READONLY_DBMOVED/,
    {
      reason: 'its file was replaced or removed while it was open',
      hint: 'put the right file there; it is opened anew at the next try',
      retry: true,
    },
  ],
  [
    /^SQLITE_READONLY_(?:ROLLBACK|RECOVERY|CANTLOCK)/,
    {
      reason: 'a writer that died left it in the middle of a change',
      hint: 'the next delivery of a job puts it right',
      retry: true,
    },
  ],
  [
    /^SQLITE_(?:BUSY|LOCKED|PROTOCOL)/,
    { reason: 'it is locked by another process', hint: 'try again; "fuser -v FILE" shows who holds it', retry: true },
  ],
  [/^SQLITE_FULL/, FULL],
  [/^SQLITE_(?:READONLY|PERM)/, READ_ONLY],
  [
    /^SQLITE_NOTADB/,
    { reason: 'it is not a database', hint: `${RIGHT_PATH}; or it is damaged: ${RESTORE}`, retry: false },
  ],
  [/^SQLITE_(?:CORRUPT|FORMAT)/, BROKEN],
  // Rows are only inserted after no row with their key was found.
  [/^SQLITE_CONSTRAINT_(?:PRIMARYKEY|ROWID|UNIQUE)/, BROKEN],
  [/^SQLITE_CANTOPEN/, { ...READ_ONLY, reason: 'it or its journal could not be opened' }],
  // The journal of a writer that died is rolled back, but can't be removed from a directory that is read-only.
  [/^SQLITE_IOERR_DELETE/, { ...READ_ONLY, reason: 'its journal could not be removed' }],
  [/^SQLITE_IOERR/, UNREACHABLE],
  [/^SQLITE_NOMEM/, { reason: 'memory ran out', hint: 'try again', retry: true }],
];

const MISSING: Fault = {
  reason: 'it does not exist',
  hint: `${RIGHT_PATH}; and see that its file system is mounted`,
  retry: true,
};

const BY_ERRNO: Readonly<Record<string, Fault>> = {
  ENOENT: MISSING,
  ENOTDIR: MISSING,
  EISDIR: { reason: 'it is a directory', hint: RIGHT_PATH, retry: false },
  EACCES: READ_ONLY,
  EPERM: READ_ONLY,
  EROFS: READ_ONLY,
  ENOSPC: FULL,
  EDQUOT: { ...FULL, reason: "its user's quota is used up" },
};

function faultOf(error: unknown): Fault | null {
  const code = codeOf(error);
  if (error instanceof SqliteError) return BY_SQLITE.find(([pattern]) => pattern.test(code))?.[1] ?? null;
  // Any other errno (EIO, ESTALE, EHOSTDOWN ...) is the disk's or the server's.
  return /^E[A-Z0-9]+$/.test(code) ? (BY_ERRNO[code] ?? UNREACHABLE) : null;
}

/** Whether an error comes from the store (locked, full, damaged ...), not from the record at hand. */
export function isStoreFault(error: unknown): boolean {
  return error instanceof StoreError || faultOf(error) !== null;
}

/** Faults whose reason may be permissions. */
const PERHAPS_DENIED = /^(?:EACCES|EPERM|SQLITE_READONLY(?!_DBMOVED)|SQLITE_PERM|SQLITE_CANTOPEN|SQLITE_IOERR_DELETE)/;

/** An error of SQLite or of the file system, met at this use, as a StoreError; other errors as they are. */
export function storeError(path: string, error: unknown, use: StoreUse = 'write'): unknown {
  if (error instanceof StoreError) return error;
  if (error instanceof DamagedRecord) return new StoreError(path, error.message, BROKEN.hint, false, error);
  if (error instanceof UnusableSqlite) return new StoreError(path, error.reason, error.hint, true, error);
  const fault = faultOf(error);
  if (fault === null) return error;
  const denial = PERHAPS_DENIED.test(codeOf(error)) ? denialOf(path, use) : null;
  if (denial !== null) return new StoreError(path, denial.reason, denial.hint, true, error);
  const reason = fault === UNREACHABLE ? `${fault.reason} (${codeOf(error)})` : fault.reason;
  return new StoreError(path, reason, fault.hint, fault.retry, error);
}

/** An error of a step on the database as a StoreError; other errors as they are. */
export const stepError = ({ name, readonly }: Database, error: unknown): unknown =>
  storeError(name, error, readonly ? 'read' : 'write');

/** Runs a step on the database. Throws StoreError. */
export function inStore<T>(db: Database, step: () => T): T {
  try {
    return step();
  } catch (error) {
    throw stepError(db, error);
  }
}

/** The same; what is thrown rejects the promise. */
export const asPromise = <T>(db: Database, step: () => T): Promise<T> =>
  new Promise((resolve) => {
    resolve(inStore(db, step));
  });
