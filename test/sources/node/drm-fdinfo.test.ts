import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { packageRoot } from '../../../src/base/package-root';
import { parseFdinfo } from '../../../src/sources/node/drm-fdinfo';

const fixture = (name: string): string =>
  readFileSync(join(packageRoot(), 'test', 'fixtures', 'drm', 'fdinfo', name), 'utf8');
const TEXTS = ['amdgpu-5.15', 'amdgpu-6.8', 'i915-6.6', 'xe-6.12'].map(fixture);
const KIB = 1024;
const MIB = 1024 ** 2;

describe('parseFdinfo', () => {
  it('reads the resident memory of amdgpu, else the older names', () => {
    const client = parseFdinfo(fixture('amdgpu-6.8'));
    assert.deepEqual(client, {
      driver: 'amdgpu',
      pci: '0000:c1:00.0',
      client: '42',
      videoMemoryBytes: 48128 * MIB,
      systemMemoryBytes: 30 * MIB,
      engines: [
        { name: 'gfx', busyNs: 1838981180 },
        { name: 'compute', busyNs: 98765432109 },
        { name: 'dec', busyNs: 0 },
      ],
    });
    const older = fixture('amdgpu-6.8').replace(/^drm-(resident|total).*\n/gm, '');
    assert.equal(parseFdinfo(older)?.videoMemoryBytes, 49283072 * KIB);
    const total = fixture('amdgpu-6.8').replace(/^drm-(resident|memory).*\n/gm, '');
    assert.equal(parseFdinfo(total)?.videoMemoryBytes, 50210 * MIB);
  });

  it('reads Linux 5.15, which has no memory in this form', () => {
    assert.deepEqual(parseFdinfo(fixture('amdgpu-5.15')), {
      driver: 'amdgpu',
      pci: '0000:43:00.0',
      client: '7',
      videoMemoryBytes: null,
      systemMemoryBytes: null,
      engines: [],
    });
  });

  it('reads i915 and xe', () => {
    const i915 = parseFdinfo(fixture('i915-6.6'));
    assert.equal(i915?.videoMemoryBytes, 1536 * MIB);
    assert.equal(i915.systemMemoryBytes, 64 * KIB);
    assert.deepEqual(
      i915.engines.map(({ name }) => name),
      ['render', 'copy', 'video', 'compute'],
    );
    const xe = parseFdinfo(fixture('xe-6.12'));
    assert.equal(xe?.videoMemoryBytes, 23992 * KIB);
    assert.equal(xe.systemMemoryBytes, 192 * KIB);
    assert.deepEqual(xe.engines, [
      { name: 'rcs', cycles: 28257900, totalCycles: 7655183225 },
      { name: 'ccs', cycles: 1000000, totalCycles: 7655183225 },
    ]);
  });

  it('returns null for other descriptors', () => {
    assert.equal(parseFdinfo('pos:\t0\nflags:\t02\nmnt_id:\t15\n'), null);
    assert.equal(parseFdinfo(''), null);
  });

  it('yields plausible clients or null from garbage', () => {
    const piece = fc.oneof(
      fc.string({ maxLength: 30 }),
      fc.constantFrom(
        'drm-driver:\tx\n',
        'drm-engine-a:\t',
        '9'.repeat(25),
        '-1 ns\n',
        ' MiB\n',
        'drm-total-vram:\t',
        '\n',
      ),
      fc
        .tuple(fc.constantFrom(...TEXTS), fc.nat(900), fc.nat(400))
        .map(([text, from, length]) => text.slice(from, from + length)),
    );
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join('')),
        (text) => {
          const client = parseFdinfo(text);
          if (client === null) return;
          for (const bytes of [client.videoMemoryBytes, client.systemMemoryBytes])
            assert.ok(bytes === null || (Number.isFinite(bytes) && bytes >= 0));
          for (const engine of client.engines)
            for (const value of Object.values(engine))
              assert.ok(typeof value === 'string' || (Number.isSafeInteger(value) && value >= 0));
        },
      ),
    );
  });
});
