import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  opendirSync,
  openSync,
  readSync,
  rmdirSync,
  unlinkSync,
  type Dir,
} from 'node:fs';
import { reasonOf } from '../../base/user-error';

/** The files that users leave in `STATE/outbox` (root's, 1733): anything can lie there, in any number. */

export const MOST_HANDED_BYTES = 64 * 1024;
/** A half-written file that is older than this is not being written any more. */
const HALF_WRITTEN_MS = 600_000;
/** Directories and half-written files that one pass looks at. */
const MOST_LEFTOVERS = 100;

interface HandedFile {
  readonly uid: number;
  /** When the file was last changed (ms since the epoch); no user can set it. */
  readonly changedMs: number;
  readonly text: string;
}

/** Some paths in the outbox, as bytes: a user may give a file any name. */
interface OutboxPaths {
  readonly files: readonly Buffer[];
  /** Directories, which no hook makes, and files that their hook has not finished. */
  readonly leftovers: readonly Buffer[];
}

/** Keeps `most` names, each with the same chance: a user who leaves thousands of files can't hide those of others. */
function newSample(most: number): { readonly names: readonly string[]; put(name: string): void } {
  const names: string[] = [];
  let seen = 0;
  return {
    names,
    put: (name) => {
      const place = seen++ < most ? names.length : Math.floor(Math.random() * seen);
      if (place < most) names[place] = name;
    },
  };
}

/** Paths in the outbox, at most `most` files, found while `goOn` returns true. Throws if the outbox can't be read. */
export function outboxPaths(outbox: string, most: number, goOn: () => boolean): OutboxPaths {
  const files = newSample(most);
  const leftovers = newSample(MOST_LEFTOVERS);
  const directory: Dir = opendirSync(outbox, { bufferSize: 1024, encoding: 'latin1' });
  try {
    for (let entry = directory.readSync(); entry !== null && goOn(); entry = directory.readSync())
      (entry.isDirectory() || entry.name.endsWith('.new') ? leftovers : files).put(entry.name);
  } finally {
    directory.closeSync();
  }
  const pathOf = (name: string): Buffer => Buffer.concat([Buffer.from(`${outbox}/`), Buffer.from(name, 'latin1')]);
  return { files: files.names.map(pathOf), leftovers: leftovers.names.map(pathOf) };
}

/** Whether the outbox is empty or can't be read; quick, however much it holds. */
export function isOutboxEmpty(outbox: string): boolean {
  try {
    const directory = opendirSync(outbox, { bufferSize: 1 });
    const first = directory.readSync();
    directory.closeSync();
    return first === null;
  } catch {
    return true;
  }
}

/** Removes empty directories, and files that were left half written. */
export function clearLeftovers(paths: readonly Buffer[], nowMs: number): void {
  for (const path of paths) {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined) continue;
    if (found.isDirectory() || nowMs - found.ctimeMs > HALF_WRITTEN_MS) removeHanded(path);
  }
}

/** Paths by the uid of their owner; a link counts as its own owner's, not its target's. */
export function pathsByUser(paths: readonly Buffer[], goOn: () => boolean): ReadonlyMap<number, readonly Buffer[]> {
  const byUser = new Map<number, Buffer[]>();
  for (const path of paths) {
    if (!goOn()) break;
    const uid = lstatSync(path, { throwIfNoEntry: false })?.uid;
    if (uid === undefined) continue;
    const own = byUser.get(uid);
    if (own === undefined) byUser.set(uid, [path]);
    else own.push(path);
  }
  return byUser;
}

const buffer = Buffer.alloc(MOST_HANDED_BYTES);

/** A file that a user left, or a string: why it is not read. Never blocks, follows no link. */
export function readHanded(path: Buffer): HandedFile | string {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    return `can't be opened (${reasonOf(error)})`;
  }
  try {
    const status = fstatSync(fd);
    if (!status.isFile() || status.nlink !== 1) return 'not an ordinary file';
    if (status.size > MOST_HANDED_BYTES) return 'larger than 64 KiB';
    const length = readSync(fd, buffer, 0, buffer.length, 0);
    return { uid: status.uid, changedMs: status.ctimeMs, text: buffer.toString('utf8', 0, length) };
  } catch (error) {
    return `can't be read (${reasonOf(error)})`;
  } finally {
    closeSync(fd);
  }
}

/** Removes a file or an empty directory. */
export function removeHanded(path: Buffer): void {
  try {
    if (lstatSync(path).isDirectory()) rmdirSync(path);
    else unlinkSync(path);
  } catch {
    // Gone already, or a directory that is not empty: root must not descend into what a user can change meanwhile.
  }
}
