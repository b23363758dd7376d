import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Lineage, lineageMetrics, SAVED_LINEAGE } from '../../../src/sampler/processes/lineage';
import type { ProcessEvent } from '../../../src/sampler/listener/process-table';
import type { Sweep } from '../../../src/sampler/peaks/upper-ends';
import { exec, exit, exitAccount, fork } from '../listener/events';

const PRECISION = { kernel: [6, 18], pageSize: 4096, cpus: 2 } as const;
const ROOT = 100;

/** A lineage whose first process, forked by the shepherd 10 at 1, has just executed its program. */
function begun(saved: unknown = null): Lineage {
  const lineage = new Lineage(PRECISION, saved === null ? null : SAVED_LINEAGE.read(saved));
  lineage.setRoot(ROOT);
  if (saved === null) lineage.addEvents([fork(1, 10, ROOT), exec(2, ROOT)]);
  return lineage;
}

/** A sweep that began at `begin` and read these processes. */
const sweep = (begin: number, pids: readonly number[] = [], copies: readonly number[] = []): Sweep => ({
  begin,
  readings: pids.map((pid, index) => ({
    pid,
    at: begin + index + 1,
    rss: 1000,
    vmem: 2000,
    forkedNoExec: copies.includes(pid),
    image: pid,
  })),
});

describe('a lineage', () => {
  it('counts the processes that were forked and that ended, and adds up their exit records', () => {
    const lineage = begun();
    const account = exitAccount({ minorFaults: 7, cpuNs: 5_000_000 });
    lineage.addEvents([
      fork(5, ROOT, 101),
      fork(6, ROOT, 102),
      exec(7, 101),
      exit(8, 101, account),
      exit(9, 102, account),
    ]);
    assert.deepEqual(lineage.settle(sweep(20, [ROOT])).ended, [
      { pid: 101, executed: true, account },
      { pid: 102, executed: false, account },
    ]);
    const { processes, ended, unsampled, sums, whole } = lineage.totals();
    assert.deepEqual([processes, ended, unsampled, whole], [3, 2, 2, true]);
    assert.deepEqual([sums.minorFaults, sums.cpuNs, sums.majorFaults], [14, 10_000_000, 0]);
    assert.deepEqual([lineage.isLiving(ROOT), lineage.isLiving(101)], [true, false]);
    assert.deepEqual(lineage.settle(sweep(30, [ROOT])).ended, []);
  });

  it('counts the processes that the OOM killer ended, and has no such figure where there are none', () => {
    const lineage = begun();
    assert.equal(lineageMetrics(lineage.totals()).taskstats_cgroup_oom_kills, undefined);
    const killed = { kind: 'exit', at: 8, pid: 101, account: null, oomKill: 'cgroup' } as const;
    lineage.addEvents([fork(5, ROOT, 101), fork(6, ROOT, 102), killed, exit(9, 102)]);
    lineage.settle(sweep(20, [ROOT]));
    const { taskstats_cgroup_oom_kills: cgroup, taskstats_node_oom_kills: node } = lineageMetrics(lineage.totals());
    assert.deepEqual([cgroup, node], [1, undefined]);
  });

  it('gives no CPU time where processes ended, but none with an exit record', () => {
    const lineage = begun();
    const figures = (): readonly unknown[] => {
      const { taskstats_ended_processes: ended, taskstats_cpu_seconds: cpu } = lineageMetrics(lineage.totals());
      return [ended, cpu];
    };
    assert.deepEqual(figures(), [0, 0]);
    lineage.addEvents([fork(5, ROOT, 101), exit(8, 101)]);
    lineage.settle(sweep(20, [ROOT]));
    assert.deepEqual(figures(), [1, undefined]);
    lineage.addEvents([fork(25, ROOT, 102), exit(28, 102, exitAccount({ cpuNs: 5_000_000 }))]);
    lineage.settle(sweep(30, [ROOT]));
    assert.deepEqual(figures(), [2, 0.005]);
  });

  it('sorts events by time, in whatever order they arrive, and ignores those of other jobs', () => {
    const lineage = begun();
    lineage.addEvents([exit(9, 101, exitAccount()), fork(5, ROOT, 101), fork(3, 77, 78), exit(4, 78, exitAccount())]);
    assert.deepEqual(
      lineage.settle(sweep(20, [ROOT])).ended.map(({ pid }) => pid),
      [101],
    );
    assert.equal(lineage.totals().processes, 2);
  });

  it('opens the upper bounds where the shepherd gets another child while the first process lives', () => {
    const reasons = (lineage: Lineage): readonly string[] => lineage.upper.save().reasons;
    const sibling = begun();
    sibling.addEvents([fork(0, 10, 90), fork(5, 10, 101), exit(6, 101, exitAccount())]);
    sibling.settle(sweep(10, [ROOT]));
    assert.ok(reasons(sibling).includes('unknown-origin'));
    const epilog = begun();
    epilog.addEvents([fork(0, 10, 90), exit(5, ROOT, exitAccount()), fork(6, 10, 101)]);
    epilog.settle(sweep(10));
    assert.ok(!reasons(epilog).includes('unknown-origin'));
  });

  it('counts no process as unsampled that a sweep has read', () => {
    const lineage = begun();
    lineage.addEvents([fork(5, ROOT, 101)]);
    lineage.settle(sweep(10, [ROOT, 101]));
    lineage.addEvents([exit(15, 101, exitAccount())]);
    lineage.settle(sweep(20, [ROOT]));
    assert.equal(lineage.totals().unsampled, 0);
  });

  it('adopts a process that a sweep finds without an event, and counts its children from then on', () => {
    const lineage = begun();
    lineage.settle(sweep(10, [ROOT, 200]));
    lineage.addEvents([fork(11, 200, 201), exit(12, 201, exitAccount()), exit(13, 200, exitAccount())]);
    const gone = lineage.settle(sweep(20, [ROOT])).ended;
    assert.deepEqual(
      gone.map(({ pid, executed }) => [pid, executed]),
      [
        [201, false],
        [200, true],
      ],
    );
    assert.equal(lineage.totals().processes, 3);
  });

  it('names and counts a process that no fork explains once, also when its fork event arrives later', () => {
    const lineage = new Lineage(PRECISION);
    lineage.setRoot(10);
    assert.deepEqual(lineage.settle(sweep(5, [10, 11])).adopted, [10, 11]);
    lineage.addEvents([fork(2, 10, 11), fork(8, 11, 12)]);
    assert.deepEqual(lineage.settle(sweep(9, [10, 11, 12])).adopted, []);
    assert.equal(lineage.totals().processes, 3);
    assert.deepEqual(
      [...lineage.living()].map(([pid, { forkedAt }]) => [pid, forkedAt]),
      [
        [10, null],
        [11, 2],
        [12, 8],
      ],
    );
  });

  it('is not whole where a process ended without all of its exit records', () => {
    for (const account of [null, exitAccount({ whole: false })]) {
      const lineage = begun();
      lineage.addEvents([fork(5, ROOT, 101), exit(9, 101, account)]);
      lineage.settle(sweep(20, [ROOT]));
      assert.equal(lineage.totals().whole, false);
      assert.equal(lineage.totals().ended, 1);
    }
  });

  it('gives the fewest page faults of a process that replaced a program, the first process aside', () => {
    const lineage = begun();
    assert.equal(lineage.upper.replacerFaults(), null);
    lineage.addEvents([exec(5, ROOT), fork(10, ROOT, 101), fork(11, ROOT, 102), fork(12, ROOT, 103)]);
    // One program each: nothing was replaced.
    lineage.addEvents([exec(13, 101), exit(14, 101, exitAccount({ minorFaults: 1 }))]);
    lineage.settle(sweep(20, [ROOT]));
    assert.equal(lineage.upper.replacerFaults(), null);
    lineage.addEvents([exec(21, 102), exec(22, 102), exit(23, 102, exitAccount({ minorFaults: 50 }))]);
    lineage.addEvents([exec(24, 103), exec(25, 103), exit(26, 103, exitAccount({ minorFaults: 40 }))]);
    lineage.settle(sweep(30, [ROOT]));
    assert.equal(lineage.upper.replacerFaults(), 40);
  });

  it('distinguishes replacers from later processes with the same pid, also where both ended between two sweeps', () => {
    const lineage = begun();
    const life = (at: number, pid: number, minorFaults: number, programs: number): readonly ProcessEvent[] => [
      fork(at, ROOT, pid),
      ...Array.from({ length: programs }, (_, index) => exec(at + 1 + index, pid)),
      exit(at + 5, pid, exitAccount({ minorFaults })),
    ];
    lineage.addEvents([...life(5, 101, 60, 2), ...life(11, 101, 7, 1)]);
    lineage.settle(sweep(20, [ROOT]));
    lineage.addEvents(life(21, 101, 8, 1));
    lineage.settle(sweep(30, [ROOT]));
    assert.equal(lineage.upper.replacerFaults(), 60);
    lineage.addEvents([...life(31, 101, 55, 2), ...life(37, 101, 50, 3), fork(43, ROOT, 101), exec(44, 101)]);
    lineage.addEvents([exec(45, 101)]);
    lineage.settle(sweep(50, [ROOT, 101]));
    assert.equal(lineage.upper.replacerFaults(), 50);
    lineage.addEvents([exit(51, 101, exitAccount({ minorFaults: 40 }))]);
    lineage.settle(sweep(60, [ROOT]));
    assert.equal(lineage.upper.replacerFaults(), 40);
  });

  it('continues in a successor, whose sums are no longer whole', () => {
    const lineage = begun();
    lineage.addEvents([fork(5, ROOT, 101), fork(6, ROOT, 102), exit(9, 102, exitAccount({ minorFaults: 3 }))]);
    lineage.settle(sweep(20, [ROOT, 101]));
    const next = begun(JSON.parse(JSON.stringify(lineage.save())));
    next.addEvents([exit(25, 101, exitAccount({ minorFaults: 4 }))]);
    assert.deepEqual(
      next.settle(sweep(30, [ROOT])).ended.map(({ pid }) => pid),
      [101],
    );
    const { processes, ended, unsampled, sums, whole } = next.totals();
    assert.deepEqual([processes, ended, unsampled, sums.minorFaults, whole], [3, 2, 1, 7, false]);
  });

  it('counts nothing twice when a listener repeats the events that it remembers', () => {
    const lineage = begun();
    const past = [fork(5, ROOT, 101), fork(6, ROOT, 102), exit(9, 102, exitAccount({ minorFaults: 3 }))];
    lineage.addEvents(past);
    lineage.settle(sweep(20, [ROOT, 101]));
    // Received, and not yet settled.
    lineage.addEvents([fork(25, ROOT, 103)]);
    lineage.again();
    lineage.addEvents([fork(1, 10, ROOT), exec(2, ROOT), ...past, fork(25, ROOT, 103), fork(26, ROOT, 104)]);
    lineage.settle(sweep(30, [ROOT, 101, 103, 104]));
    assert.deepEqual(
      [lineage.totals().processes, lineage.totals().ended, lineage.totals().sums.minorFaults],
      [5, 1, 3],
    );
    const next = begun(JSON.parse(JSON.stringify(lineage.save())));
    next.again();
    next.addEvents([...past, fork(25, ROOT, 103), fork(26, ROOT, 104), exit(35, 104, exitAccount({ minorFaults: 4 }))]);
    next.settle(sweep(40, [ROOT, 101, 103]));
    assert.deepEqual([next.totals().processes, next.totals().ended, next.totals().sums.minorFaults], [5, 2, 7]);
  });

  it('leaves out what another account holds: events until its end, and processes forked by then', () => {
    const lineage = new Lineage(PRECISION, null, 20);
    lineage.setRoot(ROOT);
    lineage.addEvents([fork(1, 10, ROOT), exec(2, ROOT), fork(5, ROOT, 101), fork(6, ROOT, 102)]);
    lineage.addEvents([exit(9, 102, exitAccount({ minorFaults: 3 })), fork(25, ROOT, 103)]);
    lineage.addEvents([exit(26, 103, exitAccount({ minorFaults: 4 })), exit(27, 101, exitAccount({ minorFaults: 5 }))]);
    lineage.settle(sweep(22, [ROOT, 101]), 24);
    lineage.settle(sweep(30, [ROOT]));
    assert.deepEqual(
      [lineage.totals().processes, lineage.totals().ended, lineage.totals().sums.minorFaults],
      [1, 2, 9],
    );
  });

  it('counts an event that another one has overtaken', () => {
    const lineage = begun();
    lineage.addEvents([fork(15, ROOT, 101)]);
    lineage.settle(sweep(20, [ROOT]));
    lineage.addEvents([fork(14, ROOT, 102)]);
    lineage.settle(sweep(30, [ROOT]));
    assert.equal(lineage.totals().processes, 3);
  });

  it('never counts more ends than beginnings, and adds up the records of all ended processes', () => {
    const pid = fc.integer({ min: ROOT, max: ROOT + 6 });
    const event = fc.oneof(
      fc.tuple(pid, pid).map(
        ([parent, child]) =>
          (at: number): ProcessEvent =>
            fork(at, parent, child),
      ),
      pid.map(
        (one) =>
          (at: number): ProcessEvent =>
            exec(at, one),
      ),
      fc.tuple(pid, fc.option(fc.nat(100))).map(
        ([one, minorFaults]) =>
          (at: number): ProcessEvent =>
            exit(at, one, minorFaults === null ? null : exitAccount({ minorFaults })),
      ),
    );
    const step = fc.oneof(
      event,
      fc.uniqueArray(pid).map(
        (pids) =>
          (at: number): Sweep =>
            sweep(at, pids),
      ),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const lineage = begun();
        let faults = 0;
        steps.forEach((make, index) => {
          const one = make(10 * (index + 1));
          if ('kind' in one) lineage.addEvents([one]);
          else for (const { account } of lineage.settle(one).ended) faults += account?.minorFaults ?? 0;
        });
        const { processes, ended, unsampled, sums } = lineage.totals();
        assert.ok(unsampled <= ended && ended <= processes);
        assert.equal(sums.minorFaults, faults);
      }),
      { numRuns: 500 },
    );
  });
});
