import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { DEFAULT_SETTINGS } from '../../../src/record/settings';
import { newShareMeter, newThrottle, nextTick, Pace, WHOLE_PROCESS } from '../../../src/sampler/job/pace';
import { oneOf } from '../../tries';

function ticks(count: number, interval: number): readonly number[] {
  const ages: number[] = [];
  for (let age = 0; ages.length < count; ages.push(age)) age = nextTick(age, interval);
  return ages;
}

describe('nextTick', () => {
  it('looks often at first, then at every interval', () => {
    assert.deepEqual(ticks(8, 1000), [50, 100, 200, 400, 800, 1000, 2000, 3000]);
  });

  it('never waits longer than the interval at first', () => {
    assert.deepEqual(ticks(5, 300), [50, 100, 200, 300, 600]);
    assert.deepEqual(ticks(3, 20), [20, 40, 60]);
  });

  it('takes a long interval', () => {
    assert.deepEqual(ticks(7, 60_000), [50, 100, 200, 400, 800, 60_000, 120_000]);
  });

  it('leaves out the ticks that were missed', () => {
    assert.equal(nextTick(1003, 1000), 2000);
    assert.equal(nextTick(7999, 1000), 8000);
    assert.equal(nextTick(420, 1000), 800);
  });

  it('looks after 50 ms at a job that starts in the future by this clock', () => {
    assert.equal(nextTick(-500, 1000), 50);
  });

  it('is always later, by no more than the interval', () => {
    fc.assert(
      fc.property(
        fc.double({ min: 0, max: 1e10, noNaN: true }),
        fc.integer({ min: 50, max: 3_600_000 }),
        (age, interval) => {
          const next = nextTick(age, interval);
          assert.ok(next > age && next <= age + interval);
        },
      ),
    );
  });
});

/** Intervals after ticks of these costs, in ms. */
function intervals(costs: readonly number[], intervalMs = 1000, budget = 2): readonly number[] {
  const throttle = newThrottle(intervalMs, budget);
  let cpu = 100;
  return [0, ...costs].map((cost) => throttle.afterTick((cpu += cost)));
}

describe('the stretching of the interval', () => {
  it('leaves a cheap sampler alone', () => {
    assert.ok(intervals([10, 5, 5, 5, 5, 5, 5]).every((interval) => interval === 1000));
  });

  it('ignores a single expensive tick', () => {
    assert.equal(intervals([5, 5, 5, 5, 5, 30, 5, 5]).at(-1), 1000);
  });

  it('keeps expensive ticks within the CPU share from the first on, and ends when they get cheap', () => {
    const expensive = intervals([5, 5, 5, 5, 400, 400, 400, 400, 400, 400, 400]);
    assert.ok(Math.abs((expensive.at(-1) ?? 0) - 20_000) < 1000, String(expensive.at(-1)));
    assert.ok((intervals([500])[1] ?? 0) >= 20_000, 'a large job from its first tick on');
    const back = intervals([400, 400, 400, 400, 400, ...Array.from({ length: 12 }, () => 4)]);
    assert.equal(back.at(-1), 1000);
  });

  it('makes it a minute at most', () => {
    assert.equal(intervals([90_000, 90_000, 90_000, 90_000, 90_000]).at(-1), 60_000);
  });
});

describe('a job at rest', () => {
  const START_MS = 1_000_000;
  /** The pace after looks that found the job asleep (true) or awake. */
  const paceAfter = (looks: readonly boolean[], interval = 1, phaseMs?: number): Pace => {
    const throttle = { afterTick: () => interval * 1000 };
    const pace = new Pace({ ...DEFAULT_SETTINGS, interval }, throttle, phaseMs, null);
    for (const asleep of looks) pace.afterLook(0, asleep);
    return pace;
  };
  const asleep = (looks: number): readonly boolean[] => Array.from({ length: looks }, () => true);
  const waitAt = (pace: Pace, age: number): number => pace.untilNextLook(START_MS + age, START_MS);

  it('is looked at every five seconds once it has slept through ten looks', () => {
    assert.equal(waitAt(paceAfter(asleep(9)), 12_000), 1000);
    assert.equal(waitAt(paceAfter(asleep(10)), 12_000), 3000);
    assert.equal(waitAt(paceAfter(asleep(100), 1, 250), 12_000), 3250);
  });

  it('is looked at every interval as soon as one look finds it awake', () => {
    assert.equal(waitAt(paceAfter([...asleep(50), false]), 65_000), 1000);
    assert.equal(waitAt(paceAfter([...asleep(50), false, ...asleep(9)]), 65_000), 1000);
  });

  it('is looked at sooner when the kernel reports an event in it', () => {
    const pace = paceAfter(asleep(20));
    assert.equal(pace.stir(), true);
    assert.equal(waitAt(pace, 20_100), 900);
    assert.equal(pace.stir(), false);
    assert.equal(paceAfter(asleep(3)).stir(), false);
  });

  it('is searched for in all of /proc as often as before when the clock is set back', () => {
    for (const phaseMs of [undefined, 250]) {
      const pace = paceAfter([], 1, phaseMs);
      const now = Date.now();
      pace.scansAt(now, true);
      assert.equal(pace.scansAt(now - 3_600_000, false), true, String(phaseMs));
      assert.equal(pace.scansAt(now - 3_600_000, false), false);
      assert.equal(pace.scansAt(now - 3_600_000 + 5000, false), true);
    }
  });

  it('is looked at within an interval when the clock is set back', () => {
    assert.equal(waitAt(paceAfter([]), -3_600_000), 1000);
    assert.equal(waitAt(paceAfter([], 1, 250), -3_600_000), 1000);
  });

  it('is charged less for a look when looks are further apart', () => {
    const counted: number[] = [];
    const throttle = { afterTick: (cpuMs: number): number => (counted.push(cpuMs), 1000) };
    const pace = new Pace(DEFAULT_SETTINGS, throttle, undefined, null);
    for (let look = 1; look <= 12; look++) pace.afterLook(look * 0.01, true);
    pace.afterLook(0.13, false);
    pace.afterLook(0.14, false);
    const differences = counted.map((cpuMs, index) => Math.round(cpuMs - (counted[index - 1] ?? 0)));
    assert.deepEqual(differences, [...Array.from({ length: 10 }, () => 10), 2, 2, 2, 10]);
  });

  it('keeps an interval above five seconds, which does not count as stretched', () => {
    const pace = paceAfter(asleep(20), 30);
    assert.equal(waitAt(pace, 600_000), 30_000);
    assert.equal(pace.afterLook(0, true), false);
    assert.equal(pace.intervalMs, 30_000);
  });
});

function burn(ms: number): void {
  const cpuMs = (): number => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000;
  };
  for (const end = cpuMs() + ms; cpuMs() < end;);
}

describe('the CPU time of a share', () => {
  it('is that of what ran through its meter, even if it threw', () =>
    oneOf(5, () => {
      const meter = newShareMeter();
      const before = WHOLE_PROCESS.seconds();
      burn(40);
      assert.equal(meter.seconds(), 0);
      assert.equal(
        meter.around(() => {
          burn(50);
          return 7;
        }),
        7,
      );
      const first = meter.seconds();
      assert.ok(first >= 0.05 && first < 0.2, `${first} s`);
      assert.throws(() =>
        meter.around(() => {
          burn(30);
          throw new Error('failed');
        }),
      );
      assert.ok(meter.seconds() >= first + 0.03);
      assert.ok(WHOLE_PROCESS.seconds() - before >= 0.12);
    }));

  it('leaves out what ran through another meter', () => {
    const one = newShareMeter();
    const other = newShareMeter();
    one.around(() => burn(10));
    assert.equal(other.seconds(), 0);
    assert.equal(
      WHOLE_PROCESS.around(() => 3),
      3,
    );
  });
});
