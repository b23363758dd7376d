import { codeOf } from '../../base/error-code';
import { UserError } from '../../base/user-error';
import type { RequestRules } from '../../record/request-rules';
import type { HistoryStore, ImportedFile } from '../history-store';
import { HEAD_BYTES, hashOf, openAccountingFile, type AccountingFile } from './accounting-file';
import { beginOf, refusal, type Begin } from './file-begin';
import { endedIn, linesOf, type Ended } from './line-table';
import { readFault } from './read-fault';
import type { LineBatch } from './split-lines';
import { splitPieces } from './split-pieces';

/** Lines in one transaction: a delivery waits no longer than one transaction takes. */
const BATCH_LINES = 20_000;
/** An importer that has lost this many races is running beside a broken one. */
const MOST_CONFLICTS = 100;

interface FirstUnreadable {
  readonly path: string;
  readonly offset: number;
  readonly reason: string;
}

/** What an import has done. */
export interface ImportSums {
  /** Lines that were read, including those that are no records. */
  readonly lines: number;
  readonly added: number;
  readonly joined: number;
  readonly unchanged: number;
  readonly unreadable: number;
  readonly firstUnreadable: FirstUnreadable | null;
  /** When the first and the last job of the lines ended (ms); null: no line has an end. */
  readonly ended: Ended | null;
}

export const NOTHING_IMPORTED: ImportSums = {
  lines: 0,
  added: 0,
  joined: 0,
  unchanged: 0,
  unreadable: 0,
  firstUnreadable: null,
  ended: null,
};

export function addSums(a: ImportSums, b: ImportSums): ImportSums {
  return {
    lines: a.lines + b.lines,
    added: a.added + b.added,
    joined: a.joined + b.joined,
    unchanged: a.unchanged + b.unchanged,
    unreadable: a.unreadable + b.unreadable,
    firstUnreadable: a.firstUnreadable ?? b.firstUnreadable,
    ended: spanOf(a.ended, b.ended),
  };
}

function spanOf(a: Ended | null, b: Ended | null): Ended | null {
  if (a === null || b === null) return a ?? b;
  return { first: Math.min(a.first, b.first), last: Math.max(a.last, b.last) };
}

/** The part of a store that an import needs. */
export type ImportStore = Pick<HistoryStore, 'importedFiles' | 'importLines'>;

export interface ImportOptions {
  readonly cluster: string;
  /** Whether a file that was imported as another cluster's continues as this one's. */
  readonly renames?: boolean;
  readonly rules?: RequestRules;
  readonly signal?: AbortSignal;
  /** After each batch: what was done so far, and how much of the file on disk that was. */
  readonly onProgress?: (sums: ImportSums, done: number, of: number) => void;
  readonly batchLines?: number;
}

export interface ImportedSums extends ImportSums {
  /** What is wrong with this file: one line with cause and fix; null: nothing. */
  readonly problem: string | null;
  /**
   * Whether the problem may be gone at another try, though the file does not change: a read error, as of a network file
   * system. Not of a compressed file, which each try reads from its beginning.
   */
  readonly mayPass: boolean;
  /** Whether its last line has no newline yet, and so is not imported; always false for a compressed file. */
  readonly isCut: boolean;
}

/** Whether a row is the file's own, even after a rename or edit: it is updated; the row of a copied file is not. */
function isOf(file: AccountingFile, { path, device, inode }: ImportedFile): boolean {
  return path === file.path || (device === file.device && inode === file.inode);
}

/** How far a file is imported; another cluster's becomes this one's. Rejects with UserError unless that is allowed. */
async function renamed(
  file: AccountingFile,
  { before, other }: Begin,
  store: ImportStore,
  { cluster, renames }: ImportOptions,
): Promise<ImportedFile | null> {
  if (other === null) return before;
  if (renames !== true) {
    const { says, fix } = refusal(file.path, other, cluster);
    throw new UserError(says, { hint: fix, status: 2 });
  }
  if (before === null) return null;
  const { path, device, inode } = file;
  const own = { ...before, cluster, path, device, inode };
  await store.importLines({ file: own, before: null, lines: [], unreadable: [] });
  return own;
}

/** Whether it still is the same file: a plain file may be truncated and rewritten while we read it (copytruncate). */
async function isStill(file: AccountingFile, before: ImportedFile | null): Promise<boolean> {
  if (before === null || file.compressed) return true;
  return hashOf(await file.head(before.headBytes)) === before.head;
}

async function afterBatch(file: AccountingFile, before: ImportedFile | null, batch: LineBatch, cluster: string) {
  const headBytes = Math.min(HEAD_BYTES, batch.end);
  const head = before?.headBytes === headBytes ? before.head : hashOf(await file.head(headBytes));
  const lines = (before?.lines ?? 0) + batch.count;
  const { path, device, inode } = file;
  const { end: offset, tail } = batch;
  return { cluster, head, headBytes, path, device, inode, offset, tail, lines } satisfies ImportedFile;
}

/**
 * Imports what is new in one file, batch by batch: stored batches stay stored whatever comes. Rejects with StoreError,
 * and with UserError if the file is another cluster's; anything else that is wrong with the file is in `problem`.
 */
export async function importFile(path: string, store: ImportStore, options: ImportOptions): Promise<ImportedSums> {
  let file: AccountingFile;
  try {
    file = await openAccountingFile(path);
  } catch (error) {
    const problem = `${path} can't be read: ${readFault(error)}`;
    return { ...NOTHING_IMPORTED, isCut: false, problem, mayPass: true };
  }
  try {
    let sums = NOTHING_IMPORTED;
    for (let conflicts = 0; conflicts < MOST_CONFLICTS; conflicts++) {
      const { conflict, sums: now, ...round } = await importFrom(file, store, options, sums);
      sums = now;
      if (!conflict) return { ...sums, ...round };
    }
    const problem = `${path}: another import keeps changing the same file's state; let it finish first`;
    return { ...sums, problem, isCut: false, mayPass: true };
  } finally {
    await file.close();
  }
}

/**
 * Whether a file that begins with this batch is not Grid Engine's accounting, or has an unknown format (then all lines
 * begin as a job's). If only few begin so, line feeds in a user's names may have made all the other lines.
 */
const isForeign = ({ packed, unreadable, split }: LineBatch): boolean =>
  packed.length === 0 && unreadable.length > 0 && (split === 0 || 2 * split > unreadable.length);

/** Says that no line of a file could be read. */
function foreign({ path }: AccountingFile, { count, unreadable }: LineBatch): string {
  const lines = count === 1 ? 'its first line is not one' : `none of its first ${count} lines is one`;
  return `${path}: ${lines} of Grid Engine's accounting (${unreadable[0]?.reason ?? ''}), and nothing was imported; give the accounting file, plain or compressed by gzip`;
}

interface Round {
  readonly sums: ImportSums;
  readonly conflict: boolean;
  readonly problem: string | null;
  readonly isCut: boolean;
  readonly mayPass: boolean;
}

async function importFrom(
  file: AccountingFile,
  store: ImportStore,
  options: ImportOptions,
  earlier: ImportSums,
): Promise<Round> {
  const { cluster, signal } = options;
  let sums = earlier;
  const end = (problem: string | null = null, conflict = false): Round => ({
    sums,
    problem,
    conflict,
    isCut: false,
    mayPass: false,
  });
  const failed = (problem: string): Round => ({ ...end(problem), mayPass: !file.compressed });
  let begin: Begin;
  let size: number;
  try {
    size = await file.size();
    begin = await beginOf(file, await store.importedFiles(), cluster, size);
  } catch (error) {
    if (isOurs(error)) throw error;
    return failed(`${file.path} can't be read: ${readFault(error)}`);
  }
  let before = await renamed(file, begin, store, options);
  if (begin.isRead) return end();
  const { place } = begin;
  let isOwn = before !== null && isOf(file, before);

  const commit = async (batch: LineBatch): Promise<'done' | 'conflict' | 'replaced' | 'foreign'> => {
    if (!(await isStill(file, before))) return 'replaced';
    if (before === null && isForeign(batch)) return 'foreign';
    // Another importer may have begun with the file meanwhile.
    if (!isOwn) {
      const now = await beginOf(file, await store.importedFiles(), cluster, size);
      if (now.isRead || now.place.offset > place.offset) return 'conflict';
    }
    const after = await afterBatch(file, before, batch, cluster);
    const outcome = await store.importLines({
      file: after,
      before: isOwn ? before : null,
      lines: linesOf(batch.packed),
      unreadable: batch.unreadable,
      ...(options.rules === undefined ? {} : { rules: options.rules }),
    });
    if (outcome.conflict) return 'conflict';
    before = after;
    isOwn = true;
    const [first] = batch.unreadable;
    sums = addSums(sums, {
      lines: batch.count,
      added: outcome.added,
      joined: outcome.joined,
      unchanged: outcome.unchanged,
      unreadable: batch.unreadable.length,
      firstUnreadable: first === undefined ? null : { path: file.path, offset: first.offset, reason: first.reason },
      ended: endedIn(batch.packed),
    });
    const { done, of } = file.progress();
    options.onProgress?.(sums, done, of);
    return 'done';
  };

  const batches = splitPieces(file.read(place.offset), place, options.batchLines ?? BATCH_LINES, size - place.offset);
  try {
    for await (const batch of batches) {
      if (signal?.aborted) return end();
      const result = await commit(batch);
      if (result === 'foreign') return end(foreign(file, batch));
      if (result !== 'done') return end(null, true);
    }
  } catch (error) {
    if (isOurs(error)) throw error;
    return failed(`${file.path} could not be read to its end: ${readFault(error)}`);
  }
  return { ...end(), isCut: !file.compressed && size > (before?.offset ?? 0) };
}

/** Whether an error is the store's or a bug: all but errors of the file system and of zlib. */
function isOurs(error: unknown): boolean {
  return !/^(E[A-Z0-9]+|Z_[A-Z_]+)$/.test(codeOf(error));
}
