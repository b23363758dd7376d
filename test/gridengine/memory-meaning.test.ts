import assert from 'node:assert/strict';
import { describe, it } from 'node:test';

import { memoryMeaning } from '../../src/gridengine/memory-meaning';

describe('memoryMeaning', () => {
  it('sums address space in 6.2 and its descendants, resident memory in 8.1.9', () => {
    assert.equal(memoryMeaning('sge6.2').maxvmem, 'vmem_sum');
    assert.equal(memoryMeaning('ogs').execdLimit, 'vmem_sum');
    assert.equal(memoryMeaning('univa').maxvmem, 'vmem_sum');
    assert.equal(memoryMeaning('sge8.1.9').maxvmem, 'rss_swap_sum');
    assert.equal(memoryMeaning('daimh').execdLimit, 'rss_swap_sum');
  });

  it('differs where systemd keeps the jobs', () => {
    assert.equal(memoryMeaning('daimh', { systemd: true }).maxvmem, 'cgroup');
    assert.equal(memoryMeaning('ocs', { systemd: true }).maxvmem, null);
    assert.deepEqual(
      [true, false].map((systemd) => memoryMeaning('ocs', { systemd }).maxrss),
      ['cgroup', 'rss_sum'],
    );
  });

  it('claims nothing for an unknown dialect', () => {
    assert.deepEqual(memoryMeaning('unknown'), { maxrss: null, maxvmem: null, execdLimit: null });
  });
});
