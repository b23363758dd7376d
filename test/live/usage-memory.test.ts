import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Dialect } from '../../src/gridengine/dialect';
import type { TaskDetail } from '../../src/gridengine/qstat/job-detail';
import { amountOf, measureOf, usageMemory, withoutReserved } from '../../src/live/usage-memory';
import { GIB, usage } from './snapshots';

const UNIT_USAGE = new Map([
  ['rss', 1],
  ['maxrss', 2],
]);

describe('usageMemory', () => {
  it('takes vmem and maxvmem as the dialect means them', () => {
    assert.deepEqual(usageMemory(usage(2, 1), 'sge8.1.9'), { vmem: GIB, maxvmem: 2 * GIB, measure: 'rss_swap_sum' });
    assert.deepEqual(usageMemory(usage(2, 1), 'sge6.2'), { vmem: GIB, maxvmem: 2 * GIB, measure: 'vmem_sum' });
    assert.equal(usageMemory(usage(2), 'daimh').measure, 'rss_swap_sum');
  });

  it('takes rss and maxrss of the systemd unit where OCS has no vmem', () => {
    assert.deepEqual(usageMemory(UNIT_USAGE, 'ocs'), { vmem: 1, maxvmem: 2, measure: 'cgroup' });
    assert.deepEqual(usageMemory(new Map([...UNIT_USAGE, ...usage(2)]), 'ocs'), {
      vmem: 2 * GIB,
      maxvmem: 2 * GIB,
      measure: 'vmem_sum',
    });
    assert.deepEqual(usageMemory(new Map(), 'ocs'), { vmem: null, maxvmem: null, measure: null });
  });

  it("recognizes figures of a unit by a second of CPU time without `mem`, in daimh's fork only", () => {
    const measure = (changes: Readonly<Record<string, number>>, dialect: Dialect): unknown =>
      usageMemory(new Map([...usage(2), ...Object.entries(changes)]), dialect).measure;
    // In qstat -xml the fork looks like 8.1.9.
    assert.equal(measure({ mem: 0 }, 'sge8.1.9'), 'cgroup');
    assert.equal(measure({ mem: 0 }, 'daimh'), 'cgroup');
    assert.equal(measure({ mem: 0, cpu: 0.9 }, 'sge8.1.9'), 'rss_swap_sum');
    assert.equal(measure({ mem: 0, vmem: 0 }, 'sge8.1.9'), 'rss_swap_sum');
    assert.equal(measure({ mem: 0 }, 'ogs'), 'vmem_sum');
  });

  it('takes rss as vmem in no other dialect', () => {
    assert.deepEqual(usageMemory(UNIT_USAGE, 'univa'), { vmem: null, maxvmem: null, measure: 'vmem_sum' });
  });
});

describe('withoutReserved', () => {
  const taskWith = (usage: Readonly<Record<string, number>>): TaskDetail => ({
    ...{ task: 1, status: 128, startedAt: 0, peTasks: [] },
    usage: new Map(Object.entries(usage)),
  });

  it('leaves out what Grid Engine reserves for a job in place of what it uses (SHARETREE_RESERVED_USAGE)', () => {
    const vmem = 524_288_000;
    const reserved = taskWith({ cpu: 15, mem: 7.324219, io: 0, iow: 0, vmem, maxvmem: vmem });
    const peTasks = [{ id: 'past_usage', host: null, past: true, usage: new Map([['maxvmem', vmem]]) }];
    const [left] = withoutReserved({ ...reserved, peTasks })?.peTasks ?? [];
    assert.equal(left?.usage.size, 0);
    assert.equal(withoutReserved(taskWith({ cpu: 15, mem: 0, io: 0, iow: 0 }))?.usage.size, 0);
    const constant = 301 * 4096;
    for (const usage of [
      { cpu: 15, mem: 7.31, vmem, maxvmem: vmem },
      { cpu: 15, mem: (15 * constant) / GIB, vmem: constant, maxvmem: constant },
      { cpu: 15, mem: 0, vmem: 0, maxvmem: 0 },
      {},
    ]) {
      const measured = taskWith(usage);
      assert.equal(withoutReserved(measured), measured);
    }
  });
});

describe('measureOf', () => {
  it("is the unit's as soon as one task shows it", () => {
    const figures = usageMemory(usage(2), 'daimh');
    assert.equal(measureOf([figures, { ...figures, measure: 'cgroup' }]), 'cgroup');
    assert.equal(measureOf([{ ...figures, measure: null }, figures]), 'rss_swap_sum');
    assert.equal(measureOf([]), null);
  });
});

describe('amountOf', () => {
  it('is an amount, or null', () => {
    const figures = new Map([
      ['a', 0],
      ['b', -1],
      ['c', NaN],
      ['d', Infinity],
    ]);
    assert.deepEqual(
      ['a', 'b', 'c', 'd', 'e'].map((name) => amountOf(figures, name)),
      [0, null, null, null, null],
    );
  });
});
