import type { RequestRules } from '../../record/request-rules';
import type { HistoryStore, ImportedFile } from '../history-store';
import { HEAD_BYTES, hashOfHead, openAccountingFile, type AccountingFile } from './accounting-file';
import { knownFile } from './known-file';
import type { LinePlace } from './line-place';
import { endedIn, unpacked, type Ended } from './line-table';
import { placeAt } from './place-at';
import { readFault } from './read-fault';
import type { LineBatch } from './split-lines';
import { splitPieces } from './split-pieces';

/** Lines in one transaction: a writer in a hook waits for no longer than that takes. */
const BATCH_LINES = 20_000;
/** An importer that has lost so many races is beside a broken one. */
const MOST_CONFLICTS = 100;

interface FirstUnreadable {
  readonly path: string;
  readonly offset: number;
  readonly reason: string;
}

/** What was done. */
export interface ImportSums {
  /** Lines that were read, with those that are no records. */
  readonly lines: number;
  readonly added: number;
  readonly joined: number;
  readonly unchanged: number;
  readonly unreadable: number;
  readonly firstUnreadable: FirstUnreadable | null;
  /** When the first and the last job of the lines ended (ms); null: there are no lines of jobs. */
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
  readonly rules?: RequestRules;
  readonly signal?: AbortSignal;
  /** After each batch: what was done so far, and how much of the file on disk that was. */
  readonly onProgress?: (sums: ImportSums, done: number, of: number) => void;
  readonly batchLines?: number;
}

export interface ImportedSums extends ImportSums {
  /** What a person should know of this file: one line with cause and fix; null: all is well. */
  readonly problem: string | null;
}

/** A plain file may be cut off and written anew under our hands (copytruncate). */
async function isStill(file: AccountingFile, before: ImportedFile | null): Promise<boolean> {
  if (before === null || file.compressed) return true;
  return hashOfHead(await file.head(before.headBytes)) === before.head;
}

async function afterBatch(file: AccountingFile, before: ImportedFile | null, batch: LineBatch, cluster: string) {
  const headBytes = Math.min(HEAD_BYTES, batch.end);
  const head = before?.headBytes === headBytes ? before.head : hashOfHead(await file.head(headBytes));
  const lines = (before?.lines ?? 0) + batch.count;
  const { path, device, inode } = file;
  return { cluster, head, headBytes, path, device, inode, offset: batch.end, lines } satisfies ImportedFile;
}

/**
 * Imports what is new in one file, batch by batch: what is stored stays stored whatever comes. Rejects with StoreError;
 * what is wrong with the file is in `problem`.
 */
export async function importFile(path: string, store: ImportStore, options: ImportOptions): Promise<ImportedSums> {
  let file: AccountingFile;
  try {
    file = await openAccountingFile(path);
  } catch (error) {
    return { ...NOTHING_IMPORTED, problem: `${path} can't be read: ${readFault(error)}` };
  }
  try {
    let sums = NOTHING_IMPORTED;
    for (let conflicts = 0; conflicts < MOST_CONFLICTS; conflicts++) {
      const round = await importFrom(file, store, options, sums);
      sums = round.sums;
      if (!round.conflict) return { ...sums, problem: round.problem };
    }
    return { ...sums, problem: `${path}: another import keeps changing the same file's state; let it finish first` };
  } finally {
    await file.close();
  }
}

interface Round {
  readonly sums: ImportSums;
  readonly conflict: boolean;
  readonly problem: string | null;
}

async function importFrom(
  file: AccountingFile,
  store: ImportStore,
  options: ImportOptions,
  earlier: ImportSums,
): Promise<Round> {
  const { cluster, signal } = options;
  let sums = earlier;
  const end = (problem: string | null = null, conflict = false): Round => ({ sums, problem, conflict });
  let before: ImportedFile | null;
  let size: number;
  let begin: LinePlace;
  let from: number;
  try {
    before = knownFile(await file.head(HEAD_BYTES), await store.importedFiles(cluster));
    size = await file.size();
    if (before !== null && file.compressed && size === before.offset % 2 ** 32) return end();
    if (before !== null && !file.compressed && size < before.offset)
      return end(
        `${file.path} has shrunk: ${before.offset} bytes of it are in the accounting DB, now it has ${size}; nothing of it was imported: give the file that holds the rest`,
      );
    from = before?.offset ?? 0;
    begin = await placeAt(file, from);
  } catch (error) {
    if (isOurs(error)) throw error;
    return end(`${file.path} can't be read: ${readFault(error)}`);
  }

  const commit = async (batch: LineBatch): Promise<'done' | 'conflict' | 'replaced'> => {
    if (!(await isStill(file, before))) return 'replaced';
    const after = await afterBatch(file, before, batch, cluster);
    const outcome = await store.importLines({
      file: after,
      before,
      lines: unpacked(batch.packed),
      unreadable: batch.unreadable,
      ...(options.rules === undefined ? {} : { rules: options.rules }),
    });
    if (outcome.conflict) return 'conflict';
    before = after;
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

  const batches = splitPieces(file.read(from), from, options.batchLines ?? BATCH_LINES, begin, size - from);
  try {
    for await (const batch of batches) {
      if (signal?.aborted) return end();
      const result = await commit(batch);
      if (result !== 'done') return end(null, true);
    }
  } catch (error) {
    if (isOurs(error)) throw error;
    return end(`${file.path} could not be read to its end: ${readFault(error)}`);
  }
  return end();
}

/** Errors of the store, and bugs: all but those of the file system and of zlib. */
function isOurs(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return typeof code !== 'string' || !/^(E[A-Z0-9]+|Z_[A-Z_]+)$/.test(code);
}
