import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { energyFigures } from '../../../src/sampler/figures/energy';
import type { Look } from '../../../src/sampler/figures/part';

const SECONDS = 600;

/** Of a job that alone keeps a node of 4 CPUs and 100 W busy, whose energy is read every 5 s. */
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
  it('charge a job with all that it used, however seldom it is looked at', () => {
    for (const lookEvery of [1, 5, 7, 30, 60]) {
      const { energy_package_joules: joules, energy_covered_seconds: covered } = energyOf(lookEvery);
      assert.ok((joules ?? 0) > 99 * SECONDS && (joules ?? 0) <= 100 * SECONDS, `${lookEvery} s: ${joules} J`);
      assert.equal(covered, SECONDS);
    }
  });

  it('charge it up to its end, though nobody looks at it any more', () => {
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
