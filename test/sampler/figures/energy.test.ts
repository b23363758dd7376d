import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { energyFigures } from '../../../src/sampler/figures/energy';
import type { Look } from '../../../src/sampler/figures/part';

const SECONDS = 600;

/** Metrics of a job, read every `lookEvery` s, that keeps all 4 CPUs of a node of 100 W busy; the node is read every 5 s. */
function energyOf(lookEvery: number): Readonly<Record<string, number>> {
  const part = energyFigures();
  const node = (second: number): unknown =>
    part.node?.({
      kind: 'node',
      id: null,
      gpu: [],
      charges: {
        atMs: second * 1000,
        energy: [{ metric: 'rapl_energy_joules', instance: 'package-0', value: 100 * second }],
        busyCpuSeconds: 4 * second,
        cpuSeconds: 4 * second,
        usedBytes: 2 ** 30,
        idleWatts: 0,
        disagreement: null,
      },
    });
  for (let second = 0; second < SECONDS; second++) {
    if (second % lookEvery === 0) part.look?.({ cpuSeconds: 4 * second, readings: { rss: 2 ** 30 } } as Look);
    if (second % 5 === 0) node(second);
  }
  part.look?.({ cpuSeconds: 4 * SECONDS, readings: { rss: 2 ** 30 } } as Look);
  part.finish?.();
  node(SECONDS);
  return part.metrics();
}

describe('energyFigures', () => {
  it('charge a job for all the energy that it used, however seldom it is read', () => {
    for (const lookEvery of [1, 5, 7, 30, 60]) {
      const { energy_package_joules: joules, energy_covered_seconds: covered } = energyOf(lookEvery);
      assert.ok((joules ?? 0) > 99 * SECONDS && (joules ?? 0) <= 100 * SECONDS, `${lookEvery} s: ${joules} J`);
      assert.equal(covered, SECONDS);
    }
  });

  it('count energy up to the reading of the node that follows the last reading of the job', () => {
    const part = energyFigures();
    const node = (second: number): unknown =>
      part.node?.({
        ...{ kind: 'node', id: null, gpu: [] },
        charges: {
          ...{ atMs: second * 1000, busyCpuSeconds: second, cpuSeconds: second, usedBytes: 1 },
          energy: [{ metric: 'rapl_energy_joules', instance: 'package-0', value: second }],
          ...{ idleWatts: 0, disagreement: null },
        },
      });
    part.look?.({ cpuSeconds: 0, readings: { rss: 1 } } as Look);
    node(0);
    part.finish?.();
    node(3);
    assert.equal(part.metrics().energy_node_joules, 3);
  });
});
