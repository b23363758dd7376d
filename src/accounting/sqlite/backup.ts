import type { Database } from 'better-sqlite3';
import {
  chmodSync,
  chownSync,
  closeSync,
  fsyncSync,
  lstatSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { requireOwnPath } from '../../base/trusted-path';
import { UserError, reasonOf } from '../../base/user-error';
import type { LongWork } from '../history-store';
import { openForReading } from './database/open';
import { inStore } from './database/faults';

/** Copied before other work of this process has its turn. */
const PAGES_PER_STEP = 2000;

class Interrupted extends Error {}

/** Throws UserError unless nothing would be lost where the copy is to be. */
function requirePlace(path: string, to: string): void {
  const there = lstatSync(to, { throwIfNoEntry: false });
  if (there === undefined) return;
  const { dev, ino } = statSync(path);
  if (there.dev === dev && there.ino === ino)
    throw new UserError(`${to}: it is the accounting DB itself`, { hint: 'name another file' });
  if (!there.isFile()) throw new UserError(`${to}: it is not a regular file`, { hint: 'name a file' });
}

/** Gives the copy the mode of the store and, if we are root, its owner; it is on the disk when this returns. */
function complete(copy: string, path: string): void {
  const { mode, uid, gid } = statSync(path);
  if (process.geteuid?.() === 0) chownSync(copy, uid, gid);
  chmodSync(copy, mode & 0o777);
  const file = openSync(copy, 'r');
  fsyncSync(file);
  closeSync(file);
}

/** Resolves to the size of the copy at `to` (bytes). Rejects with Interrupted. */
async function copyStore(db: Database, copy: string, to: string, { signal, onProgress }: LongWork): Promise<number> {
  try {
    // SQLite would start again after each change by another process; while this transaction reads, nobody can commit.
    inStore(db, () => db.exec('BEGIN; SELECT count(*) FROM sqlite_schema'));
    await db.backup(copy, {
      progress: ({ totalPages, remainingPages }) => {
        if (signal?.aborted) throw new Interrupted();
        onProgress?.(totalPages - remainingPages, totalPages);
        return PAGES_PER_STEP;
      },
    });
    complete(copy, db.name);
    renameSync(copy, to);
    return statSync(to).size;
  } finally {
    for (const left of [copy, `${copy}-journal`]) rmSync(left, { force: true });
  }
}

/** Calls `work` with a new directory beside `to`; rejects with UntrustedError if that could lead root elsewhere. */
async function inOwnDirectory<T>(to: string, work: (directory: string) => Promise<T>): Promise<T> {
  const own = mkdtempSync(join(resolve(dirname(to)), `.${basename(to)}.`));
  try {
    requireOwnPath(own, to);
    return await work(own);
  } finally {
    rmdirSync(own);
  }
}

/**
 * Copies the SQLite store at `path`, as it is at one moment, to the file `to`, which is there whole or not at all.
 * Meanwhile others read the store, but do not write to it. Resolves to the size of the copy (bytes); null: interrupted.
 * Rejects with StoreError, or with UserError if the copy can't be written.
 */
export async function backUp(path: string, to: string, work: LongWork): Promise<number | null> {
  const db = openForReading(path);
  try {
    requirePlace(path, to);
    // SQLite takes what it finds beside its file, a link or a journal that others have put there, too.
    return await inOwnDirectory(to, (own) => copyStore(db, join(own, 'copy.db'), to, work));
  } catch (error) {
    if (error instanceof Interrupted) return null;
    if (error instanceof UserError) throw error;
    throw new UserError(`${to}: the copy can't be made: ${reasonOf(error)}`, {
      hint: 'name a file in a directory that you may write to, with room for it',
      cause: error,
    });
  } finally {
    db.close();
  }
}
