import { TOTALS_NAMES } from '../../src/record/totals';
import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { factsOf } from '../../src/record/facts';
import { addFacts, addShiftedHours, newSums, shareInSteps } from '../../src/record/sums';
import type { Sums } from '../../src/record/sums';
import { tenMinutesOf } from '../report/bad-ends';
import { GIB, HOUR, job, peakOf, T0 } from '../accounting/suite/fixture';
import type { JobRecord, MemoryRequest } from '../../src/record/record';

const total = (hours: Float64Array, kind: number): number =>
  hours.slice(kind * 24, kind * 24 + 24).reduce((sum, value) => sum + value, 0);

function sumsOf(seconds: number, end: number): Sums {
  const sums = newSums();
  addFacts(sums, factsOf(job(1, end, { wallclock_seconds: seconds }), true), end);
  return sums;
}

it('spreads a job over the hours in which it ran, and the hours add up to its totals', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4e8 }), fc.integer({ min: 0, max: 4e12 }), (ms, end) => {
      const { hours, totals } = sumsOf(ms / 1000, end);
      const close = (a: number, b: number): boolean => Math.abs(a - b) <= 1e-9 * Math.max(1, Math.abs(b));
      assert.ok(close(total(hours, 0), totals.requested_gib_hours));
      assert.ok(close(total(hours, 1), totals.used_gib_hours));
      assert.ok(close(total(hours, 2), totals.slot_seconds / 3600));
      const slotHours = hours.slice(48);
      assert.ok(slotHours.every((value) => value <= 2 * Math.ceil(ms / (24 * HOUR)) * (1 + 1e-9)));
    }),
  );
});

it('puts half an hour before a full hour and a quarter after it into their own hours', () => {
  const { hours } = sumsOf(45 * 60, T0 + 3 * HOUR + 15 * 60_000);
  const slots = [...hours.slice(48)].map((value) => Math.round(value * 1000) / 1000);
  assert.deepEqual([slots[2], slots[3], slots.reduce((a, b) => a + b)], [1, 0.5, 1.5]);
});

it('shifts hours to a time zone, also by half hours, and over midnight', () => {
  const hours = new Float64Array(72);
  hours[23] = 1;
  hours[24] = 4;
  const shifted = (minutes: number): unknown => {
    const to = new Float64Array(72);
    addShiftedHours(to, hours, () => minutes);
    return [...to].flatMap((value, index) => (value === 0 ? [] : [[index, value]]));
  };
  assert.deepEqual(shifted(0), [
    [23, 1],
    [24, 4],
  ]);
  assert.deepEqual(shifted(60), [
    [0, 1],
    [25, 4],
  ]);
  assert.deepEqual(shifted(-300), [
    [18, 1],
    [43, 4],
  ]);
  assert.deepEqual(shifted(330), [
    [4, 0.5],
    [5, 0.5],
    [29, 2],
    [30, 2],
  ]);
});

it('compares a peak with the limit in steps of 5 %, and counts it as far below if under five steps', () => {
  assert.equal(shareInSteps(GIB, 4 * GIB), 5);
  assert.equal(shareInSteps(GIB, 0), null);
  assert.equal(shareInSteps(null, GIB), null);
  const far = (peak: number): number => {
    const sums = newSums();
    addFacts(sums, factsOf(job(1, T0, { peak_rss: peakOf(peak) }), true), T0);
    return sums.totals.far_below;
  };
  assert.deepEqual([2 * GIB - 1, 2 * GIB].map(far), [1, 0]);
});

it('adds up the slot time of jobs that ended badly', () => {
  const sums = newSums();
  for (const exit_status of [0, 1, null])
    addFacts(sums, factsOf(job(1, T0, { exit_status, wallclock_seconds: 600, host_slots: 4 }), true), T0);
  const { failed, failed_slot_seconds: lost, slot_seconds: all } = sums.totals;
  assert.deepEqual([failed, lost, all], [1, 2400, 7200]);
});

it('adds up requests of all complexes alike, each with its own limit', () => {
  const sums = newSums();
  const add = (fields: Parameters<typeof job>[2]): void =>
    addFacts(sums, factsOf(job(1, T0, { wallclock_seconds: 3600, peak_rss: peakOf(GIB), ...fields }), true), T0);
  const gib = (count: number): MemoryRequest => ({ request_bytes: count * GIB, limit_bytes: count * GIB, per: 'job' });
  add({ h_vmem: gib(8) });
  add({ h_vmem: null, requests: { mem_free: gib(2) } });
  add({ h_vmem: gib(64), requests: { site_mem: gib(3), mem_free: gib(1) }, request_order: 'site_mem,mem_free' });
  add({ h_vmem: null, requests: { gpu_mem: gib(16) } });
  const { requested_gib_hours: requested, limit_gib_hours: limit, without_limit: none, far_below: far } = sums.totals;
  assert.deepEqual([requested, limit, none, far], [13, 13, 1, 1]);
});

it("adds up Grid Engine's maxvmem separately, and only for records without a peak", () => {
  const account = tenMinutesOf({ maxvmem_bytes: 2 * GIB });
  const sums = newSums();
  const add = (changes: Parameters<typeof job>[2]): void =>
    addFacts(sums, factsOf(job(1, T0, { wallclock_seconds: 3600, grid_engine: account, ...changes }), true), T0);
  const { totals } = sums;
  const byGridEngine = (): readonly number[] => [
    totals.with_grid_engine,
    totals.requested_with_grid_engine_gib_hours,
    totals.grid_engine_gib_hours,
  ];
  add({});
  assert.deepEqual(byGridEngine(), [0, 0, 0]);
  const { peak_gib_hours: peak, requested_gib_hours: requested } = totals;
  add({ peak_rss: null });
  assert.deepEqual(byGridEngine(), [1, requested, 2]);
  assert.equal(totals.peak_gib_hours, peak);
  // As large as the limit: it may be the reserved amount.
  add({ peak_rss: null, grid_engine: tenMinutesOf({ maxvmem_bytes: job(1, T0).h_vmem?.limit_bytes ?? 0 }) });
  add({ peak_rss: null, grid_engine: null });
  assert.deepEqual([...byGridEngine(), totals.without_peak], [1, requested, 2, 3]);
});

it('compares the memory of slave tasks with the request that another record of their job carries', () => {
  const sums = newSums();
  const add = (stands: boolean, fields: Parameters<typeof job>[2]): void =>
    addFacts(sums, factsOf(job(1, T0, { peak_rss: peakOf(GIB), rss_byte_seconds: 1800 * GIB, ...fields }), stands), T0);
  const nothing = { h_vmem: null, requests: {} };
  add(true, {});
  add(false, { pe_task_id: '1.node1', ...nothing });
  add(true, nothing);
  const { totals } = sums;
  assert.deepEqual([totals.peak_gib_hours, totals.peak_with_request_gib_hours], [3, 2]);
  assert.deepEqual([totals.used_gib_hours, totals.used_with_request_gib_hours], [1.5, 1]);
  const account = tenMinutesOf({ maxvmem_bytes: 2 * GIB });
  for (const fields of [{}, nothing]) add(true, { ...fields, peak_rss: null, grid_engine: account });
  assert.deepEqual([totals.grid_engine_gib_hours, totals.grid_engine_with_request_gib_hours], [4, 2]);
});

it('a peak above the request lowers the waste only of the records of its parallel job on the same host', () => {
  const gib = (count: number): MemoryRequest => ({ request_bytes: count * GIB, limit_bytes: count * GIB, per: 'job' });
  const unused = (changes: Partial<JobRecord>, peaks: readonly number[], hosts: readonly string[] = []): number => {
    const sums = newSums();
    const ofJob = peaks.map((peak, index) =>
      job(1, T0, { h_vmem: gib(10), host: hosts[index] ?? 'node1', ...changes, peak_rss: peakOf(peak * GIB) }),
    );
    for (const record of ofJob) addFacts(sums, factsOf(record, true, ofJob), T0);
    return Math.round((sums.totals.unused_gib_hours * 3600) / (job(1, T0).wallclock_seconds ?? 0));
  };
  assert.equal(unused({}, [1, 4, 100]), 15);
  const two = ['node1', 'node2'];
  assert.deepEqual([unused({ pe: 'mpi' }, [1, 14]), unused({ pe: 'mpi' }, [1, 14], two)], [5, 9]);
  // An accounting line has the request of all hosts.
  assert.equal(unused({ pe: 'mpi', host_slots: null }, [1, 14], two), 5);
});

it('has a name for each total', () => {
  assert.deepEqual([...TOTALS_NAMES].sort(), Object.keys(newSums().totals).sort());
});
