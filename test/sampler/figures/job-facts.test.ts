import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  charge,
  ENERGY_JOB_METRICS,
  energyMetrics,
  newEnergyAccount,
} from '../../../src/sampler/figures/energy-charges';
import { OF_THE_JOB } from '../../../src/sources/job/cgroup-reading';
import { GPU_JOB_METRICS, gpuMetrics, newGpuUse, observeGpus } from '../../../src/sampler/figures/gpu-use';
import { ALL_FACTS, JOB_FACTS } from '../../../src/sampler/figures/job-facts';
import { Lineage, lineageMetrics } from '../../../src/sampler/processes/lineage';
import { addPss, NO_PSS, PSS_FACTS, pssMetrics } from '../../../src/sampler/figures/pss-sums';
import { CGROUP_METRICS } from '../../../src/sources/job/cgroup-reading';
import { NAMED_EVENTS } from '../../../src/sources/job/perf-event-names';
import { perfMetricReadings } from '../../../src/sources/job/perf-metrics';
import type { Gpu } from '../../../src/sources/node/gpu';
import type { Metric } from '../../../src/sources/source';

const LISTED: ReadonlyMap<string, Metric> = new Map(
  ALL_FACTS.flatMap(({ metrics }) => metrics.map((metric) => [metric.name, metric])),
);

/** Asserts that every name is listed as a metric of a whole job. */
function assertListed(names: readonly string[]): void {
  assert.ok(names.length > 0);
  for (const name of names) {
    const metric = LISTED.get(name);
    assert.ok(metric !== undefined, `${name} is not listed`);
    assert.equal(metric.scope, 'job', name);
  }
}

describe('figures of a whole job', () => {
  it('have unique names that begin with their source and end in their unit', () => {
    assert.equal(LISTED.size, ALL_FACTS.flatMap(({ metrics }) => metrics).length);
    for (const { name: source, metrics } of JOB_FACTS)
      for (const { name, unit, scope, resolution, help } of metrics) {
        assert.ok(name.startsWith(`${source}_`) && (unit === 'count' || name.endsWith(`_${unit}`)), name);
        assert.equal(scope, 'job', name);
        assert.match(help, /^[A-Z][^\n]*\.$/, name);
        if (unit !== 'bytes' && unit !== 'count') assert.ok(resolution !== undefined && resolution > 1, name);
      }
  });
});

it('the help of no metric has a typographic apostrophe, which some terminals lack', () => {
  const helps = ALL_FACTS.flatMap(({ metrics }) => metrics.map(({ help }) => help));
  assert.deepEqual(
    helps.filter((help) => help.includes('\u2019')),
    [],
  );
});

describe('the list of facts', () => {
  it('has the metrics of exit records', () => {
    assertListed(Object.keys(lineageMetrics(new Lineage({ kernel: [6, 1], pageSize: 4096, cpus: 1 }).totals())));
  });

  it('has the energy metrics, each of which a record can hold', () => {
    const node = { seconds: 5, packageJoules: 500, dramJoules: 50, busyCpuSeconds: 10, cpuSeconds: 20, usedBytes: 100 };
    const account = charge(newEnergyAccount(), {
      node,
      job: { cpuSeconds: 5, rssBytes: 50 },
      idle: { watts: 20, configured: false },
    });
    const metrics = energyMetrics(account);
    assertListed(Object.keys(metrics));
    assert.deepEqual(
      Object.keys(metrics),
      ENERGY_JOB_METRICS.map(({ name }) => name),
    );
    assert.deepEqual(metrics, {
      energy_package_joules: 200,
      energy_dram_joules: 25,
      energy_idle_joules: 100,
      energy_node_joules: 550,
      energy_covered_seconds: 5,
    });
    assert.deepEqual(energyMetrics(newEnergyAccount()), {});
  });

  it('has the PSS metrics, each of which a record can hold', () => {
    const quantities = ['', '_anon', '_file', '_shmem', '_swap', '_uss', '_footprint'];
    const readings = quantities.map((what) => ({ metric: `pss${what}_bytes`, instance: '', value: 7, pid: 3 }));
    const names = Object.keys(pssMetrics(addPss(NO_PSS, readings)));
    assertListed(names);
    assert.deepEqual(
      names,
      PSS_FACTS.map(({ name }) => name),
    );
  });

  it('has the GPU metrics, each of which a record can hold', () => {
    const gpu: Gpu = { id: 'GPU-aa', vendor: 'nvidia', index: 0, parent: null, aliases: [] };
    const look = { held: { held: [{ gpu, variables: [], pids: [7] }], notes: [] }, gpus: [gpu], pids: new Set([7]) };
    const readings = (joules: number) => [
      { metric: 'nvidia_utilization_percent', instance: gpu.id, value: 50 },
      { metric: 'nvidia_energy_joules', instance: gpu.id, value: joules },
      { metric: 'nvidia_process_memory_bytes', instance: gpu.id, value: 1024, pid: 7 },
    ];
    const first = observeGpus(newGpuUse(0), { ...look, atMs: 1000, readings: readings(10) });
    const names = Object.keys(gpuMetrics(observeGpus(first, { ...look, atMs: 2000, readings: readings(20) })));
    assertListed(names);
    assert.deepEqual(
      names,
      GPU_JOB_METRICS.map(({ name }) => name),
    );
  });

  it('has the metrics of control groups that a record holds', () => {
    assertListed([...OF_THE_JOB]);
    const known = new Set(CGROUP_METRICS.map(({ name }) => name));
    for (const name of OF_THE_JOB) assert.ok(known.has(name), name);
  });

  it('has the metrics of perf counters, each named once', () => {
    const readings = NAMED_EVENTS.map(({ name: event }) => ({ event, value: 5, scaledShare: 1 }));
    const found = perfMetricReadings([...readings, { event: 'r1a8', value: 1, scaledShare: 1 }]);
    assertListed(found.map(({ metric }) => metric));
    const keys = found.map(({ metric, instance }) => `${metric} ${instance}`);
    assert.equal(new Set(keys).size, keys.length);
  });
});
