import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { QhostJob } from '../../src/gridengine/qhost/qhost-report';
import { slotsByHost } from '../../src/live/slots-by-host';
import { peRows, row } from './snapshots';

function placed(
  rows: Readonly<Record<string, readonly QhostJob[]>>,
  granted: number | null,
  elsewhere: readonly string[] = [],
): readonly (readonly [string, number, boolean])[] {
  return slotsByHost({ rows: new Map(Object.entries(rows)), granted, elsewhere }).map(
    ({ host, slots, master }) => [host, slots, master] as const,
  );
}

describe('slotsByHost', () => {
  it('counts each row as a slot where job_is_first_task is TRUE', () => {
    assert.deepEqual(placed({ a: peRows(1, true, 1), b: peRows(1, false, 2) }, 4), [
      ['a', 2, true],
      ['b', 2, false],
    ]);
  });

  it('leaves out the row of the master task where job_is_first_task is FALSE', () => {
    assert.deepEqual(placed({ b: peRows(1, false, 2), a: peRows(1, true, 2) }, 4), [
      ['a', 2, true],
      ['b', 2, false],
    ]);
  });

  it('never leaves out the only row of a host', () => {
    assert.deepEqual(placed({ a: peRows(1, true, 0), b: peRows(1, false, 2) }, 2), [
      ['a', 1, true],
      ['b', 2, false],
    ]);
  });

  it('counts rows as slots where the granted number is unknown', () => {
    assert.deepEqual(placed({ a: peRows(1, true, 2) }, null), [['a', 3, true]]);
  });

  it('gives the remaining slots to a host that only qstat names', () => {
    assert.deepEqual(placed({ a: peRows(1, true, 1) }, 4, ['a', 'b']), [
      ['a', 2, true],
      ['b', 2, false],
    ]);
    assert.deepEqual(placed({}, 5, ['a', 'b']), [
      ['a', 3, true],
      ['b', 2, false],
    ]);
    assert.deepEqual(placed({}, null, ['a']), [['a', 1, true]]);
  });

  it('keeps a host without slots on which a task runs', () => {
    assert.deepEqual(placed({ a: [row(1)] }, 1, ['a', 'b']), [
      ['a', 1, true],
      ['b', 0, false],
    ]);
  });

  it("takes qstat's host as the master's where qhost does not say", () => {
    assert.deepEqual(placed({ a: [row(1, { role: '' })], b: [row(1, { role: '' })] }, 2, ['b']), [
      ['b', 1, true],
      ['a', 1, false],
    ]);
  });

  it('places no slots without any host', () => {
    assert.deepEqual(placed({}, 4), []);
  });
});
