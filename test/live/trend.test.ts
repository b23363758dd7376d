import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Trend } from '../../src/live/cluster-view';
import { trendOf } from '../../src/live/trend';
import { oneOf } from '../tries';
import { GIB, MIB } from './snapshots';
import { cpuMs } from '../support/cpu-time';

const START = Date.UTC(2026, 10, 20, 12, 0, 0);

function trend(
  values: readonly number[],
  limit: number | null,
  { step = 60, now = START + values.length * step * 1000 }: { readonly step?: number; readonly now?: number } = {},
): Trend | null {
  return trendOf(
    { start: new Date(START).toISOString(), step_seconds: step, rss_bytes: values, others: {} },
    limit,
    now,
  );
}

function ramp(length: number, from: number, each: number): readonly number[] {
  return Array.from({ length }, (_, step) => from + (step + 1) * each);
}

/** Numbers in [0, 1), the same for each seed (Numerical Recipes' linear congruential generator). */
function generator(seed: number): () => number {
  let state = seed >>> 0;
  return () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
}

describe('trendOf', () => {
  it('gives the time at which steady growth reaches the limit', () => {
    const found = trend(ramp(30, GIB, 10 * MIB), 2 * GIB);
    assert.ok(found);
    assert.equal(found.limitAt, START + (1024 / 10) * 60_000);
    assert.deepEqual([found.earliest, found.latest, found.confidence], [found.limitAt, found.limitAt, 'medium']);
    assert.equal(trend(ramp(30, GIB, 10 * MIB), 1.4 * GIB)?.confidence, 'high');
    assert.equal(found.slope, (10 * MIB) / 60);
    assert.equal(found.overSeconds, 9 * 60);
  });

  it('gives that time to the millisecond for any straight line', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 5, max: 120 }),
        fc.integer({ min: 0, max: 1000 }),
        fc.integer({ min: 1, max: 1000 }),
        fc.integer({ min: 1, max: 100 }),
        fc.constantFrom(0.05, 1, 60, 3600),
        (length, from, each, more, step) => {
          fc.pre(each * (Math.max(10, length / 3) - 1) > 0.01 * (from + length * each));
          const values = ramp(length, from * MIB, each * MIB);
          const limit = (from + (length + more) * each) * MIB;
          const found = trend(values, limit, { step });
          const truth = START + (length + more) * step * 1000;
          for (const at of [found?.limitAt, found?.earliest, found?.latest])
            assert.ok(at != null && Math.abs(at - truth) <= 1, `${at} is not ${truth}`);
        },
      ),
    );
  });

  it('keeps the true time between earliest and latest in 98 % of noisy lines', () => {
    const runs = 1000;
    let kept = 0;
    for (let run = 0; run < runs; run++) {
      const random = generator(run);
      const noise = Array.from({ length: 15 + (run % 106) }, () => random() - 0.5);
      const more = 1 + (run % 30);
      const each = 10 * MIB;
      const values = noise.map((part, step) => GIB + (step + 1 + part) * each);
      const found = trend(values, GIB + (noise.length + more) * each);
      assert.ok(found?.limitAt != null && found.earliest !== null, 'growth was not seen');
      assert.ok(found.earliest <= found.limitAt && (found.latest === null || found.limitAt <= found.latest));
      const truth = START + (noise.length + more) * 60_000;
      if (found.earliest <= truth && (found.latest === null || found.latest >= truth)) kept++;
    }
    assert.ok(kept >= 0.98 * runs, `${kept} of ${runs}`);
  });

  it('is null for a constant', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 120 }), fc.integer({ min: 0 }), (length, bytes) => {
        assert.equal(trend(new Array<number>(length).fill(bytes), 1), null);
      }),
    );
  });

  it('is null for a job whose memory goes up and down, wherever its series ends', () => {
    const saw = Array.from({ length: 120 }, (_, step) => GIB + (step % 8) * 64 * MIB);
    const wave = Array.from({ length: 120 }, (_, step) => GIB * (2 + Math.sin(step / 5)));
    for (const values of [saw, wave])
      for (let end = 50; end <= values.length; end++) assert.equal(trend(values.slice(0, end), 4 * GIB), null);
  });

  it('is null for a job that has reached its level', () => {
    const loading = [...ramp(20, 0, 100 * MIB), ...new Array<number>(8).fill(2000 * MIB)];
    assert.equal(trend(loading, 4 * GIB), null);
    const flattening = Array.from({ length: 40 }, (_, step) => 2 * GIB * (1 - Math.exp(-step / 3)));
    assert.equal(trend(flattening, 4 * GIB), null);
  });

  it('is null below the earlier peak of the job', () => {
    assert.equal(trend([...ramp(10, 0, 300 * MIB), ...ramp(20, 0, 50 * MIB)], 4 * GIB), null);
  });

  it("is null for growth as small as an allocator's", () => {
    assert.equal(trend(ramp(30, 4 * GIB, 4096), 8 * GIB), null);
  });

  it('sees growth in steps', () => {
    const stairs = Array.from({ length: 90 }, (_, step) => GIB + Math.floor(step / 4) * 100 * MIB);
    const found = trend(stairs, 8 * GIB);
    assert.ok(found?.limitAt != null);
    const truth = START + ((7 * GIB) / (100 * MIB)) * 4 * 60_000;
    assert.ok(Math.abs(found.limitAt - truth) < 20 * 60_000);
  });

  it('is not misled by an outlier', () => {
    const values = ramp(30, GIB, 10 * MIB).map((bytes, step) => (step === 25 ? bytes * 3 : bytes));
    const found = trend(values, 3 * GIB);
    assert.ok(found?.limitAt != null);
    assert.ok(Math.abs(found.limitAt - (START + (2048 / 10) * 60_000)) < 60_000);
  });

  it('gives the present for a job that has reached its limit', () => {
    const now = START + 31 * 60_000;
    const found = trend(ramp(30, GIB, 10 * MIB), GIB, { now });
    assert.deepEqual([found?.limitAt, found?.earliest, found?.latest], [now, now, now]);
  });

  it('never gives a time in the past', () => {
    const now = START + 10 * 3_600_000;
    const found = trend(ramp(30, GIB, 10 * MIB), 1.5 * GIB, { now });
    assert.equal(found?.limitAt, now);
  });

  it('calculates from the time of the last sample, not from the end of the step', () => {
    const series = {
      start: new Date(START).toISOString(),
      step_seconds: 60,
      rss_bytes: ramp(9, 0, 60 * MIB),
      others: {},
    };
    const values = [...series.rss_bytes, 570 * MIB];
    const seenAt = START + 570_000;
    const found = trendOf({ ...series, rss_bytes: values }, 1200 * MIB, seenAt + 20_000, seenAt);
    assert.equal(found?.limitAt, START + 1_200_000);
  });

  it('finds growth without a limit, or with a limit that is years away', () => {
    for (const limit of [null, Infinity, 1e18]) {
      const found = trend(ramp(30, 0, MIB), limit);
      assert.ok(found && found.slope > 0);
      assert.deepEqual([found.limitAt, found.earliest, found.latest], [null, null, null]);
    }
  });

  it('is null for too few points, and has low confidence for few', () => {
    assert.equal(trend(ramp(4, 0, GIB), 9 * GIB), null);
    assert.equal(trend(ramp(6, 0, GIB), 9 * GIB)?.confidence, 'low');
  });

  it('has less confidence with noise, and for a distant limit', () => {
    const noisy = ramp(30, GIB, 10 * MIB).map((bytes, step) => bytes + (step % 3) * 6 * MIB);
    assert.notEqual(trend(noisy, 2 * GIB)?.confidence, 'high');
    assert.equal(trend(ramp(30, GIB, 10 * MIB), 100 * GIB)?.confidence, 'low');
  });

  it('gives valid times for any series', () => {
    const number = fc.oneof(fc.double(), fc.integer(), fc.constantFrom(NaN, Infinity, -1, 1e308));
    fc.assert(
      fc.property(
        fc.oneof(fc.constantFrom(new Date(START).toISOString(), ''), fc.string()),
        number,
        fc.array(number, { maxLength: 300 }),
        fc.option(number, { nil: null }),
        (start, step_seconds, rss_bytes, limit) => {
          const found = trendOf({ start, step_seconds, rss_bytes, others: {} }, limit, START);
          if (found === null) return;
          assert.ok(found.slope > 0);
          for (const at of [found.limitAt, found.earliest, found.latest])
            if (at !== null) assert.doesNotThrow(() => new Date(at).toISOString());
        },
      ),
      { numRuns: 300 },
    );
  });

  it('takes less than a second of CPU time for a million points', () =>
    oneOf(3, () => {
      const before = cpuMs();
      trend(ramp(1_000_000, 0, 1), 1e12, { step: 0.001 });
      assert.ok(cpuMs() - before < 1000);
    }));
});
