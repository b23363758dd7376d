import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { addPss, nextPssDelayMs, NO_PSS, PSS_FACTS, pssMetrics } from '../../../src/sampler/figures/pss-sums';
import type { Reading } from '../../../src/sources/source';

const ofProcess = (pid: number, pss: number, footprint: number): readonly Reading[] => [
  { metric: 'pss_bytes', instance: '', value: pss, pid },
  { metric: 'pss_footprint_bytes', instance: '', value: footprint, pid },
];
const skipped = (value: number): Reading => ({ metric: 'pss_skipped_processes', instance: '', value });
const readIn = (value: number): Reading => ({ metric: 'pss_read_seconds', instance: '', value });

describe('addPss', () => {
  it('keeps the largest sum of each quantity', () => {
    let sums = addPss(NO_PSS, [...ofProcess(1, 100, 10), ...ofProcess(2, 300, 90), skipped(0), readIn(0.01)]);
    sums = addPss(sums, [...ofProcess(1, 150, 200), ...ofProcess(2, 100, 90), skipped(0), readIn(0.02)]);
    assert.deepEqual(pssMetrics(sums), {
      pss_peak_bytes: 400,
      pss_footprint_peak_bytes: 290,
      pss_samples: 2,
      pss_incomplete_samples: 0,
      pss_skipped_peak_processes: 0,
    });
  });

  it('counts the incomplete samples and the most processes that one of them skipped', () => {
    let sums = addPss(NO_PSS, [...ofProcess(1, 100, 10), skipped(3)]);
    sums = addPss(sums, [...ofProcess(1, 100, 10), skipped(0)]);
    sums = addPss(sums, [skipped(1)]);
    const metrics = pssMetrics(sums);
    assert.equal(metrics.pss_samples, 3);
    assert.equal(metrics.pss_incomplete_samples, 2);
    assert.equal(metrics.pss_skipped_peak_processes, 3);
  });

  it('counts no sample where no process was read', () => {
    assert.equal(addPss(NO_PSS, []), NO_PSS);
    assert.equal(addPss(NO_PSS, [skipped(0), readIn(0.1)]), NO_PSS);
    assert.deepEqual(pssMetrics(NO_PSS), {});
  });

  it('keeps the largest sum of any samples', () => {
    const reading = fc.array(fc.tuple(fc.integer({ min: 1, max: 9 }), fc.nat(2 ** 40)), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(fc.array(reading, { minLength: 1, maxLength: 6 }), (all) => {
        const sums = all.reduce(
          (before, one) =>
            addPss(
              before,
              one.flatMap(([pid, bytes]) => ofProcess(pid, bytes, bytes)),
            ),
          NO_PSS,
        );
        const largest = Math.max(...all.map((one) => one.reduce((sum, [, bytes]) => sum + bytes, 0)));
        assert.equal(pssMetrics(sums).pss_footprint_peak_bytes, largest);
      }),
    );
  });
});

describe('PSS_FACTS', () => {
  it('lists every PSS metric once, named after its unit', () => {
    const every = ['', 'anon_', 'file_', 'shmem_', 'swap_', 'uss_', 'footprint_'].map((name) => ({
      metric: `pss_${name}bytes`,
      instance: '',
      value: 1,
      pid: 1,
    }));
    const names = PSS_FACTS.map(({ name }) => name);
    assert.deepEqual(Object.keys(pssMetrics(addPss(NO_PSS, every))), names);
    assert.equal(new Set(names).size, names.length);
    for (const { name, unit } of PSS_FACTS) assert.ok(unit === 'count' || name.endsWith(`_${unit}`), name);
  });
});

describe('nextPssDelayMs', () => {
  it('keeps the interval, unless a reading takes more than 0.5 % of it', () => {
    assert.equal(nextPssDelayMs([readIn(0.15)], 30_000), 30_000);
    assert.equal(nextPssDelayMs([readIn(1.5)], 30_000), 300_000);
    assert.equal(nextPssDelayMs([], 30_000), 30_000);
  });
});
