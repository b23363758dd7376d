import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { JobClock } from '../../../src/sampler/job/job-clock';

const HOUR_MS = 3_600_000;

describe("a job's clock", () => {
  it('goes on where the clock of its host is set, and tells by how much that was', (t) => {
    let setMs = 0;
    const { now } = Date;
    t.mock.method(Date, 'now', () => now() + setMs);
    const clock = new JobClock();
    const begun = clock.now();
    assert.equal(clock.setByMs(), 0);
    setMs = -HOUR_MS;
    // That of the sampler which takes over.
    for (const one of [clock, new JobClock(clock.save())]) {
      const passed = one.now() - begun;
      assert.ok(passed >= 0 && passed < 60_000, `${passed} ms`);
      assert.ok(Math.abs(one.setByMs() + HOUR_MS) < 1000);
    }
    assert.equal(new JobClock().setByMs(), 0);
  });
});
