import type { ImportBatch, ImportedFile } from '../history-store';
import { HEAD_BYTES, hashOf } from './accounting-file';

/** That of a file of no jobs yet: Grid Engine begins every file with the same comments. */
const COMMENTS = /^(?:#.*\n)*$/;

/**
 * What was imported of files that begin as this one does, whatever their name and inode are now, the farthest first, of
 * those as far `cluster`'s own. A short one was remembered by all that was imported of it, so that it is known again as
 * it grows. Whether the file still has at `offset` what was read is for the caller to see, by `tail`.
 */
export function knownFiles(head: Buffer, known: readonly ImportedFile[], cluster: string): readonly ImportedFile[] {
  const hashes = new Map<number, string>();
  const hash = (bytes: number): string => {
    const made = hashes.get(bytes) ?? hashOf(head.subarray(0, bytes));
    hashes.set(bytes, made);
    return made;
  };
  return known
    .filter(({ headBytes }) => headBytes >= 1 && headBytes <= Math.min(head.length, HEAD_BYTES))
    .filter((file) => hash(file.headBytes) === file.head)
    .filter((file) => file.cluster === cluster || !COMMENTS.test(head.toString('latin1', 0, file.headBytes)))
    .sort((a, b) => b.offset - a.offset || Number(b.cluster === cluster) - Number(a.cluster === cluster));
}

/** A file's row in a store. */
export type FileRow = ImportedFile & { readonly id: number };

/**
 * The number of the row that a batch is to go on with, if the store's rows are as its `before` says. `present`: the row
 * that is as `file` says already, `found`: that of `before`.
 */
export function rowOfBatch(
  { before }: Pick<ImportBatch, 'before'>,
  present: FileRow | undefined,
  found: FileRow | undefined,
): number | 'new' | 'conflict' {
  if (before === null) return present === undefined ? 'new' : 'conflict';
  // Two importers that began at different places of a file meet where they have read the same.
  if (found === undefined) return 'conflict';
  return (present ?? found).id === found.id ? found.id : 'conflict';
}
