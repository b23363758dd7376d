import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { energyBetween } from '../../../src/sampler/figures/energy-counters';
import type { Reading } from '../../../src/sources/source';

const readings = (counters: Readonly<Record<string, number>>, metric = 'rapl_energy_joules'): readonly Reading[] =>
  Object.entries(counters).map(([instance, value]) => ({ metric, instance, value }));

describe('energyBetween', () => {
  it('adds up packages and their DRAM, without their cores and the counter of the whole platform', () => {
    const before = readings({ 'package-0': 10, 'package-0/dram': 1, 'package-1': 20, 'package-0/core': 5, psys: 50 });
    const after = readings({ 'package-0': 15, 'package-0/dram': 3, 'package-1': 27, 'package-0/core': 9, psys: 90 });
    assert.deepEqual(energyBetween(before, after), { packageJoules: 12, dramJoules: 2 });
    assert.deepEqual(
      energyBetween(
        readings({ 'package-0-die-1': 1 }, 'raplperf_energy_joules'),
        readings({ 'package-0-die-1': 4 }, 'raplperf_energy_joules'),
      ),
      { packageJoules: 3, dramJoules: null },
    );
  });

  it('gives no package energy where a package is missing or its counter began anew', () => {
    const both = readings({ 'package-0': 10, 'package-1': 20, 'package-0/dram': 1 });
    assert.deepEqual(energyBetween(both, readings({ 'package-0': 11, 'package-0/dram': 2 })), {
      packageJoules: null,
      dramJoules: 1,
    });
    assert.equal(energyBetween(both, readings({ 'package-0': 11, 'package-1': 19 })).packageJoules, null);
    assert.deepEqual(energyBetween([], []), { packageJoules: null, dramJoules: null });
    assert.equal(energyBetween(readings({ 'package-0': 1 }, 'thermal'), both).packageJoules, null);
  });
});
