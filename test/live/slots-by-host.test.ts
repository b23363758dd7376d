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
  it('takes each row as a slot where job_is_first_task is TRUE', () => {
    assert.deepEqual(placed({ a: peRows(1, true, 1), b: peRows(1, false, 2) }, 4), [
      ['a', 2, true],
      ['b', 2, false],
    ]);
  });

  it('leaves the row of the master task out where it is FALSE', () => {
    assert.deepEqual(placed({ b: peRows(1, false, 2), a: peRows(1, true, 2) }, 4), [
      ['a', 2, true],
      ['b', 2, false],
    ]);
  });

  it('never leaves the only row of a host out', () => {
    assert.deepEqual(placed({ a: peRows(1, true, 0), b: peRows(1, false, 2) }, 2), [
      ['a', 1, true],
      ['b', 2, false],
    ]);
  });

  it('takes rows as slots where nothing says what was granted', () => {
    assert.deepEqual(placed({ a: peRows(1, true, 2) }, null), [['a', 3, true]]);
  });

  it('gives a host that qstat alone knows what is missing', () => {
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

  it('keeps a host without slots that a task runs on', () => {
    assert.deepEqual(placed({ a: [row(1)] }, 1, ['a', 'b']), [
      ['a', 1, true],
      ['b', 0, false],
    ]);
  });

  it("takes the host of qstat for the master's where qhost does not say", () => {
    assert.deepEqual(placed({ a: [row(1, { role: '' })], b: [row(1, { role: '' })] }, 2, ['b']), [
      ['b', 1, true],
      ['a', 1, false],
    ]);
  });

  it('places nothing that nobody places', () => {
    assert.deepEqual(placed({}, 4), []);
  });
});
