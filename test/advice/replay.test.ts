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

const played = (runs: readonly PastRun[], risk = 0.05) =>
  replay(bySubmission(runs), [risk], new Predictor(MEMORY_PRIOR));

describe('a replay', () => {
  it('knows only what had ended when a job was submitted', () => {
    const all = Array.from({ length: 50 }, () => run(0));
    assert.equal(played(all).advisable, 0);
    assert.equal(played([...all, run(9)]).advisable, 0);
    assert.equal(played([...all, run(10)]).advisable, 1);
    assert.equal(played([run(10), ...all]).advisable, 1, 'in any order');
  });

  it('counts a job that needed more as failed, with its whole run and twice the request after it', () => {
    const steady = Array.from({ length: 100 }, (_, index) => run(index * 20));
    const base = played(steady).advice[0];
    assert.equal(base?.within.failed, 0);
    const after = played([...steady, run(5000, { needed: 3 * GIB })]).advice[0];
    assert.equal(after?.within.failed, 1);
    const wasted = after.within.unused_byte_seconds - base.within.unused_byte_seconds;
    // 1, 2 and then 4 GiB requested, or a little more: two runs lost, and a quarter of the third not used.
    assert.ok(wasted >= 10 * (1 + 2 + 1) * GIB && wasted < 10 * (1 + 2 + 1) * 1.6 * GIB, String(wasted / GIB));
  });

  it('takes a run that was stopped at its limit as one that needed more than that', () => {
    const runs = Array.from({ length: 100 }, (_, index) =>
      run(index * 20, { requested: GIB, stoppedAt: index % 10 === 0 ? GIB : null }),
    );
    const { users } = played(runs);
    // The first three tell too little; of the others, those of indexes 10 to 90 were stopped.
    assert.equal(users?.jobs, 97);
    assert.equal(users.failed, 9);
    assert.equal(users.undecided, 0);
    // Of a run that was stopped its lost attempt is known, and no other.
    assert.deepEqual([users.used_byte_seconds, users.unused_byte_seconds], [88 * 10 * GIB, 9 * 10 * GIB]);
  });

  it('leaves out a run that was stopped at a limit below the request: whether that is enough is not known', () => {
    const runs = Array.from({ length: 100 }, (_, index) => run(index * 20, { needed: GIB + (index % 10) }));
    const after = (given: Partial<PastRun>) => played([...runs, run(5000, given)]).advice[0]?.within;
    const base = played(runs).advice[0]?.within;
    assert.deepEqual(after({ stoppedAt: GIB / 2, needed: GIB / 2 }), { ...base, undecided: 1 });
    const known = { jobs: (base?.jobs ?? 0) + 1, failed: 1, undecided: 0 };
    for (const stopped of [
      { stoppedAt: 2 * GIB, needed: 2 * GIB },
      { stoppedAt: GIB / 2, needed: 2 * GIB },
    ]) {
      const { jobs, failed, undecided } = after(stopped) ?? {};
      assert.deepEqual({ jobs, failed, undecided }, known);
    }
    const [rule] = played([...runs, run(5000, { stoppedAt: GIB / 2, needed: GIB / 2 })]).rules;
    assert.deepEqual([rule?.jobs, rule?.undecided], [97, 1]);
  });

  it('states the larger risk where the wanted one can not be stated', () => {
    const [advice] = played(
      Array.from({ length: 5 }, (_, index) => run(index * 20)),
      0.01,
    ).advice;
    assert.equal(advice?.within.jobs, 0);
    assert.ok(advice.larger.jobs > 0 && (advice.larger.stated_risk ?? 0) > 0.01);
  });
});
