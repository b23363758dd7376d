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

describe('the memory that a job holds', () => {
  const held = (reading: Partial<CgroupReading>): number | null => heldBytes({ ...NOTHING_READ, ...reading });

  it('is its anonymous, shared and swapped memory', () => {
    assert.equal(held({ anonBytes: 100, shmemBytes: 20, swapBytes: 5, swapCachedBytes: 0 }), 125);
    assert.equal(held({ anonBytes: 100 }), 100);
    assert.equal(held({ memoryBytes: 100 }), null);
  });

  it('counts a page of the swap cache once, even where the kernel does not report the cache', () => {
    assert.equal(held({ anonBytes: 100, swapBytes: 50, swapCachedBytes: 30 }), 120);
    assert.equal(held({ anonBytes: 100, swapBytes: 50 }), 100);
    assert.equal(held({ anonBytes: 10, shmemBytes: 10, swapBytes: 50 }), 50);
  });
});

describe('the bounds of the footprint', () => {
  it('are the largest sample and the kernel’s peak, each widened by the slack', () => {
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

  it('are exact where the largest sample equals the kernel’s peak', () => {
    const found = ends([{ anonBytes: 4 * GIB, peakBytes: 4 * GIB }]);
    assert.equal(found.exact, true);
  });

  it('leave the shepherd’s memory out of the lower bound', () => {
    assert.equal(ends([{ anonBytes: GIB, peakBytes: GIB }], { othersBytes: 3 * MIB }).lower_bytes, GIB - 4 * MIB);
    const small = ends([{ anonBytes: MIB, peakBytes: MIB }], { othersBytes: 3 * MIB });
    assert.equal(small.lower_bytes, 0);
    assert.equal(small.upper_bytes, 2 * MIB);
  });

  it('include the peak of swap, unless the host or the limit allows none, and are open where neither is known', () => {
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

  it('take the common peak of memory and swap under cgroup version 1, where the kernel keeps it', () => {
    const job = { anonBytes: GIB, peakBytes: 2 * GIB };
    const v1 = { version: 1, nodeSwapBytes: 8 * GIB } as const;
    assert.equal(ends([{ ...job, memorySwapPeakBytes: 2.5 * GIB }], v1).upper_bytes, 2.5 * GIB + MIB);
    assert.deepEqual(ends([job], v1).open, ['swap']);
    assert.equal(ends([job], { ...v1, nodeSwapBytes: 0 }).upper_bytes, 2 * GIB + MIB);
    assert.deepEqual(ends([job], { version: 1, coversSubgroups: false }).open, ['no-page-accounting']);
  });

  it('rest on a limit that always held where memory.peak is missing, which proves nothing, and else are open', () => {
    const limited = ends([{ anonBytes: GIB, memoryLimitBytes: 4 * GIB }]);
    assert.equal(limited.upper_bytes, 4 * GIB + MIB);
    assert.deepEqual([limited.proved, limited.exact], [false, false]);
    assert.deepEqual(limited.sources, ['cgroup', 'limit']);
    assert.deepEqual(ends([{ anonBytes: GIB }]).open, ['no-page-accounting']);
    const lifted = ends([{ anonBytes: GIB, memoryLimitBytes: 4 * GIB }, { anonBytes: GIB }]);
    assert.equal(lifted.upper_bytes, null);
  });

  it('leave the upper bound open where the end of the job was not seen', () => {
    const job = { anonBytes: GIB, peakBytes: GIB };
    assert.deepEqual(ends([job], { toEnd: false }).open, ['end-gap']);
    assert.equal(ends([job], { toEnd: false }).upper_bytes, null);
    assert.equal(ends([job], { toEnd: false }).lower_bytes, GIB - MIB);
  });

  it('are zero and the kernel’s peak without a sample, and unknown without any reading', () => {
    const found = ends([{ peakBytes: GIB }]);
    assert.deepEqual([found.lower_bytes, found.upper_bytes], [0, GIB + MIB]);
    assert.deepEqual(found.open, ['no-samples']);
    assert.equal(footprintEnds(NO_FOOTPRINT, PLAIN), null);
  });

  it('enclose the true peak, whichever moments are sampled', () => {
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

  it('have a slack that grows with the CPUs', () => {
    assert.equal(groupSlackBytes({ pageSize: 4096, cpus: 2 }), MIB);
    assert.equal(groupSlackBytes({ pageSize: 4096, cpus: 128 }), 64 * MIB);
  });
});
