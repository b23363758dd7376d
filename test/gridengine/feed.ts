import fc from 'fast-check';

import type { AnswerEnd, AnswerReader } from '../../src/gridengine/reading';

/** Feeds an answer to a reader in pieces of the given sizes, which are used over and over. */
export function feed<T>(
  make: (onItem: (item: T) => void) => AnswerReader,
  answer: string | Uint8Array,
  sizes: readonly number[] = [65_536],
): { readonly items: readonly T[]; readonly end: AnswerEnd } {
  const items: T[] = [];
  const reader = make((item) => items.push(item));
  const bytes = typeof answer === 'string' ? Buffer.from(answer) : answer;
  for (let from = 0, turn = 0; from < bytes.length; turn += 1) {
    const size = Math.max(1, sizes[turn % sizes.length] ?? 1);
    // A copy that is wiped afterwards: a reader may not keep the caller's buffer.
    const piece = Buffer.from(bytes.subarray(from, from + size));
    reader.write(piece);
    piece.fill(0x3f);
    from += size;
  }
  return { items, end: reader.end() };
}

export const anySizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 6 });

/** Bytes that look like an answer here and there. */
export function garbage(words: readonly string[]): fc.Arbitrary<Buffer> {
  const piece = fc.oneof(
    fc.constantFrom(...words).map((word) => Buffer.from(word)),
    fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes)),
    fc.string({ maxLength: 12 }).map((text) => Buffer.from(text)),
  );
  return fc.array(piece, { maxLength: 60 }).map((pieces) => Buffer.concat(pieces));
}
