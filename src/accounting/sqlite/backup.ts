import { constants, lstatSync, readdirSync, renameSync, rmSync, statSync, type Stats } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { HOUR_MS, MIB } from '../../base/units';
import { UserError, reasonOf } from '../../base/user-error';
import type { LongWork } from '../history-store';
import { isWal, openForReading } from './database/open';
import { inStore, RESTORE } from './database/faults';
import { sqliteDamage } from './damage';

const CHUNK_BYTES = 4 * MIB;
/** A copy without a new byte for longer is nobody's: reading it through takes less. */
const LEFT_MS = 6 * HOUR_MS;

const copyName = (to: string, pid: number | string): string => `.${basename(to)}.${pid}.new`;

/** Removes the copies of earlier backups to this file that were killed. */
function removeLeft(to: string): void {
  const directory = dirname(to);
  for (const name of readdirSync(directory)) {
    const pid = /\.(\d+)\.new$/.exec(name)?.[1];
    if (pid === undefined || name !== copyName(to, pid)) continue;
    const found = lstatSync(join(directory, name), { throwIfNoEntry: false });
    if (found !== undefined && Date.now() - found.mtimeMs > LEFT_MS) rmSync(join(directory, name), { force: true });
  }
}

/** Throws UserError unless nothing would be lost where the copy is to be. */
function requirePlace(path: string, to: string): void {
  const there = lstatSync(to, { throwIfNoEntry: false });
  if (there === undefined) return;
  const store = statSync(path, { throwIfNoEntry: false });
  if (there.dev === store?.dev && there.ino === store.ino)
    throw new UserError(`${to}: it is the accounting DB itself`, { hint: 'name another file' });
  if (!there.isFile()) throw new UserError(`${to}: it is not a regular file`, { hint: 'name a file' });
}

/** Gives a copy to those who may read what was copied, and puts it on the disk. */
async function complete(copy: FileHandle, { mode, uid, gid }: Stats): Promise<void> {
  await copy.chmod(mode & 0o777);
  if (process.geteuid?.() === 0) await copy.chown(uid, gid);
  await copy.sync();
}

/** Copies the bytes of a file that nobody changes meanwhile. Resolves to what was copied; null: interrupted. */
async function copied(path: string, copy: FileHandle, { signal, onProgress }: LongWork): Promise<Stats | null> {
  const buffer = Buffer.allocUnsafeSlow(CHUNK_BYTES);
  // Closing any descriptor of the store ends this process's locks on it (fcntl(2)): this one is open until the end.
  const from = await open(path, constants.O_RDONLY);
  try {
    const stats = await from.stat();
    const { size } = stats;
    for (let at = 0; at < size;) {
      if (signal?.aborted) return null;
      onProgress?.(Math.floor(at / MIB), Math.ceil(size / MIB));
      const { bytesRead } = await from.read(buffer, 0, buffer.length, at);
      if (bytesRead === 0) throw new UserError(`${path}: it became shorter while it was copied`);
      at += (await copy.write(buffer, 0, bytesRead, at)).bytesWritten;
    }
    return stats;
  } finally {
    await from.close();
  }
}

/** The same, of an SQLite store that others use: as long as a transaction reads it, nobody can commit. */
async function copiedAtOnce(path: string, copy: FileHandle, work: LongWork): Promise<Stats | null> {
  const db = openForReading(path);
  try {
    if (isWal(path))
      throw new UserError(`${path}: it is in WAL mode, where this file is not all of it`, {
        hint: 'sqlite3 FILE "PRAGMA journal_mode=DELETE"',
      });
    inStore(db, () => db.exec('BEGIN; SELECT count(*) FROM sqlite_schema'));
    return await copied(path, copy, work);
  } finally {
    db.close();
  }
}

/** Throws UserError if the copy is of a damaged store, so that it does not replace an earlier, sound one. */
function requireSound(path: string, copy: string, to: string): void {
  const damage = sqliteDamage(copy, Infinity);
  if (damage !== null)
    throw new UserError(`${path}: it is damaged (${damage}): no copy is kept, ${to} is as it was`, { hint: RESTORE });
}

/**
 * Copies the SQLite store at `path`, as it is at one moment, to the file `to`, which is there whole and sound or not at
 * all. Meanwhile others read the store, but do not write to it. Resolves to the size of the copy (bytes); null: interrupted.
 * Rejects with StoreError, or with UserError if the copy can't be written. `onProgress`: in MiB.
 */
export async function backUp(path: string, to: string, work: LongWork): Promise<number | null> {
  const copy = join(dirname(to), copyName(to, process.pid));
  try {
    requirePlace(path, to);
    removeLeft(to);
    // By its descriptor only: the owner of the directory could put another file, or a link, in place of it.
    const file = await open(copy, 'wx', 0o600);
    try {
      // Not SQLite's own backup: page by page it takes three times as long, while deliveries wait.
      const store = await copiedAtOnce(path, file, work);
      if (store === null) return null;
      await complete(file, store);
      const made = await file.stat();
      const there = lstatSync(copy, { throwIfNoEntry: false });
      if (made.dev !== there?.dev || made.ino !== there.ino) throw new UserError(`${copy}: it was replaced`);
      requireSound(path, copy, to);
    } finally {
      await file.close();
    }
    renameSync(copy, to);
    return statSync(to).size;
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError(`${to}: the copy can't be made: ${reasonOf(error)}`, {
      hint: 'name a file in a directory that you may write to, with room for it',
      cause: error,
    });
  } finally {
    rmSync(copy, { force: true });
  }
}
