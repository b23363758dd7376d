import fc from 'fast-check';
import { anyCharacter } from '../../support/any-character';

/** Pieces of given texts in any order, cut anywhere, among numbers of any size and plain bytes. */
export function garbageText(...texts: readonly string[]): fc.Arbitrary<string> {
  const piece = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 20 }),
    fc
      .tuple(fc.constantFrom(...texts), fc.nat(4000), fc.nat(4000))
      .map(([text, from, length]) => text.slice(from % (text.length + 1), (from % (text.length + 1)) + length)),
    fc.constantFrom('\n', ' ', ':', '\t', '-', '-1', '0', '18446744073709551615', '9'.repeat(400), 'NaN', '1e999'),
  );
  return fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''));
}

/** The text of a small file of sysfs: nothing sensible, or just a number. */
export const oddFile: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 30 }),
  fc.constantFrom('', '\n', '-1\n', '-274000\n', '18446744073709551615\n', `${'9'.repeat(400)}\n`, '0x10\n', '1 2\n'),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n }).map((number) => `${number}\n`),
);
