import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { isUnavailable } from '../../../src/sources/source';
import { NAMED_EVENTS, resolveEvent } from '../../../src/sources/job/perf-event-names';
import {
  derived,
  PERF_METRICS,
  perfEvents,
  perfFacts,
  perfMetricReadings,
  type PerfReading,
} from '../../../src/sources/job/perf-metrics';

const reading = (event: string, value: number | null, scaledShare = 1): PerfReading => ({
  event,
  value,
  scaledShare,
});

const values = (readings: readonly { metric: string; instance: string; value: number }[]): Record<string, number> =>
  Object.fromEntries(readings.map(({ metric, instance, value }) => [metric + instance, value]));

describe('perf metrics', () => {
  it('are named after the source, what is measured, and the unit', () => {
    assert.equal(new Set(PERF_METRICS.map(({ name }) => name)).size, PERF_METRICS.length);
    for (const { name, unit, scope } of PERF_METRICS) {
      assert.match(name, /^perf_[a-z0-9_]+$/);
      assert.ok(unit === 'count' || name.endsWith(`_${unit}`), name);
      assert.equal(scope, 'job');
    }
    for (const { name } of NAMED_EVENTS)
      assert.ok(PERF_METRICS.some(({ name: metric }) => metric.replace(/_seconds$/, '') === `perf_${name}`));
  });

  it('have default events that exist', () => {
    for (const name of perfEvents(perfFacts.options)) {
      const event = resolveEvent(name, { sys: '/nonexistent' });
      assert.ok(!isUnavailable(event) && event.name === name, name);
    }
    assert.deepEqual(perfEvents({ events: ['task_clock'], raw: ['r1'] }), ['task_clock', 'r1']);
    assert.deepEqual(perfEvents({}), []);
  });
});

describe('derived', () => {
  it('computes IPC, misses per 1000 instructions and shares', () => {
    const readings = [
      reading('cpu_cycles', 2000),
      reading('instructions', 3000, 0.75),
      reading('cache_references', 100),
      reading('cache_misses', 30),
      reading('branch_instructions', 500),
      reading('branch_misses', 6, 0.5),
      reading('dtlb_misses', 1.5),
    ];
    assert.deepEqual(values(derived(readings)), {
      perf_ipc_ratio: 1.5,
      perf_cache_misses_per_1000_instructions: 10,
      perf_branch_misses_per_1000_instructions: 2,
      perf_dtlb_misses_per_1000_instructions: 0.5,
      perf_cache_miss_percent: 30,
      perf_branch_miss_percent: 1.2,
      perf_multiplexed_percent: 50,
    });
  });

  it('leaves out a ratio that lacks a part or would divide by 0', () => {
    assert.deepEqual(values(derived([reading('cpu_cycles', 0), reading('instructions', 0)])), {
      perf_multiplexed_percent: 0,
    });
    assert.deepEqual(values(derived([reading('cpu_cycles', 10), reading('instructions', null, 0)])), {
      perf_multiplexed_percent: 100,
    });
    assert.deepEqual(derived([]), []);
  });

  it('yields only declared metrics, none negative or NaN, for any counts', () => {
    const number = fc.double({ min: 0, max: 1e18, noNaN: true });
    const events = fc.constantFrom(...NAMED_EVENTS.map(({ name }) => name));
    fc.assert(
      fc.property(fc.array(fc.tuple(events, number, fc.double({ min: 0, max: 1, noNaN: true }))), (list) => {
        const readings = list.map(([event, value, share]) => reading(event, value, share));
        for (const { metric, value } of derived(readings)) {
          assert.ok(PERF_METRICS.some(({ name }) => name === metric));
          assert.ok(value >= 0);
        }
      }),
    );
  });
});

describe('perfMetricReadings', () => {
  it('names each event by its metric; raw events share one', () => {
    const readings = [reading('task_clock', 1.5), reading('cpu_cycles', null, 0), reading('r1a2b', 7)];
    assert.deepEqual(values(perfMetricReadings(readings)), {
      perf_task_clock_seconds: 1.5,
      perf_rawr1a2b: 7,
      perf_multiplexed_percent: 100,
    });
  });
});
