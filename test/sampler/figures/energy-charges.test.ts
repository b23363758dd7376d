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
  it('charges package energy above idle by CPU time and DRAM energy by memory, and keeps the energy of the node', () => {
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

  it('counts an interval without package energy as not covered, and still charges its DRAM energy', () => {
    const account = charge(newEnergyAccount(), { node: { ...NODE, packageJoules: null }, job: JOB, idle: IDLE_80 });
    assert.equal(account.packageJoules, 0);
    assert.equal(account.idleJoules, 0);
    assert.equal(account.dramJoules, 75);
    assert.equal(account.nodeJoules, 300);
    assert.equal(account.coveredSeconds, 0);
    assert.equal(account.seconds, 10);
  });

  it("charges nothing where the job's share is unknown", () => {
    const blind = charge(newEnergyAccount(), {
      node: { ...NODE, busyCpuSeconds: null, usedBytes: null },
      job: JOB,
      idle: NO_IDLE,
    });
    assert.deepEqual([blind.packageJoules, blind.dramJoules, blind.nodeJoules, blind.coveredSeconds], [0, 0, 2300, 0]);
    const unseen = charge(newEnergyAccount(), { node: NODE, job: { cpuSeconds: null, rssBytes: null }, idle: NO_IDLE });
    assert.deepEqual([unseen.packageJoules, unseen.coveredSeconds], [0, 0]);
  });

  it('charges no job for an interval without CPU time', () => {
    const { packageJoules, dramJoules, idleJoules, nodeJoules, coveredSeconds } = charged(
      { ...NODE, dramJoules: null, busyCpuSeconds: 0 },
      { cpuSeconds: 0, rssBytes: MIB },
      IDLE_80,
    );
    assert.deepEqual([packageJoules, dramJoules, idleJoules, nodeJoules, coveredSeconds], [0, 0, 800, 2000, 10]);
  });

  it('charges a job that seems busier than its node for the whole node, not for more', () => {
    const { packageJoules, dramJoules } = charged(NODE, { cpuSeconds: 55, rssBytes: 4096 * MIB }, IDLE_80);
    assert.deepEqual([packageJoules, dramJoules], [1200, 300]);
  });

  it('counts no more idle energy than the packages used', () => {
    const { idleJoules, packageJoules } = charged(NODE, JOB, newIdlePower(1000));
    assert.deepEqual([idleJoules, packageJoules], [2000, 0]);
  });

  it('leaves the account unchanged for an interval whose length is zero, negative or unknown', () => {
    const account = charge(newEnergyAccount(), { node: NODE, job: JOB, idle: NO_IDLE });
    for (const seconds of [0, -1, NaN])
      assert.equal(charge(account, { node: { ...NODE, seconds }, job: JOB, idle: NO_IDLE }), account);
  });

  it('charges two jobs that share a node no more than the node used, over any intervals', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(node, job, amount(1), idlePower), { maxLength: 20 }), (intervals) => {
        let a = newEnergyAccount();
        let b = newEnergyAccount();
        for (const [use, all, part, idle] of intervals) {
          const within = { cpuSeconds: use.busyCpuSeconds ?? all.cpuSeconds, rssBytes: use.usedBytes ?? all.rssBytes };
          const times = (value: number | null, by: number): number | null => (value === null ? null : value * by);
          const shareOf = (by: number): JobUse => ({
            cpuSeconds: times(within.cpuSeconds, by),
            rssBytes: times(within.rssBytes, by),
          });
          a = charge(a, { node: use, job: shareOf(part), idle });
          b = charge(b, { node: use, job: shareOf(1 - part), idle });
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

  it('keeps the smallest power of a node that is less than 5 % busy', () => {
    const first = learnIdlePower(NO_IDLE, quiet);
    assert.deepEqual(first, { watts: 200, configured: false });
    assert.equal(learnIdlePower(first, { ...quiet, packageJoules: 900 }).watts, 90);
    assert.equal(learnIdlePower(first, { ...quiet, packageJoules: 2500 }).watts, 200);
  });

  it('learns nothing from a busy node, from too short or too long an interval, or without a counter', () => {
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

  it('keeps the power that the site configured, unless that is negative', () => {
    assert.equal(learnIdlePower(IDLE_80, quiet), IDLE_80);
    assert.deepEqual(newIdlePower(-5), { watts: null, configured: false });
  });

  it('never raises the power, and takes only what was measured', () => {
    fc.assert(
      fc.property(fc.array(node), (uses) => {
        let idle = newIdlePower(0);
        for (const use of uses) {
          const next = learnIdlePower(idle, use);
          assert.ok(next.watts === idle.watts || (next.watts !== null && next.watts < (idle.watts ?? Infinity)));
          assert.ok(next.watts === null || (next.watts > 0 && Number.isFinite(next.watts)));
          if (next.watts !== idle.watts) assert.equal(next.watts, (use.packageJoules ?? NaN) / use.seconds);
          idle = next;
        }
      }),
    );
  });
});
