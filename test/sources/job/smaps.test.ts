import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { SmapsReader, type SharedMemory } from '../../../src/sources/job/smaps';
import { garbage } from '../proc/fixtures';
import { pssFixture, ROLLUPS } from './fixtures';

const KIB = 1024;
const text = (path: string): string => readFileSync(pssFixture(path), 'latin1');

function parseSmaps(whole: string): SharedMemory | null {
  const reader = new SmapsReader();
  reader.add(whole);
  return reader.result();
}

describe('SmapsReader', () => {
  it('sums the mappings of a kernel without the rollup, and splits them by what they map', () => {
    assert.deepEqual(parseSmaps(text('linux-3.10/4242/smaps')), {
      pss: 100_509 * KIB,
      // python's own page, the heap that a child shares, the big one, libc's data, the stack
      pssAnon: (4 + 33_000 + 61_440 + 8 + 24) * KIB,
      // python, libc, the mapped input
      pssFile: (153 + 20 + 100) * KIB,
      // shared anonymous, System V, POSIX
      pssShmem: (5120 + 256 + 384) * KIB,
      swapPss: null,
      sharedClean: 1816 * KIB,
      sharedDirty: 29_760 * KIB,
      privateClean: 100 * KIB,
      privateDirty: 92_476 * KIB,
      anonHuge: 40_960 * KIB,
      hugetlb: 0,
    });
  });

  it('reads the split of the kernel, and huge pages of hugetlbfs besides', () => {
    assert.deepEqual(parseSmaps(text('linux-5.14/4242/smaps_rollup')), {
      pss: 4_990_000 * KIB,
      pssAnon: 4_818_000 * KIB,
      pssFile: 42_000 * KIB,
      pssShmem: 130_000 * KIB,
      swapPss: 1_000_000 * KIB,
      sharedClean: 120_000 * KIB,
      sharedDirty: 300_000 * KIB,
      privateClean: 4880 * KIB,
      privateDirty: 4_818_000 * KIB,
      anonHuge: 4_096_000 * KIB,
      hugetlb: (2_097_152 + 524_288) * KIB,
    });
    assert.equal(parseSmaps(text('linux-6.1/4242/smaps_rollup'))?.pssAnon, 46_000 * KIB);
    assert.equal(parseSmaps(text('linux-6.18/4242/smaps_rollup'))?.pssFile, 242 * KIB);
  });

  it('takes as anonymous the memory that must be, where a rollup has no split', () => {
    const memory = parseSmaps(text('linux-4.18/4242/smaps_rollup'));
    assert.equal(memory?.pssAnon, (872_300 - (880_108 - 870_000)) * KIB);
    assert.equal(memory.pssFile, null);
    assert.equal(memory.pssShmem, null);
  });

  it('reads arm64 with pages of 64 KiB and huge pages of 512 MiB', () => {
    const memory = parseSmaps(text('linux-5.14-arm64-64k/4242/smaps_rollup'));
    assert.equal(memory?.anonHuge, 5 * 512 * 1024 * KIB);
    assert.equal(memory.pssAnon + (memory.pssFile ?? 0) + (memory.pssShmem ?? 0), memory.pss);
  });

  it('returns null for an empty text and for one without a mapping or its figures', () => {
    assert.equal(parseSmaps(''), null);
    assert.equal(parseSmaps('Rss: 1 kB\nPss: 1 kB\n'), null);
    assert.equal(parseSmaps('00400000-004de000 r-xp 00000000 fd:00 1 /bin/x\nSize: 4 kB\n'), null);
  });

  it('does not depend on where the text is cut into pieces', () => {
    const whole = text('linux-3.10/4242/smaps');
    fc.assert(
      fc.property(fc.array(fc.nat(whole.length), { maxLength: 20 }), (cuts) => {
        const reader = new SmapsReader();
        let from = 0;
        for (const cut of [...cuts.sort((a, b) => a - b), whole.length]) {
          reader.add(whole.slice(from, cut));
          from = cut;
        }
        assert.equal(reader.maps(), 13);
        assert.deepEqual(reader.result(), parseSmaps(whole));
      }),
    );
  });

  it('never counts more in a text that is cut off', () => {
    const whole = text('linux-6.18/4242/smaps_rollup');
    const complete = parseSmaps(whole);
    assert.ok(complete !== null);
    for (let length = 0; length <= whole.length; length++) {
      const memory = parseSmaps(whole.slice(0, length));
      if (memory !== null) for (const key of ['pss', 'privateDirty'] as const) assert.ok(memory[key] <= complete[key]);
    }
  });

  it('yields finite figures, none negative, or null from garbage', () => {
    const texts = [...ROLLUPS.map((path) => `${path}/smaps_rollup`), 'linux-3.10/4242/smaps'].map((path) =>
      Buffer.from(text(path)),
    );
    fc.assert(
      fc.property(garbage(...texts), (bytes) => {
        const memory = parseSmaps(bytes.toString('latin1'));
        if (memory === null) return;
        for (const value of Object.values(memory))
          assert.ok(value === null || (Number.isFinite(value) && Number(value) >= 0));
      }),
    );
  });

  it('reads no figure from the name of a mapping', () => {
    const name = '/tmp/Pss:   99999 kB';
    const memory = parseSmaps(`00400000-004de000 r-xp 00000000 fd:00 1 ${name}\nRss:   4 kB\nPss:   4 kB\n`);
    assert.equal(memory?.pss, 4 * KIB);
  });
});
