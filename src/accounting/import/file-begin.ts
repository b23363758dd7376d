import type { ImportedFile } from '../history-store';
import { HEAD_BYTES, hashOf, openAccountingFile, type AccountingFile } from './accounting-file';
import { knownFiles } from './known-file';
import { beginPlace, placeAt } from './place-at';
import type { FilePlace } from './split-lines';

/** Where an import goes on with a file. */
export interface Begin {
  /** How far the file is imported, itself or as another file that is the same up to there; null: not at all. */
  readonly before: ImportedFile | null;
  /** Another cluster under which the store has its lines; null: none. */
  readonly other: string | null;
  readonly place: FilePlace;
  /** Whether nothing in it is new. */
  readonly isRead: boolean;
}

/**
 * Where to go on with a file: after what was imported of it, if the file still has that there. A file that was edited,
 * cut off or restored, or is an older copy, is read from its beginning, which counts no line twice.
 */
export async function beginOf(
  file: AccountingFile,
  known: readonly ImportedFile[],
  cluster: string,
  size: number,
): Promise<Begin> {
  const head = await file.head(HEAD_BYTES);
  const alike = knownFiles(head, known, cluster);
  const begin = (before: ImportedFile | null, place: FilePlace, isRead: boolean): Begin => {
    const imported = before ?? alike.find((one) => one.cluster === cluster) ?? alike[0];
    return { before, place, isRead, other: imported && imported.cluster !== cluster ? imported.cluster : null };
  };
  // Of a compressed file the size is known modulo 2^32.
  const whole = file.compressed ? alike.find(({ offset }) => offset % 2 ** 32 === size) : undefined;
  if (whole !== undefined) return begin(whole, beginPlace(head), true);
  for (const before of alike) {
    const place = await placeAt(file, head, before.offset);
    if (place !== null && hashOf(place.tail) === before.tail) return begin(before, place, false);
  }
  return begin(null, beginPlace(head), false);
}

/** Why a file is not imported, and what to do. */
interface Refusal {
  readonly says: string;
  readonly fix: string;
}

export function refusal(path: string, other: string, cluster: string): Refusal {
  return {
    says: `${path}: its jobs are in the accounting DB as those of cluster ${other}, and would count again as those of ${cluster}`,
    fix: `set cluster = "${other}" in qmemacct.toml, or, if ${cluster} is its name from now on, say so once: "qmemacct import --cluster ${cluster}" continues after what is there`,
  };
}

/** Why an import would refuse the file; null: it would not. Rejects with the file system's error or zlib's. */
export async function refusalOf(
  path: string,
  known: readonly ImportedFile[],
  cluster: string,
): Promise<Refusal | null> {
  const file = await openAccountingFile(path);
  try {
    const { other } = await beginOf(file, known, cluster, await file.size());
    return other === null ? null : refusal(path, other, cluster);
  } finally {
    await file.close();
  }
}
