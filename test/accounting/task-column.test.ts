import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Cell } from '../../src/accounting/cell-codec';
import { TaskColumn } from '../../src/accounting/task-column';

const cell = fc.oneof(fc.constant<Cell>(null), fc.constant<Cell>(7), fc.double({ noNaN: true }), fc.string());
/** Parts with cells of one type, as most columns have, and mixed ones. */
const part = fc.oneof(
  fc.array(cell, { maxLength: 5 }),
  fc.tuple(cell, fc.nat(5)).map(([one, count]) => Array.from({ length: count }, () => one)),
  fc.array(fc.oneof(fc.constant<Cell>(null), fc.integer()), { maxLength: 5 }),
);

describe('a column of tasks', () => {
  it('gives back the cells that were added', () => {
    fc.assert(
      fc.property(fc.array(part), (parts) => {
        const all = parts.flat();
        const column = new TaskColumn(all.length);
        for (const cells of parts) column.add(cells);
        assert.deepEqual(column.toCells(), all);
        assert.deepEqual(column.distinct(), new Set(all.length === 0 ? [null] : all));
        if (column.isSame) assert.equal(new Set(all).size <= 1, true);
        assert.deepEqual(TaskColumn.of(all).toCells(), all);
      }),
    );
  });

  it('keeps a single cell while all rows are the same', () => {
    const column = TaskColumn.of(['x'], 3);
    assert.deepEqual([column.isSame, column.toCells()], [true, ['x', 'x', 'x']]);
    column.addSame(1);
    assert.equal(column.at(3), 'x');
  });
});
