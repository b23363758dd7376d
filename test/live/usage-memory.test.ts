import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Dialect } from '../../src/gridengine/dialect';
import { amountOf, measureOf, usageMemory } from '../../src/live/usage-memory';
import { GIB, usage } from './snapshots';

const ofUnit = new Map([
  ['rss', 1],
  ['maxrss', 2],
]);

describe('usageMemory', () => {
  it('is vmem and maxvmem under the meaning of the dialect', () => {
    assert.deepEqual(usageMemory(usage(2, 1), 'sge8.1.9'), { vmem: GIB, maxvmem: 2 * GIB, measure: 'rss_swap_sum' });
    assert.deepEqual(usageMemory(usage(2, 1), 'sge6.2'), { vmem: GIB, maxvmem: 2 * GIB, measure: 'vmem_sum' });
    assert.equal(usageMemory(usage(2), 'daimh').measure, 'rss_swap_sum');
  });

  it("is the unit's rss and maxrss where OCS has no vmem", () => {
    assert.deepEqual(usageMemory(ofUnit, 'ocs'), { vmem: 1, maxvmem: 2, measure: 'cgroup' });
    assert.deepEqual(usageMemory(new Map([...ofUnit, ...usage(2)]), 'ocs'), {
      vmem: 2 * GIB,
      maxvmem: 2 * GIB,
      measure: 'vmem_sum',
    });
    assert.deepEqual(usageMemory(new Map(), 'ocs'), { vmem: null, maxvmem: null, measure: null });
  });

  it("is the unit's where it was used for a second of CPU time and not integrated, by daimh's fork alone", () => {
    const measure = (changes: Readonly<Record<string, number>>, dialect: Dialect): unknown =>
      usageMemory(new Map([...usage(2), ...Object.entries(changes)]), dialect).measure;
    // qstat -xml does not tell the fork from 8.1.9.
    assert.equal(measure({ mem: 0 }, 'sge8.1.9'), 'cgroup');
    assert.equal(measure({ mem: 0 }, 'daimh'), 'cgroup');
    assert.equal(measure({ mem: 0, cpu: 0.9 }, 'sge8.1.9'), 'rss_swap_sum');
    assert.equal(measure({ mem: 0, vmem: 0 }, 'sge8.1.9'), 'rss_swap_sum');
    assert.equal(measure({ mem: 0 }, 'ogs'), 'vmem_sum');
  });

  it('takes rss of no other dialect for vmem', () => {
    assert.deepEqual(usageMemory(ofUnit, 'univa'), { vmem: null, maxvmem: null, measure: 'vmem_sum' });
  });
});

describe('measureOf', () => {
  it("is the unit's as soon as one task shows it", () => {
    const told = usageMemory(usage(2), 'daimh');
    assert.equal(measureOf([told, { ...told, measure: 'cgroup' }]), 'cgroup');
    assert.equal(measureOf([{ ...told, measure: null }, told]), 'rss_swap_sum');
    assert.equal(measureOf([]), null);
  });
});

describe('amountOf', () => {
  it('is an amount or nothing', () => {
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
