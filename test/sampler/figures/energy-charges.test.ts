import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  charge,
  learnIdlePower,
  newEnergyAccount,
  newIdlePower,
  type IdlePower,
  type JobUse,
  type NodeUse,
} from '../../../src/sampler/figures/energy-charges';

const MIB = 1024 * 1024;

/** 10 s of a node with 8 CPUs: 200 W in the packages, 30 W in DRAM, half busy, 1 GiB in use. */
const NODE: NodeUse = {
  seconds: 10,
  packageJoules: 2000,
  dramJoules: 300,
  busyCpuSeconds: 40,
  cpuSeconds: 80,
  usedBytes: 1024 * MIB,
};
const JOB: JobUse = { cpuSeconds: 10, rssBytes: 256 * MIB };
const NO_IDLE = newIdlePower(0);
const IDLE_80 = newIdlePower(80);

const amount = (max: number): fc.Arbitrary<number> => fc.double({ min: 0, max, noNaN: true });
const oddAmount = (max: number): fc.Arbitrary<number | null> =>
  fc.oneof({ weight: 8, arbitrary: amount(max) }, fc.constantFrom(null, 0, -1, NaN, Infinity, -Infinity));
const node: fc.Arbitrary<NodeUse> = fc.record({
  seconds: fc.oneof({ weight: 8, arbitrary: amount(3600) }, fc.constantFrom(0, -1, NaN)),
  packageJoules: oddAmount(1e6),
  dramJoules: oddAmount(1e5),
  busyCpuSeconds: oddAmount(1e5),
  cpuSeconds: oddAmount(1e5),
  usedBytes: oddAmount(1e13),
});
const job: fc.Arbitrary<JobUse> = fc.record({ cpuSeconds: oddAmount(2e5), rssBytes: oddAmount(2e13) });
const idlePower: fc.Arbitrary<IdlePower> = fc.oneof(
  amount(1e4).map(newIdlePower),
  fc.constantFrom(NO_IDLE, { watts: NaN, configured: false }),
);

const charged = (use: NodeUse, by: JobUse, idle: IdlePower) => charge(newEnergyAccount(), { node: use, job: by, idle });

describe('charge', () => {
  it('charges packages by CPU time above idle, DRAM by memory, and keeps the node beside', () => {
    assert.deepEqual(charge(newEnergyAccount(), { node: NODE, job: JOB, idle: IDLE_80 }), {
      packageJoules: (2000 - 800) / 4,
      dramJoules: 300 / 4,
      idleJoules: 800,
      nodeJoules: 2300,
      seconds: 10,
      coveredSeconds: 10,
      idleKnownSeconds: 10,
    });
  });

  it('adds intervals up', () => {
    const once = charge(newEnergyAccount(), { node: NODE, job: JOB, idle: NO_IDLE });
    const twice = charge(once, { node: NODE, job: JOB, idle: NO_IDLE });
    assert.equal(twice.packageJoules, 1000);
    assert.equal(twice.idleJoules, 0);
    assert.equal(twice.idleKnownSeconds, 0);
    assert.equal(twice.seconds, 20);
  });

  it('does not cover an interval without a counter, or in which one began anew', () => {
    const account = charge(newEnergyAccount(), { node: { ...NODE, packageJoules: null }, job: JOB, idle: IDLE_80 });
    assert.equal(account.packageJoules, 0);
    assert.equal(account.idleJoules, 0);
    assert.equal(account.dramJoules, 75);
    assert.equal(account.nodeJoules, 300);
    assert.equal(account.coveredSeconds, 0);
    assert.equal(account.seconds, 10);
  });

  it('charges nothing by a share that is not known', () => {
    const blind = charge(newEnergyAccount(), {
      node: { ...NODE, busyCpuSeconds: null, usedBytes: null },
      job: JOB,
      idle: NO_IDLE,
    });
    assert.deepEqual([blind.packageJoules, blind.dramJoules, blind.nodeJoules, blind.coveredSeconds], [0, 0, 2300, 0]);
    const unseen = charge(newEnergyAccount(), { node: NODE, job: { cpuSeconds: null, rssBytes: null }, idle: NO_IDLE });
    assert.deepEqual([unseen.packageJoules, unseen.coveredSeconds], [0, 0]);
  });

  it('charges nobody for an interval without CPU time', () => {
    const { packageJoules, dramJoules, idleJoules, nodeJoules, coveredSeconds } = charged(
      { ...NODE, dramJoules: null, busyCpuSeconds: 0 },
      { cpuSeconds: 0, rssBytes: MIB },
      IDLE_80,
    );
    assert.deepEqual([packageJoules, dramJoules, idleJoules, nodeJoules, coveredSeconds], [0, 0, 800, 2000, 10]);
  });

  it('charges a job that seems to be busier than its node no more than all', () => {
    const { packageJoules, dramJoules } = charged(NODE, { cpuSeconds: 55, rssBytes: 4096 * MIB }, IDLE_80);
    assert.deepEqual([packageJoules, dramJoules], [1200, 300]);
  });

  it('takes no more idle energy than the packages used', () => {
    const { idleJoules, packageJoules } = charged(NODE, JOB, newIdlePower(1000));
    assert.deepEqual([idleJoules, packageJoules], [2000, 0]);
  });

  it('leaves the account as it is for an interval without length', () => {
    const account = charge(newEnergyAccount(), { node: NODE, job: JOB, idle: NO_IDLE });
    for (const seconds of [0, -1, NaN])
      assert.equal(charge(account, { node: { ...NODE, seconds }, job: JOB, idle: NO_IDLE }), account);
  });

  it('keeps two jobs that share a node below what the node used, over any life', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(node, job, amount(1), idlePower), { maxLength: 20 }), (life) => {
        let a = newEnergyAccount();
        let b = newEnergyAccount();
        for (const [use, all, part, idle] of life) {
          const within = { cpuSeconds: use.busyCpuSeconds ?? all.cpuSeconds, rssBytes: use.usedBytes ?? all.rssBytes };
          const times = (value: number | null, by: number): number | null => (value === null ? null : value * by);
          const of = (by: number): JobUse => ({
            cpuSeconds: times(within.cpuSeconds, by),
            rssBytes: times(within.rssBytes, by),
          });
          a = charge(a, { node: use, job: of(part), idle });
          b = charge(b, { node: use, job: of(1 - part), idle });
        }
        assert.ok(Object.values({ ...a }).every((value: number) => value >= 0 && Number.isFinite(value)));
        const both = a.packageJoules + a.dramJoules + b.packageJoules + b.dramJoules;
        assert.ok(both + a.idleJoules <= a.nodeJoules * (1 + 1e-9));
        assert.ok(a.coveredSeconds <= a.seconds && a.idleKnownSeconds <= a.seconds);
        assert.equal(a.nodeJoules, b.nodeJoules);
      }),
    );
  });

  it('charges no more than the node used, whatever the figures are', () => {
    fc.assert(
      fc.property(node, job, idlePower, (use, by, idle) => {
        const account = charged(use, by, idle);
        assert.ok(Object.values({ ...account }).every((value: number) => value >= 0 && Number.isFinite(value)));
        const { packageJoules, dramJoules, idleJoules, nodeJoules } = account;
        assert.ok(packageJoules + dramJoules + idleJoules <= nodeJoules * (1 + 1e-9));
      }),
    );
  });
});

describe('learnIdlePower', () => {
  const quiet: NodeUse = { ...NODE, busyCpuSeconds: 3 };

  it('keeps the smallest power of a node below 5 % busy', () => {
    const first = learnIdlePower(NO_IDLE, quiet);
    assert.deepEqual(first, { watts: 200, configured: false });
    assert.equal(learnIdlePower(first, { ...quiet, packageJoules: 900 }).watts, 90);
    assert.equal(learnIdlePower(first, { ...quiet, packageJoules: 2500 }).watts, 200);
  });

  it('learns nothing of a busy node, too short or too long an interval, or a missing counter', () => {
    for (const odd of [
      NODE,
      { ...quiet, busyCpuSeconds: 4 },
      { ...quiet, seconds: 0.5 },
      { ...quiet, seconds: 3600 },
      { ...quiet, packageJoules: null },
      { ...quiet, packageJoules: 0 },
      { ...quiet, busyCpuSeconds: null },
      { ...quiet, cpuSeconds: 0 },
      { ...quiet, seconds: NaN },
    ])
      assert.equal(learnIdlePower(NO_IDLE, odd), NO_IDLE);
  });

  it("keeps to the site's word", () => {
    assert.equal(learnIdlePower(IDLE_80, quiet), IDLE_80);
    assert.deepEqual(newIdlePower(-5), { watts: null, configured: false });
  });

  it('never rises, and is never more than was measured', () => {
    fc.assert(
      fc.property(fc.array(node), (uses) => {
        let idle = newIdlePower(0);
        for (const use of uses) {
          const next = learnIdlePower(idle, use);
          assert.ok(next.watts === idle.watts || (next.watts !== null && next.watts < (idle.watts ?? Infinity)));
          assert.ok(next.watts === null || (next.watts > 0 && Number.isFinite(next.watts)));
          idle = next;
        }
      }),
    );
  });
});
