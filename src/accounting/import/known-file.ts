import type { ImportBatch, ImportedFile } from '../history-store';
import { HEAD_BYTES, hashOfHead } from './accounting-file';

/**
 * The imported file that begins as this one does: the same, whatever its name and inode are now; null: none. A short
 * one was remembered by all that was imported of it, so that it is known again as it grows.
 */
export function knownFile(head: Uint8Array, known: readonly ImportedFile[]): ImportedFile | null {
  const hashes = new Map<number, string>();
  const hash = (bytes: number): string => {
    const made = hashes.get(bytes) ?? hashOfHead(head.subarray(0, bytes));
    hashes.set(bytes, made);
    return made;
  };
  let best: ImportedFile | null = null;
  for (const file of known) {
    if (file.headBytes > head.length || file.headBytes < 1 || file.headBytes > HEAD_BYTES) continue;
    if (best !== null && (best.headBytes > file.headBytes || best.offset >= file.offset)) continue;
    if (hash(file.headBytes) === file.head) best = file;
  }
  return best;
}

/** A file's row in a store. */
export type FileRow = ImportedFile & { readonly id: number };

/**
 * The number of the row that a batch is to go on with, if the store's rows are as its `before` says; a batch that begins a
 * file must not find it there. `present`: the row of its file, `found`: that of `before`.
 */
export function rowOfBatch(
  { before }: Pick<ImportBatch, 'before'>,
  present: FileRow | undefined,
  found: FileRow | undefined,
): number | 'new' | 'conflict' {
  if (before === null) return present === undefined ? 'new' : 'conflict';
  // Two importers that began a short file at different lengths meet where their heads become the same.
  const isOther = present !== undefined && present.id !== found?.id;
  return isOther || found?.offset !== before.offset ? 'conflict' : found.id;
}
