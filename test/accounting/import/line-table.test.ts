import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { LineAt, LinePacker, linesOf, type TableLine } from '../../../src/accounting/import/line-table';
import { arbitraryLine } from './arbitrary-line';

/** Fields of a line that records do not use. */
const NOT_PACKED = ['group', 'department', 'priority', 'minorFaults', 'majorFaults', 'blocksIn', 'blocksOut'].concat([
  'voluntarySwitches',
  'involuntarySwitches',
  'iowSeconds',
  'arId',
  'layout',
]);

const FIELDS = Object.entries(Object.getOwnPropertyDescriptors(LineAt.prototype))
  .filter(([, property]) => 'get' in property)
  .map(([name]) => name);
const plain = (line: TableLine): unknown => {
  const fields: Readonly<Record<string, unknown>> = line as unknown as Record<string, unknown>;
  return Object.fromEntries(FIELDS.map((name) => [name, fields[name]]));
};

it('LinePacker gives back the packed lines, batch after batch, with each word once', () => {
  const packer = new LinePacker(20);
  fc.assert(
    fc.property(fc.array(arbitraryLine(), { maxLength: 20 }), (given) => {
      for (const line of given) packer.add(line);
      const packed = packer.take();
      assert.equal(packed.length, given.length);
      const wanted = given.map((line) =>
        Object.fromEntries(Object.entries({ place: null, ...line }).filter(([name]) => !NOT_PACKED.includes(name))),
      );
      for (let again = 0; again < 2; again++) assert.deepEqual([...linesOf(packed)].map(plain), wanted);
      assert.equal(packed.words.length, new Set(packed.words.slice(1)).size + 1);
    }),
  );
});
