import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { joinNote, splitNote } from '../../src/accounting/note-template';
import { anyCharacter } from '../support/any-character';

it('splitNote replaces the numbers of a note, but not those with leading zeros', () => {
  const { template, numbers } = splitNote('the first 120 ms of 3 s were not sampled (1.50 MiB, 007)');
  assert.deepEqual(numbers, [120, 3, 1, 50]);
  assert.equal(template, 'the first \u0001 ms of \u0001 s were not sampled (\u0001.\u0001 MiB, 007)');
});

it('joinNote restores any note', () => {
  const piece = fc.oneof(
    fc.string({ unit: anyCharacter }),
    fc.nat().map(String),
    fc.constantFrom('\u0001', '0', '00', '$1', '9'),
  );
  fc.assert(
    fc.property(fc.array(piece), (pieces) => {
      const note = pieces.join('');
      assert.equal(joinNote(splitNote(note)), note);
    }),
    { numRuns: 2000 },
  );
});
