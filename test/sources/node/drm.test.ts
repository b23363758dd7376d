import assert from 'node:assert/strict';
import { cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { packageRoot } from '../../../src/base/package-root';
import { drm, drmGpus } from '../../../src/sources/node/drm';
import { isUnavailable, THIS_MACHINE, type Reading, type Unavailable } from '../../../src/sources/source';
import { temporaryDirectory } from '../../support/temporary-directory';

/** No AMD or Intel GPU was at hand: fixture trees of hosts with three AMD cards, two Intel cards, one newer Intel card. */
const fixture = (name: string): string => join(packageRoot(), 'test', 'fixtures', 'drm', name, 'sys');
const AMD = fixture('amdgpu-linux-6.8');
const I915 = fixture('i915-linux-6.6');
const XE = fixture('xe-linux-6.12');

const read = (sys: string): readonly Reading[] | Unavailable => {
  const source = drm.open({ ...THIS_MACHINE, sys, options: {} });
  return isUnavailable(source) ? source : source.read();
};
const table = (sys: string): Readonly<Record<string, number>> => {
  const result = read(sys);
  assert.ok(!isUnavailable(result));
  return Object.fromEntries(result.map(({ metric, instance, value }) => [`${metric} ${instance}`, value]));
};

describe('drm', () => {
  it('reads AMD cards, and wakes none that sleeps', () => {
    assert.deepEqual(table(AMD), {
      'drm_vendor 0000:43:00.0': 0x1002,
      'drm_memory_total_bytes 0000:43:00.0': 68702699520,
      'drm_memory_used_bytes 0000:43:00.0': 10960896,
      'drm_utilization_percent 0000:43:00.0': 0,
      'drm_memory_utilization_percent 0000:43:00.0': 0,
      'drm_power_watts 0000:43:00.0': 41,
      'drm_vendor 0000:c1:00.0': 0x1002,
      'drm_memory_total_bytes 0000:c1:00.0': 68702699520,
      'drm_memory_used_bytes 0000:c1:00.0': 51539607552,
      'drm_utilization_percent 0000:c1:00.0': 99,
      'drm_memory_utilization_percent 0000:c1:00.0': 37,
      'drm_power_watts 0000:c1:00.0': 287,
      'drm_vendor 0000:e3:00.0': 0x1002,
      'drm_memory_total_bytes 0000:e3:00.0': 25753026560,
    });
  });

  it('reads Intel cards of both drivers', () => {
    assert.deepEqual(table(I915), {
      'drm_vendor 0000:00:02.0': 0x8086,
      'drm_frequency_hertz 0000:00:02.0': 350e6,
      'drm_vendor 0000:4d:00.0': 0x8086,
      'drm_energy_joules 0000:4d:00.0': 123456.789012,
      'drm_frequency_hertz 0000:4d:00.0': 1950e6,
    });
    assert.deepEqual(table(XE), {
      'drm_vendor 0000:03:00.0': 0x8086,
      'drm_energy_joules 0000:03:00.0': 5500,
      'drm_frequency_hertz 0000:03:00.0': 2850e6,
    });
  });

  it('declares every metric that it reads', () => {
    const declared = new Set(drm.metrics.map(({ name }) => name));
    for (const sys of [AMD, I915, XE])
      for (const key of Object.keys(table(sys))) assert.ok(declared.has(key.split(' ')[0] ?? ''), key);
  });

  it('numbers the cards of a vendor by their addresses', () => {
    assert.deepEqual(
      drmGpus(AMD).map(({ id, vendor, index, aliases }) => [id, vendor, index, aliases]),
      [
        ['0000:43:00.0', 'amd', 0, ['GPU-a3c1d0e98f765432']],
        ['0000:c1:00.0', 'amd', 1, ['GPU-8ab4f2cb7e1c21f5']],
        ['0000:e3:00.0', 'amd', 2, ['GPU-0f1e2d3c4b5a6978']],
      ],
    );
    assert.deepEqual(
      drmGpus(I915).map(({ id, index }) => [id, index]),
      [
        ['0000:00:02.0', 0],
        ['0000:4d:00.0', 1],
      ],
    );
  });

  it('leaves out a card that vanishes, and is unavailable when none is left', () => {
    const sys = temporaryDirectory();
    cpSync(AMD, sys, { recursive: true });
    const source = drm.open({ ...THIS_MACHINE, sys, options: {} });
    assert.ok(!isUnavailable(source));
    const instances = (): readonly string[] => {
      const result = source.read();
      assert.ok(!isUnavailable(result));
      return [...new Set(result.map(({ instance }) => instance))];
    };
    rmSync(join(sys, 'class/drm/card2'), { recursive: true });
    assert.deepEqual(instances(), ['0000:43:00.0', '0000:e3:00.0']);
    rmSync(join(sys, 'class/drm'), { recursive: true });
    const gone = source.read();
    assert.ok(isUnavailable(gone));
    assert.match(gone.unavailable, /no AMD or Intel GPU/);
  });

  it('leaves out values that make no sense', () => {
    const sys = temporaryDirectory();
    cpSync(AMD, sys, { recursive: true });
    const garbage = fc.oneof(
      fc.string({ maxLength: 30 }),
      fc.constantFrom('', '-5\n', '101\n', '9'.repeat(40), '1e9', 'N/A\n', '0x10'),
    );
    const files = ['mem_info_vram_total', 'mem_info_vram_used', 'gpu_busy_percent', 'mem_busy_percent'];
    fc.assert(
      fc.property(garbage, (text) => {
        for (const name of [...files, 'hwmon/hwmon4/power1_average', 'unique_id'])
          writeFileSync(join(sys, 'class/drm/card1/device', name), text);
        drmGpus(sys);
        for (const [key, value] of Object.entries(table(sys))) {
          assert.ok(Number.isFinite(value) && value >= 0, key);
          assert.ok(!key.includes('percent') || value <= 100, key);
        }
      }),
      { numRuns: 50 },
    );
  });
});
