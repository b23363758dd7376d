import { availableParallelism } from 'node:os';
import { splitAside } from './split-aside';
import { lineSplitter, type FilePlace, type LineBatch } from './split-lines';

/** From this many bytes on, a second thread is worth its start. */
const MANY_BYTES = 16 << 20;

/**
 * The lines of a file's pieces in batches of `most`, the last one smaller; a second thread reads them if many bytes are
 * `expected`. If reading the pieces throws, throws that after the lines before it.
 */
export function splitPieces(
  pieces: AsyncIterable<Buffer>,
  begin: FilePlace,
  most: number,
  expected: number,
): AsyncGenerator<LineBatch, void> {
  return expected >= MANY_BYTES && availableParallelism() > 1
    ? splitAside(pieces, begin, most)
    : splitHere(pieces, begin, most);
}

export async function* splitHere(
  pieces: AsyncIterable<Buffer>,
  begin: FilePlace,
  most: number,
): AsyncGenerator<LineBatch, void> {
  const splitter = lineSplitter(begin, most);
  let failure: { readonly error: unknown } | null = null;
  try {
    for await (const piece of pieces) yield* splitter.add(piece);
  } catch (error) {
    failure = { error };
  }
  yield* splitter.rest();
  if (failure !== null) throw failure.error;
}
