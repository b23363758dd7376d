import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { linePacker, lineTable } from '../../../src/accounting/import/line-table';
import type { AccountingRecord } from '../../../src/gridengine/accounting-line';
import { arbitraryLine } from './arbitrary-line';

const lines = fc.array(
  fc
    .tuple(arbitraryLine(), fc.constantFrom(43, 45, 54, 'json'), fc.nat())
    .map(([line, layout, odd]): AccountingRecord => ({
      ...line,
      layout: layout as AccountingRecord['layout'],
      priority: -odd,
      minorFaults: odd,
      majorFaults: odd + 1,
      blocksIn: odd + 2,
      blocksOut: odd + 3,
      voluntarySwitches: odd + 4,
      involuntarySwitches: odd + 5,
      iowSeconds: odd / 1000,
      department: odd % 2 === 0 ? null : 'department',
      arId: odd % 3 === 0 ? null : odd,
    })),
  { maxLength: 20 },
);

it('gives the lines back that were packed, one after the other', () => {
  const packer = linePacker(20);
  fc.assert(
    fc.property(lines, (given) => {
      for (const line of given) packer.add(line);
      const packed = packer.take();
      const table = lineTable(packed);
      assert.equal(table.length, given.length);
      assert.deepEqual([...table], given);
      assert.deepEqual([...table], given);
      const passed: AccountingRecord[] = [];
      for (const line of table.passing()) passed.push({ ...line });
      assert.deepEqual(passed, given);
      assert.equal(packed.words.length, new Set(packed.words.slice(1)).size + 1);
    }),
  );
});
