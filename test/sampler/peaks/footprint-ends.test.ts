import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  footprintEnds,
  groupSlackBytes,
  heldBytes,
  NO_FOOTPRINT,
  observeFootprint,
  type FootprintCircumstances,
  type FootprintEnds,
} from '../../../src/sampler/peaks/footprint-ends';
import { NOTHING_READ, type CgroupReading } from '../../../src/sources/job/cgroup-reading';

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

const PLAIN: FootprintCircumstances = {
  version: 2,
  nodeSwapBytes: 0,
  slackBytes: MIB,
  othersBytes: 0,
  toEnd: true,
  coversSubgroups: true,
};

function ends(
  readings: readonly Partial<CgroupReading>[],
  circumstances: Partial<FootprintCircumstances> = {},
): FootprintEnds {
  const state = readings.reduce(
    (before, reading, index) => observeFootprint(before, { ...NOTHING_READ, ...reading }, 1000 + index),
    NO_FOOTPRINT,
  );
  const found = footprintEnds(state, { ...PLAIN, ...circumstances });
  assert.ok(found !== null);
  return found;
}

describe('held memory', () => {
  const held = (reading: Partial<CgroupReading>): number | null => heldBytes({ ...NOTHING_READ, ...reading });

  it('is anonymous, shared and swapped memory', () => {
    assert.equal(held({ anonBytes: 100, shmemBytes: 20, swapBytes: 5, swapCachedBytes: 0 }), 125);
    assert.equal(held({ anonBytes: 100 }), 100);
    assert.equal(held({ memoryBytes: 100 }), null);
  });

  it('counts a page of the swap cache once, even where the kernel does not tell', () => {
    assert.equal(held({ anonBytes: 100, swapBytes: 50, swapCachedBytes: 30 }), 120);
    assert.equal(held({ anonBytes: 100, swapBytes: 50 }), 100);
    assert.equal(held({ anonBytes: 10, shmemBytes: 10, swapBytes: 50 }), 50);
  });
});

describe('footprint ends', () => {
  it('are the largest sample and the kernel’s peak, with slack on both sides', () => {
    const found = ends([
      { anonBytes: 2 * GIB, peakBytes: 3 * GIB },
      { anonBytes: GIB, peakBytes: 4 * GIB },
    ]);
    assert.equal(found.lower_bytes, 2 * GIB - MIB);
    assert.equal(found.upper_bytes, 4 * GIB + MIB);
    assert.equal(found.slack_bytes, MIB);
    assert.equal(found.at, 1000);
    assert.deepEqual([found.proved, found.exact], [true, false]);
    assert.deepEqual(found.open, []);
    assert.deepEqual(found.sources, ['cgroup']);
  });

  it('meet where the job held nothing but its own memory', () => {
    const found = ends([{ anonBytes: 4 * GIB, peakBytes: 4 * GIB }]);
    assert.equal(found.exact, true);
  });

  it('take the shepherd’s memory off the lower end', () => {
    assert.equal(ends([{ anonBytes: GIB, peakBytes: GIB }], { othersBytes: 3 * MIB }).lower_bytes, GIB - 4 * MIB);
    const small = ends([{ anonBytes: MIB, peakBytes: MIB }], { othersBytes: 3 * MIB });
    assert.equal(small.lower_bytes, 0);
    assert.equal(small.upper_bytes, 2 * MIB);
  });

  it('add the peak of swap, or show that there was none', () => {
    const job = { anonBytes: GIB, peakBytes: 2 * GIB };
    const swapping = { nodeSwapBytes: 8 * GIB };
    assert.equal(ends([{ ...job, swapPeakBytes: GIB }], swapping).upper_bytes, 3 * GIB + MIB);
    assert.equal(ends([job]).upper_bytes, 2 * GIB + MIB);
    const limited = ends([{ ...job, swapLimitBytes: 0 }], swapping);
    assert.equal(limited.upper_bytes, 2 * GIB + MIB);
    assert.deepEqual(limited.sources, ['cgroup', 'limit']);
    assert.equal(limited.proved, true);
    for (const nodeSwapBytes of [8 * GIB, null]) {
      const found = ends([job], { nodeSwapBytes });
      assert.equal(found.upper_bytes, null);
      assert.deepEqual(found.open, ['swap']);
      assert.equal(found.proved, false);
    }
  });

  it('of version 1: memory and swap have one mark together, where the kernel keeps it', () => {
    const job = { anonBytes: GIB, peakBytes: 2 * GIB };
    const v1 = { version: 1, nodeSwapBytes: 8 * GIB } as const;
    assert.equal(ends([{ ...job, memorySwapPeakBytes: 2.5 * GIB }], v1).upper_bytes, 2.5 * GIB + MIB);
    assert.deepEqual(ends([job], v1).open, ['swap']);
    assert.equal(ends([job], { ...v1, nodeSwapBytes: 0 }).upper_bytes, 2 * GIB + MIB);
    assert.deepEqual(ends([job], { version: 1, coversSubgroups: false }).open, ['no-page-accounting']);
  });

  it('without memory.peak: a limit that always held, not as proof; else open', () => {
    const limited = ends([{ anonBytes: GIB, memoryLimitBytes: 4 * GIB }]);
    assert.equal(limited.upper_bytes, 4 * GIB + MIB);
    assert.deepEqual([limited.proved, limited.exact], [false, false]);
    assert.deepEqual(limited.sources, ['cgroup', 'limit']);
    assert.deepEqual(ends([{ anonBytes: GIB }]).open, ['no-page-accounting']);
    const lifted = ends([{ anonBytes: GIB, memoryLimitBytes: 4 * GIB }, { anonBytes: GIB }]);
    assert.equal(lifted.upper_bytes, null);
  });

  it('are open where the end was not seen', () => {
    const job = { anonBytes: GIB, peakBytes: GIB };
    assert.deepEqual(ends([job], { toEnd: false }).open, ['end-gap']);
    assert.equal(ends([job], { toEnd: false }).upper_bytes, null);
    assert.equal(ends([job], { toEnd: false }).lower_bytes, GIB - MIB);
  });

  it('without a sample the peak is still an upper end', () => {
    const found = ends([{ peakBytes: GIB }]);
    assert.deepEqual([found.lower_bytes, found.upper_bytes], [0, GIB + MIB]);
    assert.deepEqual(found.open, ['no-samples']);
    assert.equal(footprintEnds(NO_FOOTPRINT, PLAIN), null);
  });

  it('hold the truth whatever is sampled', () => {
    const moment = fc.record({
      anon: fc.nat(8 * GIB),
      shmem: fc.nat(GIB),
      swap: fc.nat(GIB),
      cache: fc.nat(GIB),
      seen: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(moment, { minLength: 1, maxLength: 20 }), fc.nat(MIB), (moments, slackBytes) => {
        let [peakBytes, swapPeakBytes, truth] = [0, 0, 0];
        const readings: Partial<CgroupReading>[] = [];
        for (const { anon, shmem, swap, cache, seen } of moments) {
          peakBytes = Math.max(peakBytes, anon + shmem + cache);
          swapPeakBytes = Math.max(swapPeakBytes, swap);
          truth = Math.max(truth, anon + shmem + swap);
          if (seen)
            readings.push({
              anonBytes: anon,
              shmemBytes: shmem,
              swapBytes: swap,
              swapCachedBytes: 0,
              peakBytes,
              swapPeakBytes,
            });
        }
        const found = ends([...readings, { peakBytes, swapPeakBytes }], { slackBytes, nodeSwapBytes: GIB });
        assert.ok(found.lower_bytes <= truth && found.upper_bytes !== null && truth <= found.upper_bytes);
      }),
    );
  });

  it('slack grows with the CPUs', () => {
    assert.equal(groupSlackBytes({ pageSize: 4096, cpus: 2 }), MIB);
    assert.equal(groupSlackBytes({ pageSize: 4096, cpus: 128 }), 64 * MIB);
  });
});
