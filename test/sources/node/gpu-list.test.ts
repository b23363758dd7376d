import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { packageRoot } from '../../../src/base/package-root';
import { heldGpus } from '../../../src/sources/job/held-gpus';
import { drm, drmGpus } from '../../../src/sources/node/drm';
import type { Gpu } from '../../../src/sources/node/gpu';
import { gpusOf } from '../../../src/sources/node/gpu-list';
import { nvidiaReadings } from '../../../src/sources/node/nvidia';
import { isUnavailable, THIS_MACHINE, type Reading } from '../../../src/sources/source';

/** No GPU was at hand: NVIDIA's are written down here, the others are fixture trees. */
const nvidiaGpu = (id: string, index: number, parent: string | null = null): Gpu => ({
  id,
  vendor: 'nvidia',
  index,
  name: 'A100',
  pci: '0000:07:00.0',
  parent,
  aliases: [],
});

const NVIDIA = [
  nvidiaGpu('GPU-aa', 0),
  nvidiaGpu('MIG-11', 1, 'GPU-aa'),
  nvidiaGpu('MIG-22', 4, 'GPU-aa'),
  nvidiaGpu('GPU-bb', 1),
];

const ofNvidia = (gpus: readonly Gpu[]): readonly Reading[] =>
  nvidiaReadings({
    gpus: gpus.map((gpu) => ({
      gpu,
      memoryTotalBytes: 1,
      memoryUsedBytes: 0,
      utilizationPercent: null,
      memoryUtilizationPercent: null,
      powerWatts: null,
      energyJoules: null,
      temperatureCelsius: null,
    })),
    processes: [{ gpu: 'MIG-22', pid: 7, memoryBytes: 1, utilizationPercent: null, peakMemoryBytes: null }],
  });

function ofDrm(name: string): { readonly readings: readonly Reading[]; readonly gpus: readonly Gpu[] } {
  const sys = join(packageRoot(), 'test', 'fixtures', 'drm', name, 'sys');
  const source = drm.open({ ...THIS_MACHINE, sys, options: {} });
  assert.ok(!isUnavailable(source));
  const readings = source.read();
  assert.ok(!isUnavailable(readings));
  return { readings, gpus: drmGpus(sys) };
}

const places = (gpus: readonly Gpu[]): unknown =>
  gpus.map(({ id, vendor, index, parent }) => [id, vendor, index, parent]);

describe('gpusOf', () => {
  it("finds NVIDIA's GPUs and the instances that they are cut into", () => {
    const found = gpusOf(ofNvidia(NVIDIA));
    assert.deepEqual(places(found), places(NVIDIA));
    const { held } = heldGpus(new Map([['CUDA_VISIBLE_DEVICES', '1']]), found, new Map(), new Set());
    assert.deepEqual(
      held.map(({ gpu }) => gpu.id),
      ['GPU-bb'],
    );
  });

  it('takes no instance for a GPU when its GPU is lost', () => {
    assert.deepEqual(places(gpusOf(ofNvidia(NVIDIA.slice(1)))), [['GPU-bb', 'nvidia', 1, null]]);
  });

  for (const name of ['amdgpu-linux-6.8', 'i915-linux-6.6', 'xe-linux-6.12'])
    it(`numbers the cards of ${name} as their driver does`, () => {
      const { readings, gpus } = ofDrm(name);
      assert.deepEqual(places(gpusOf(readings)), places(gpus));
    });

  it('counts each vendor for itself on a host with several', () => {
    const all = gpusOf([
      ...ofDrm('i915-linux-6.6').readings,
      ...ofNvidia(NVIDIA),
      ...ofDrm('amdgpu-linux-6.8').readings,
    ]);
    for (const vendor of ['amd', 'intel'] as const)
      assert.deepEqual(
        all.filter((gpu) => gpu.vendor === vendor).map(({ index }) => index),
        vendor === 'amd' ? [0, 1, 2] : [0, 1],
      );
    assert.equal(all.length, 9);
  });

  it('makes GPUs of nothing but what tells of one', () => {
    const metric = fc.constantFrom('nvidia_index', 'nvidia_parent_index', 'drm_vendor', 'nvidia_memory_used_bytes');
    const instance = fc.oneof(fc.string(), fc.constantFrom('GPU-aa', 'MIG-11', '0000:43:00.0'));
    const value = fc.oneof(fc.double(), fc.constantFrom(0, 1, 0x1002, 0x8086));
    fc.assert(
      fc.property(fc.array(fc.record({ metric, instance, value })), (readings) => {
        const gpus = gpusOf(readings);
        assert.ok(gpus.length <= readings.length);
        for (const { parent } of gpus) assert.ok(parent === null || gpus.some(({ id }) => id === parent));
      }),
    );
  });
});
