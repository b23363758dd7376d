import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { freeSlotsOf, stranded, usualRequest } from '../../src/live/stranded';
import { GIB } from './snapshots';

describe('stranded', () => {
  const room = { up: true, free: 10 * GIB, freeSlots: 8, usual: 2 * GIB };

  it('is the free memory of a host without free slots', () => {
    assert.deepEqual(stranded({ ...room, freeSlots: 0 }), { memory: 10 * GIB, slots: 0 });
  });

  it('is the number of slots for which no memory is left', () => {
    assert.deepEqual(stranded(room), { memory: 0, slots: 3 });
    assert.deepEqual(stranded({ ...room, usual: GIB }), { memory: 0, slots: 0 });
    assert.deepEqual(stranded({ ...room, free: 0 }), { memory: 0, slots: 8 });
    assert.deepEqual(stranded({ ...room, free: -GIB }), { memory: 0, slots: 8 });
  });

  it('is nothing where jobs request no memory, as long as some is left', () => {
    assert.deepEqual(stranded({ ...room, usual: null }), { memory: 0, slots: 0 });
    assert.deepEqual(stranded({ ...room, usual: null, free: 0 }), { memory: 0, slots: 8 });
  });

  it('is nothing on a host that is down or has no h_vmem', () => {
    assert.deepEqual(stranded({ ...room, up: false, freeSlots: 0 }), { memory: 0, slots: 0 });
    assert.deepEqual(stranded({ ...room, free: null, freeSlots: 0 }), { memory: 0, slots: 0 });
  });
});

describe('freeSlotsOf', () => {
  it('counts the free slots of queues in which a job can start', () => {
    const one = { name: 'q', slots: 8, slotsUsed: 3, state: '', reserved: 1 };
    assert.equal(freeSlotsOf([one, { ...one, state: 'd' }, { ...one, state: 'au' }]), 4);
    assert.equal(
      freeSlotsOf([
        { ...one, slots: null },
        { ...one, slotsUsed: 20 },
      ]),
      0,
    );
    assert.equal(freeSlotsOf([{ ...one, slotsUsed: null, reserved: null }]), 8);
  });
});

describe('usualRequest', () => {
  it('is the median over slots', () => {
    assert.equal(usualRequest([]), null);
    assert.equal(
      usualRequest([
        { bytes: 4, slots: 1 },
        { bytes: 1, slots: 1 },
        { bytes: 9, slots: 1 },
      ]),
      4,
    );
    assert.equal(
      usualRequest([
        { bytes: 4, slots: 1 },
        { bytes: 1, slots: 16 },
        { bytes: 9, slots: 1 },
      ]),
      1,
    );
    assert.equal(
      usualRequest([
        { bytes: 0, slots: 5 },
        { bytes: 7, slots: 0 },
      ]),
      null,
    );
  });
});
