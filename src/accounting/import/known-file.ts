import type { ImportedFile } from '../history-store';
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
