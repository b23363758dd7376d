import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { adviseRequest } from '../../../src/report/advice/advice';
import { wholeOf } from '../../../src/report/job/job-whole';
import type { JobRecord } from '../../../src/record/record';
import { after, mpiMaster, mpiTask, ordinary, provedBracket } from '../sample-records';

const GIB = 2 ** 30;

function killed(task: JobRecord): JobRecord {
  const peak = provedBracket(31.5 * GIB, 31.6 * GIB, after(400), 'simpleFoam');
  return { ...task, exit_status: 137, signal: 9, peak_rss: peak, peak_rss_swap: peak };
}

describe('wholeOf', () => {
  it('gives one record for the whole job and one per host', () => {
    const { total, hosts, fullest } = wholeOf([mpiMaster(2), mpiTask(1), mpiTask(2), mpiTask(2, 2)]);
    assert.equal(total.slots, 32);
    assert.equal(total.h_vmem?.limit_bytes, 64 * GIB);
    assert.equal(total.pe_task_id, null);
    assert.deepEqual(
      hosts.map((host) => [host.host, host.host_slots, host.h_vmem?.limit_bytes]),
      [
        ['node01', 16, 32 * GIB],
        ['node02', 16, 32 * GIB],
      ],
    );
    assert.equal(fullest.host, 'node02');
  });

  it('finds the host whose task was killed at its limit, though the master only failed', () => {
    const { fullest, needs } = wholeOf([{ ...mpiMaster(2), exit_status: 1 }, killed(mpiTask(1)), mpiTask(2)]);
    assert.deepEqual([fullest.host, fullest.exit_status], ['node01', 137]);
    const advice = adviseRequest(needs);
    assert.deepEqual([advice?.kind, advice?.request, advice?.guess], ['raise', 'h_vmem=3G', true]);
  });

  it('advises by the memory of a whole host, and by the address space of the largest process', () => {
    const fat = provedBracket(30 * GIB, 30 * GIB, null, 'solver');
    const byProcess = adviseRequest(wholeOf([mpiMaster(1), { ...mpiTask(1), peak_process_vmem: fat }]).needs);
    // A process may use what its host was granted: 30 GiB and 20 % headroom on 16 slots.
    assert.deepEqual([byProcess?.request, byProcess?.need.quantity], ['h_vmem=2.3G', 'peak_process_vmem']);
    const held = provedBracket(28 * GIB, 28 * GIB, null, 'solver');
    const task = { ...mpiTask(1), peak_rss: held, peak_rss_swap: held };
    const byHost = adviseRequest(wholeOf([mpiMaster(1), task]).needs);
    assert.deepEqual([byHost?.request, byHost?.slots], ['h_vmem=2.2G', 16]);
  });

  it('returns the record itself for a job on one host', () => {
    const { sum, total, hosts, fullest, memoryHost, needs } = wholeOf([ordinary]);
    assert.equal(sum, null);
    for (const record of [total, fullest, memoryHost]) assert.equal(record, ordinary);
    assert.deepEqual([hosts, needs], [[ordinary], [ordinary]]);
  });

  it('shows no memory of a job that never ran: that was the shepherd', () => {
    const { total, needs } = wholeOf([{ ...ordinary, exit_status: null, failed: 27 }]);
    assert.deepEqual(
      [total.peak_rss, total.peak_process_vmem, total.series, needs[0]?.peak_rss],
      [null, null, null, null],
    );
    assert.equal(wholeOf([{ ...ordinary, failed: 21 }]).total.peak_rss, ordinary.peak_rss);
  });

  it("works without the master's record", () => {
    const { sum, total, hosts } = wholeOf([mpiTask(2), mpiTask(3)]);
    assert.deepEqual([sum?.slots, hosts.length, total.status, total.exit_status], [32, 2, 'finished', 0]);
  });
});
