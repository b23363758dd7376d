import assert from 'node:assert/strict';
import { cpSync, readdirSync } from 'node:fs';
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
import { temporaryDirectory } from '../../support/temporary-directory';

/** No GPU was at hand: NVIDIA's are written down here, the others are fixture trees. */
const nvidiaGpu = (id: string, index: number, parent: string | null = null): Gpu => ({
  id,
  vendor: 'nvidia',
  index,
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

const fixture = (name: string): string => join(packageRoot(), 'test', 'fixtures', 'drm', name, 'sys');

const NO_CARDS = '/nonexistent';

function ofDrm(sys: string): readonly Reading[] {
  const source = drm.open({ ...THIS_MACHINE, sys, options: {} });
  assert.ok(!isUnavailable(source));
  const readings = source.read();
  assert.ok(!isUnavailable(readings));
  return readings;
}

const places = (gpus: readonly Gpu[]): unknown =>
  gpus.map(({ id, vendor, index, parent }) => [id, vendor, index, parent]);

describe('gpusOf', () => {
  it("finds NVIDIA's GPUs and their MIG instances", () => {
    const found = gpusOf(ofNvidia(NVIDIA), NO_CARDS);
    assert.deepEqual(places(found), places(NVIDIA));
    const { held } = heldGpus(new Map([['CUDA_VISIBLE_DEVICES', '1']]), found, new Map(), new Set());
    assert.deepEqual(
      held.map(({ gpu }) => gpu.id),
      ['GPU-bb'],
    );
  });

  it('leaves out a MIG instance whose GPU is lost', () => {
    assert.deepEqual(places(gpusOf(ofNvidia(NVIDIA.slice(1)), NO_CARDS)), [['GPU-bb', 'nvidia', 1, null]]);
  });

  for (const name of ['amdgpu-linux-6.8', 'i915-linux-6.6', 'xe-linux-6.12'])
    it(`numbers the cards of ${name} as their driver does`, () => {
      const sys = fixture(name);
      assert.deepEqual(gpusOf(ofDrm(sys), sys), drmGpus(sys));
    });

  it('finds a card of AMD by its unique id', () => {
    const sys = fixture('amdgpu-linux-6.8');
    const environment = new Map([['ROCR_VISIBLE_DEVICES', 'GPU-8ab4f2cb7e1c21f5']]);
    const { held, notes } = heldGpus(environment, gpusOf(ofDrm(sys), sys), new Map(), new Set());
    assert.deepEqual(
      held.map(({ gpu }) => gpu.id),
      ['0000:c1:00.0'],
    );
    assert.deepEqual(notes, []);
  });

  it('leaves out cards without readings, and numbers the others as before', () => {
    const sys = fixture('amdgpu-linux-6.8');
    const readings = ofDrm(sys).filter(({ instance }) => instance !== '0000:43:00.0');
    assert.deepEqual(gpusOf(readings, sys), drmGpus(sys).slice(1));
  });

  it('numbers the cards of each vendor separately on a host with several', () => {
    const sys = temporaryDirectory();
    for (const name of ['i915-linux-6.6', 'amdgpu-linux-6.8'])
      for (const card of readdirSync(join(fixture(name), 'class/drm')))
        cpSync(
          join(fixture(name), 'class/drm', card),
          join(sys, 'class/drm', `${card}${name === 'i915-linux-6.6' ? 0 : 1}`),
          {
            recursive: true,
          },
        );
    const all = gpusOf([...ofDrm(sys), ...ofNvidia(NVIDIA)], sys);
    for (const vendor of ['amd', 'intel'] as const)
      assert.deepEqual(
        all.filter((gpu) => gpu.vendor === vendor).map(({ index }) => index),
        vendor === 'amd' ? [0, 1, 2] : [0, 1],
      );
    assert.equal(all.length, 9);
  });

  it('yields no more GPUs than readings, and no instance without its GPU', () => {
    const metric = fc.constantFrom('nvidia_index', 'nvidia_parent_index', 'drm_vendor', 'nvidia_memory_used_bytes');
    const instance = fc.oneof(fc.string(), fc.constantFrom('GPU-aa', 'MIG-11', '0000:43:00.0'));
    const sys = fixture('amdgpu-linux-6.8');
    const value = fc.oneof(fc.double(), fc.constantFrom(0, 1, 0x1002, 0x8086));
    fc.assert(
      fc.property(fc.array(fc.record({ metric, instance, value })), (readings) => {
        const gpus = gpusOf(readings, sys);
        assert.ok(gpus.length <= readings.length);
        for (const { parent } of gpus) assert.ok(parent === null || gpus.some(({ id }) => id === parent));
      }),
    );
  });
});
