import type { ImportBatch, ImportedFile } from '../history-store';
import { HEAD_BYTES, hashOf } from './accounting-file';

/** The beginning of a file without jobs yet: Grid Engine begins every file with the same comments. */
const COMMENTS = /^(?:#.*\n)*$/;

/**
 * Imported files that begin as this one does, whatever their name and inode: those imported farthest first, of equally
 * far ones `cluster`'s own first. A file that was short is recognised as it grows, by all that was imported of it. The
 * caller checks by `tail` whether the file still has the imported bytes before `offset`.
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
 * The id of the row that a batch updates, if the store's rows are as its `before` says. `present`: a row that is
 * already as `file` says; `found`: the row of `before`.
 */
export function rowOfBatch(
  { before }: Pick<ImportBatch, 'before'>,
  present: FileRow | undefined,
  found: FileRow | undefined,
): number | 'new' | 'conflict' {
  if (before === null) return present === undefined ? 'new' : 'conflict';
  // Two importers that began at different places of a file may reach the same place.
  if (found === undefined) return 'conflict';
  return (present ?? found).id === found.id ? found.id : 'conflict';
}
