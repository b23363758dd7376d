import assert from 'node:assert/strict';
import { it } from 'node:test';
import { chargedEnergy, countedAt, hostSlots, requestedBytes } from '../../src/record/facts';
import type { MemoryRequest } from '../../src/record/record';
import { GIB, HOUR, job, lineOf, T0 } from '../accounting/suite/fixture';

it('countedAt is the end, of a running job its last heartbeat, else its start or submission', () => {
  const unknown = { ended_at: null, started_at: null, submitted_at: null } as const;
  assert.equal(countedAt(job(1, T0)), T0);
  assert.equal(countedAt(job(1, T0, { status: 'running', ended_at: null, revision: T0 + 5 })), T0 + 5);
  assert.equal(countedAt(job(1, T0, { ended_at: null })), T0 - HOUR);
  assert.equal(countedAt(job(1, T0, { ended_at: null, started_at: null })), T0 - 2 * HOUR);
  assert.equal(countedAt(job(1, T0, unknown)), T0);
});

it('requestedBytes scales the request to the slots of the host', () => {
  const requested = (
    request: number | null,
    limit: number | null,
    per: MemoryRequest['per'],
    slots: number | null,
  ): unknown =>
    requestedBytes(job(1, T0, { host_slots: slots, h_vmem: { request_bytes: request, limit_bytes: limit, per } }));
  assert.equal(requested(GIB, 4 * GIB, 'slot', 4), 4 * GIB);
  assert.equal(requested(2 * GIB, 4 * GIB, 'job', 4), 2 * GIB);
  assert.equal(requested(2 * GIB, 2 * GIB, 'host', 4), 2 * GIB);
  assert.equal(requested(null, 4 * GIB, 'slot', 4), 4 * GIB);
  assert.equal(requested(GIB, 4 * GIB, 'slot', null), 4 * GIB);
  assert.equal(requested(GIB, null, 'slot', 2), 2 * GIB);
  assert.equal(requested(null, null, 'slot', 2), null);
  assert.equal(requestedBytes(job(1, T0, { h_vmem: null })), null);
});

it("hostSlots of accounting lines counts the job's slots once, for the master", () => {
  assert.equal(hostSlots(job(1, T0, { host_slots: 3, slots: 8 })), 3);
  assert.equal(hostSlots(job(1, T0, { host_slots: null, slots: 8 })), 1);
  assert.equal(hostSlots(lineOf(job(1, T0), { slots: 8 })), 8);
  assert.equal(hostSlots(lineOf(job(1, T0), { slots: 8, pe_task_id: '1.node1' })), 0);
});

it('chargedEnergy adds up the energy of CPUs and memory, and is null if neither is known', () => {
  assert.equal(chargedEnergy(job(1, T0)), null);
  assert.equal(chargedEnergy(job(1, T0, { metrics: { energy_dram_joules: 5 } })), 5);
  const both = { energy_package_joules: 20, energy_dram_joules: 5, energy_node_joules: 99 };
  assert.equal(chargedEnergy(job(1, T0, { metrics: both })), 25);
});
