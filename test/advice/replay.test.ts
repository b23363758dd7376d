import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Predictor } from '../../src/advice/predictor';
import { MEMORY_PRIOR } from '../../src/advice/prior';
import { bySubmission, replay, type PastRun } from '../../src/advice/replay';

const GIB = 2 ** 30;

const run = (submit: number, given: Partial<PastRun> = {}): PastRun => ({
  submit,
  end: submit + 10,
  classes: ['a'],
  seconds: 10,
  needed: GIB,
  stoppedAt: null,
  requested: null,
  ...given,
});

const replayed = (runs: readonly PastRun[], risk = 0.05) =>
  replay(bySubmission(runs), [risk], new Predictor(MEMORY_PRIOR));

describe('a replay', () => {
  it('learns only from runs that had ended when a job was submitted', () => {
    const all = Array.from({ length: 50 }, () => run(0));
    assert.equal(replayed(all).advisable, 0);
    assert.equal(replayed([...all, run(9)]).advisable, 0);
    assert.equal(replayed([...all, run(10)]).advisable, 1);
    assert.equal(replayed([run(10), ...all]).advisable, 1, 'in any order');
  });

  it('counts a job that needed more as failed, and doubles its request until it is enough', () => {
    const steady = Array.from({ length: 100 }, (_, index) => run(index * 20));
    const base = replayed(steady).advice[0];
    assert.equal(base?.within.failed, 0);
    const after = replayed([...steady, run(5000, { needed: 3 * GIB })]).advice[0];
    assert.equal(after?.within.failed, 1);
    const wasted = after.within.unused_byte_seconds - base.within.unused_byte_seconds;
    // Requests of 1, 2 and then 4 GiB, or a little more: two runs are lost, a quarter of the third is unused.
    assert.ok(wasted >= 10 * (1 + 2 + 1) * GIB && wasted < 10 * (1 + 2 + 1) * 1.6 * GIB, String(wasted / GIB));
  });

  it('counts a run that was stopped at its limit as one that needed more', () => {
    const runs = Array.from({ length: 100 }, (_, index) =>
      run(index * 20, { requested: GIB, stoppedAt: index % 10 === 0 ? GIB : null }),
    );
    const { users } = replayed(runs);
    // The first three runs are too few for advice; of the others, those with indexes 10 to 90 were stopped.
    assert.equal(users?.jobs, 97);
    assert.equal(users.failed, 9);
    assert.equal(users.undecided, 0);
    // Of a stopped run only the lost attempt is known.
    assert.deepEqual([users.used_byte_seconds, users.unused_byte_seconds], [88 * 10 * GIB, 9 * 10 * GIB]);
  });

  it('counts a run that was stopped at a limit below the request as undecided', () => {
    const runs = Array.from({ length: 100 }, (_, index) => run(index * 20, { needed: GIB + (index % 10) }));
    const after = (given: Partial<PastRun>) => replayed([...runs, run(5000, given)]).advice[0]?.within;
    const base = replayed(runs).advice[0]?.within;
    assert.deepEqual(after({ stoppedAt: GIB / 2, needed: GIB / 2 }), { ...base, undecided: 1 });
    const known = { jobs: (base?.jobs ?? 0) + 1, failed: 1, undecided: 0 };
    for (const stopped of [
      { stoppedAt: 2 * GIB, needed: 2 * GIB },
      { stoppedAt: GIB / 2, needed: 2 * GIB },
    ]) {
      const { jobs, failed, undecided } = after(stopped) ?? {};
      assert.deepEqual({ jobs, failed, undecided }, known);
    }
    const [rule] = replayed([...runs, run(5000, { stoppedAt: GIB / 2, needed: GIB / 2 })]).rules;
    assert.deepEqual([rule?.jobs, rule?.undecided], [97, 1]);
  });

  it('states a larger risk if the requested one can not be stated', () => {
    const [advice] = replayed(
      Array.from({ length: 5 }, (_, index) => run(index * 20)),
      0.01,
    ).advice;
    assert.equal(advice?.within.jobs, 0);
    assert.ok(advice.larger.jobs > 0 && (advice.larger.stated_risk ?? 0) > 0.01);
  });
});
