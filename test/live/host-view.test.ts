import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { HostView, JobPart } from '../../src/live/cluster-view';
import { hostView, unlistedHost } from '../../src/live/host-view';
import { AT, downHost, GIB, host, queue, resource, row } from './snapshots';

const part = (changes: Partial<JobPart> = {}): JobPart => ({
  host: 'a',
  job: 1,
  task: null,
  owner: 'alice',
  name: 'job1',
  slots: 2,
  master: true,
  alone: true,
  limit: 4 * GIB,
  limitState: 'limited',
  reserved: 4 * GIB,
  masterMaxvmem: null,
  masterVmem: null,
  tasks: [],
  measure: 'rss_swap_sum',
  pastMaxvmem: null,
  ours: null,
  trend: null,
  ...changes,
});

const view = (changes: Parameters<typeof host>[1], parts: readonly JobPart[] = []): HostView =>
  hostView(host('a', changes), parts, { complex: 'h_vmem', usual: null });

describe('hostView', () => {
  it("reads free memory from the host's consumable only", () => {
    assert.equal(view({ resources: [resource('h_vmem', '12.500G')] }).free, 12.5 * GIB);
    assert.equal(view({ resources: [resource('h_vmem', ' -1.000G ')] }).free, -GIB);
    for (const other of [
      resource('h_vmem', '1G', 'qc'),
      resource('h_vmem', '1G', 'gc'),
      resource('h_vmem', 'INFINITY'),
      resource('h_vmem', '?'),
    ])
      assert.deepEqual([view({ resources: [other] }).free, view({ resources: [other] }).capacity], [null, null]);
  });

  it('adds up the slots of its queues, or of its jobs where qhost lists no queues', () => {
    const queues = [queue('a.q', 3, 8), queue('b.q', 1, 8)];
    assert.deepEqual([view({ queues }).slots, view({ queues }).slotsUsed], [16, 4]);
    assert.deepEqual([view({}, [part()]).slots, view({}, [part()]).slotsUsed], [null, 2]);
  });

  it('has no more slots than complex_values gives the host', () => {
    const queues = [queue('a.q', 3, 8), queue('b.q', 1, 8)];
    assert.equal(view({ queues, resources: [resource('slots', '4')] }).slots, 8);
  });

  it('counts memory as stranded where complex_values leaves no slots', () => {
    const full = view({
      queues: [queue('a.q', 4, 8)],
      resources: [resource('slots', '0'), resource('h_vmem', '3G')],
    });
    assert.equal(full.strandedMemory, 3 * GIB);
  });

  it("takes the sampler's figures where Grid Engine has none yet", () => {
    const ours = { rss: 5, lower: 7, upper: null, at: AT };
    const one = view({}, [part({ ours }), part({ job: 2, ours, masterVmem: 100, masterMaxvmem: 200 })]);
    assert.deepEqual([one.used, one.peak], [105, 207]);
    // Grid Engine's figure of a systemd unit includes the page cache.
    const unit = view({}, [part({ ours, measure: 'cgroup', masterVmem: 100, masterMaxvmem: 200 })]);
    assert.deepEqual([unit.used, unit.peak], [5, 7]);
  });

  it('counts requested memory and jobs without a limit', () => {
    const none = part({ job: 2, limit: null, limitState: 'unlimited', reserved: 0 });
    const unknown = part({ job: 3, limit: null, limitState: 'unknown', reserved: 0 });
    const one = view({ resources: [resource('h_vmem', '1G')], jobs: [row(1)] }, [part(), none, unknown]);
    assert.deepEqual([one.requested, one.unlimited, one.capacity], [4 * GIB, 1, 5 * GIB]);
  });

  it('is down where execd reports neither load nor used memory', () => {
    assert.equal(view({ load: null, memoryUsed: null }).up, false);
    assert.deepEqual([view({ load: null }).up, view({ memoryUsed: null }).up], [true, true]);
  });

  it('is down without an architecture', () => {
    const down = hostView(downHost('a'), [part()], { complex: 'h_vmem', usual: null });
    assert.deepEqual([down.up, down.memoryTotal, down.parts.length], [false, null, 1]);
  });
});

describe('unlistedHost', () => {
  it('has its jobs, and everything else unknown', () => {
    const one = unlistedHost('a', [part()], 'h_vmem');
    assert.deepEqual([one.up, one.slots, one.slotsUsed, one.capacity, one.requested], [true, null, 2, null, 4 * GIB]);
  });
});
