import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CpuBudget } from '../../../src/sampler/service/cpu-budget';

/** The interval (ms) after `looks` looks of `cost` ms at each of so many jobs. */
function intervalOf(jobs: number, cost: number, looks = 60, budget = 1): number {
  const cpuBudget = new CpuBudget(1000, budget);
  const each = Array.from({ length: jobs }, (_, index) => cpuBudget.job(`job ${index}`));
  let interval = 0;
  for (let look = 1; look <= looks; look++) for (const one of each) interval = one.afterTick(look * cost);
  return interval;
}

describe('the CPU budget that all jobs of a process share', () => {
  it('leaves cheap jobs alone', () => {
    assert.equal(intervalOf(1, 5), 1000);
    assert.equal(intervalOf(16, 0.5), 1000);
  });

  it('stretches the interval by what all jobs cost, against a share that grows with their number', () => {
    assert.equal(Math.round(intervalOf(1, 20)), 2000);
    assert.equal(Math.round(intervalOf(16, 2)), 3200);
    // Four shares of a core for 64 jobs.
    assert.equal(intervalOf(64, 0.5), 1000);
    assert.equal(Math.round(intervalOf(64, 2)), 3200);
    assert.equal(intervalOf(2, 100_000), 60_000);
  });

  it('ignores the first looks at a job and a small excess', () => {
    assert.equal(intervalOf(1, 500, 4), 1000);
    assert.equal(intervalOf(1, 11), 1000);
  });

  it('stretches the interval of an expensive job only', () => {
    const cpuBudget = new CpuBudget(1000, 2);
    const expensive = cpuBudget.job('thousands of processes');
    const others = Array.from({ length: 9 }, (_, index) => cpuBudget.job(`job ${index}`));
    for (let look = 1; look <= 60; look++) {
      for (const one of others) assert.equal(one.afterTick(look * 0.5), 1000);
      const interval = expensive.afterTick(look * 400);
      // What 20 ms in a second leave after 9 times 0.5 ms.
      if (look === 60) assert.equal(Math.round(interval), Math.round((1000 * 400) / 15.5));
    }
  });

  it('divides what cheap jobs leave among the expensive ones', () => {
    const cpuBudget = new CpuBudget(1000, 2);
    const costs = [1, 30, 60];
    const jobs = costs.map((cost) => ({ cost, one: cpuBudget.job(`costs ${cost}`) }));
    let last: readonly number[] = [];
    for (let look = 1; look <= 60; look++) last = jobs.map(({ cost, one }) => one.afterTick(look * cost));
    assert.deepEqual(last.map(Math.round), [1000, Math.round(30_000 / 9.5), Math.round(60_000 / 9.5)]);
  });

  it('forgets a job that has ended, and starts anew with one of its name', () => {
    const cpuBudget = new CpuBudget(1000, 1);
    const expensive = cpuBudget.job('expensive');
    const cheap = cpuBudget.job('cheap');
    let interval = 0;
    for (let look = 1; look <= 20; look++) {
      expensive.afterTick(look * 100);
      interval = cheap.afterTick(look * 7);
    }
    assert.ok(interval > 1200, `${interval}`);
    cpuBudget.end('expensive');
    assert.equal(cheap.afterTick(21 * 7), 1000);
    // The first looks at a new job of that name are ignored, as above.
    const again = cpuBudget.job('expensive');
    for (let look = 1; look <= 4; look++) assert.equal(again.afterTick(look * 100), 1000);
  });
});
