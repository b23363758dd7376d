import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { JobSampler, SAVED_SAMPLER } from '../../../src/sampler/job/job-sampler';
import type { ClaimRules } from '../../../src/sampler/processes/job-processes';
import { bracket } from '../../../src/sampler/peaks/peaks';
import { filled } from '../../../src/sampler/series/series';
import { monotonicUs, ticksAt } from '../../../src/sources/proc/clock';
import { exec, exit, exitAccount, fork } from '../listener/events';
import { procTree, type ProcTree } from '../proc-tree';
import { temporaryDirectory } from '../../support/temporary-directory';

const KIB = 1024;
const START = Date.UTC(2026, 10, 1);

interface Job {
  readonly tree: ProcTree;
  readonly sampler: JobSampler;
  /** Reads the job `seconds` after its start. */
  readonly at: (seconds: number) => void;
  readonly successor: () => JobSampler;
}

function newJob(largest = 10, changes: Partial<ClaimRules> = {}): Job {
  const tree = procTree(temporaryDirectory());
  tree.set(100, { comm: 'job' });
  const rules = (): ClaimRules => ({
    procRoot: tree.root,
    shepherdPid: 1,
    group: null,
    uid: () => null,
    notBefore: 0,
    precision: { kernel: [6, 18], pageSize: 4096, cpus: 1 },
    sharesAddressSpace: () => false,
    ...changes,
  });
  const sampler = new JobSampler(rules(), { left: 0 }, largest);
  return {
    tree,
    sampler,
    at: (seconds) => {
      sampler.tick(START + 1000 * seconds, false);
    },
    successor: () =>
      new JobSampler(rules(), { left: 0 }, largest, SAVED_SAMPLER.read(JSON.parse(JSON.stringify(sampler.save())))),
  };
}

describe('the sampler of a job', () => {
  it('has seen nothing before the job’s first process', () => {
    const { sampler, at } = newJob();
    at(-1);
    assert.equal(sampler.alive(), false);
    const seen = sampler.observation();
    assert.deepEqual([seen.samples, seen.startMs, seen.firstSampleMs], [0, null, null]);
    assert.deepEqual(sampler.takeSamples(), []);
  });

  it('gives the times, the number and the longest gap of its samples', () => {
    const { sampler, at } = newJob();
    sampler.start(100, START);
    for (const seconds of [0.25, 1, 4, 5]) at(seconds);
    const seen = sampler.observation();
    assert.equal(sampler.alive(), true);
    assert.deepEqual(
      [seen.startMs, seen.firstSampleMs, seen.lastSampleMs, seen.samples, seen.longestGapMs],
      [START, START + 250, START + 5000, 4, 3000],
    );
  });

  it('counts pages that KSM has merged once in the footprint', () => {
    const { sampler, tree, at } = newJob(20, { merged: () => 100 });
    sampler.start(100, START);
    tree.set(100, { rss: 1000, anonymous: 800 });
    at(0);
    const { footprint, rss } = sampler.observation().peaks.best;
    assert.deepEqual([footprint?.certain, rss?.certain], [400 * KIB, 1000 * KIB]);
  });

  it('integrates memory over time', () => {
    const { sampler, tree, at } = newJob();
    sampler.start(100, START);
    at(0);
    tree.set(100, { rss: 3000 });
    at(2);
    tree.set(100, { rss: 1000 });
    at(3);
    assert.equal(sampler.observation().rssByteMs, KIB * (2000 * 2000 + 2000 * 1000));
    assert.equal(Math.max(...filled(sampler.observation().series)), 3000 * KIB);
  });

  it('counts the time in which all processes are stopped as suspended, half of a step at either end', () => {
    const { sampler, tree, at, successor } = newJob();
    sampler.start(100, START);
    tree.set(101, { ppid: 100 });
    at(0);
    tree.set(100, { state: 'T' });
    at(1);
    assert.equal(sampler.observation().suspendedMs, 0);
    tree.set(101, { state: 'T' });
    // Traced by 100.
    tree.set(102, { ppid: 100, state: 't' });
    at(2);
    tree.set(101, { state: 'Z' });
    at(3);
    assert.equal(sampler.observation().suspendedMs, 1500);
    const next = successor();
    tree.set(100, { state: 'S' });
    next.tick(START + 5000, false);
    next.tick(START + 9000, false);
    assert.equal(next.observation().suspendedMs, 2500);
  });

  it('does not know the I/O of a job with a process that hides it, unless its parent has waited for that', () => {
    const { sampler, tree, at } = newJob();
    const hide = (pid: number, state = 'S'): void => {
      tree.set(pid, { ppid: 100, state });
      rmSync(join(tree.root, String(pid), 'io'));
    };
    const lost = (): boolean => {
      const { ioLost } = sampler.observation();
      assert.equal(sampler.takeSamples().at(-1)?.read === null, ioLost);
      return ioLost;
    };
    sampler.start(100, START);
    hide(101);
    at(0);
    assert.equal(lost(), true);
    tree.remove(101);
    at(1);
    assert.equal(lost(), false);
    tree.set(102, { ppid: 100, read: 500 });
    at(2);
    hide(102, 'Z');
    at(3);
    tree.remove(102);
    hide(103);
    at(4);
    assert.equal(sampler.observation().sums.readBytes, 500);
    tree.remove(100);
    tree.remove(103);
    at(5);
    assert.equal(lost(), true);
  });

  it('counts the time in which the job’s control group is frozen as suspended', () => {
    const { sampler, at } = newJob();
    const directory = temporaryDirectory();
    const events = join(directory, 'cgroup.events');
    sampler.start(100, START);
    sampler.inGroup({ origin: 'scope', directories: { version: 2, directory } });
    at(0);
    writeFileSync(events, 'populated 1\nfrozen 1\n');
    at(1);
    at(2);
    assert.equal(sampler.observation().suspendedMs, 1500);
    writeFileSync(events, 'populated 1\nfrozen 0\n');
    at(3);
    assert.equal(sampler.observation().suspendedMs, 2000);
  });

  it('counts a process once that ended after two sweeps, before either was settled, with all its I/O', () => {
    const { sampler, tree } = newJob();
    sampler.start(100, START);
    sampler.listen();
    tree.set(101, { ppid: 100, cpu: 80 });
    sampler.heard([fork(1, 1, 100), exec(2, 100), fork(3, 100, 101), exec(4, 101)]);
    const [first, second] = [sampler.tick(START + 100, false), sampler.tick(START + 200, false)];
    const io = { readChars: 2048, writeChars: 3072, readBytes: 4096, writeBytes: 8192 };
    sampler.heard([exit(monotonicUs(), 101, exitAccount({ cpuNs: 800_000_000, minorFaults: 1, ...io }))]);
    for (const tick of [first, second]) assert.deepEqual(sampler.settle(tick), []);
    const { sums, lineage } = sampler.observation();
    assert.deepEqual([lineage?.totals.processes, lineage?.totals.ended, lineage?.living], [2, 1, 1]);
    assert.deepEqual(sums, {
      cpu: 80,
      readChars: io.readChars,
      writtenChars: io.writeChars,
      readBytes: io.readBytes,
      writtenBytes: io.writeBytes,
    });
    const none = { addressSpace: Infinity, rootRss: Infinity, othersRss: Infinity };
    assert.deepEqual(lineage?.upper(none).rss.open, ['exec'], 'no process of unknown origin');
  });

  it('is open for another user’s process with the job’s group, unless a fork explains it', () => {
    for (const explained of [true, false]) {
      const { sampler, tree } = newJob(10, { group: 20007, uid: () => 1001 });
      sampler.start(100, START);
      sampler.listen();
      tree.set(200, { ppid: 7, groups: [20007], uid: 1002 });
      sampler.heard([fork(1, 1, 100), exec(2, 100), fork(3, explained ? 100 : 7, 200)]);
      const readings = sampler.tick(START + 100, true);
      assert.deepEqual([...readings.counters.keys()], ['100.1000']);
      sampler.settle(readings);
      const { lineage } = sampler.observation();
      const none = { addressSpace: Infinity, rootRss: Infinity, othersRss: Infinity };
      assert.equal(lineage?.upper(none).rss.open.includes('unknown-origin'), !explained);
    }
  });

  it('waits for the reading of a process that was forked after the last sweep and has left the tree', () => {
    const { sampler, tree } = newJob();
    sampler.start(100, START);
    sampler.listen();
    sampler.heard([fork(1, 1, 100), exec(2, 100)]);
    sampler.settle(sampler.tick(START + 100, false));
    assert.equal(sampler.dying(), false);
    const now = monotonicUs();
    sampler.heard([fork(now, 100, 101), fork(now, 101, 102), exit(now, 101, exitAccount())]);
    tree.set(102, { ppid: 1, start: ticksAt(now) });
    sampler.settle(sampler.tick(START + 200, false, { last: true }));
    assert.equal(sampler.dying(), true);
    sampler.settle(sampler.tick(START + 300, false, { last: true }));
    assert.equal(sampler.dying(), false);
    const none = { addressSpace: Infinity, rootRss: Infinity, othersRss: Infinity };
    assert.deepEqual(sampler.observation().lineage?.upper(none).rss.open, []);
  });

  it('waits for the exit event of a process that a sweep found dead', () => {
    const { sampler, tree } = newJob();
    sampler.start(100, START);
    sampler.listen();
    tree.set(101, { ppid: 100 });
    sampler.heard([fork(1, 1, 100), exec(2, 100), fork(3, 100, 101), exec(4, 101)]);
    sampler.settle(sampler.tick(START + 100, false));
    assert.equal(sampler.dying(), false);
    const none = { addressSpace: Infinity, rootRss: Infinity, othersRss: Infinity };
    for (const state of ['a zombie', 'gone']) {
      if (state === 'gone') tree.remove(101);
      else tree.set(101, { state: 'Z' });
      sampler.settle(sampler.tick(START + 200, false, { last: true }));
      assert.equal(sampler.dying(), true, state);
      assert.deepEqual(sampler.observation().lineage?.upper(none).rss.open, ['failed-read'], state);
    }
    sampler.heard([exit(monotonicUs(), 101, exitAccount({ rssBytes: 2 ** 30, vmBytes: 2 ** 32 }))]);
    sampler.settle(sampler.tick(START + 300, false, { last: true }));
    assert.equal(sampler.dying(), false);
    assert.deepEqual(sampler.observation().lineage?.upper(none).rss.open, []);
  });

  it('counts forked workers in the chart, as in the peak, once they have ended without an exec', () => {
    const { sampler, tree, at } = newJob();
    sampler.start(100, START);
    tree.set(100, { rss: 80_000 });
    const workers = [101, 102, 103, 104];
    for (const pid of workers) tree.set(pid, { ppid: 100, forked: true, rss: 80_000 });
    tree.set(105, { ppid: 100, forked: true, rss: 80_000 });
    at(0);
    tree.set(105, { forked: false, stack: 140729100000000, rss: 1000 });
    at(10);
    const most = (): number => Math.max(...filled(sampler.observation().series));
    assert.equal(most(), 81_000 * KIB);
    for (const pid of workers) tree.set(pid, { state: 'Z' });
    at(11);
    const { peaks, series, rssByteMs } = sampler.observation();
    assert.equal(most(), (5 * 80_000 + 1000) * KIB);
    // A program that has just been started counts in a peak only from its second look on.
    assert.equal(bracket(peaks, 'rss')?.lower_bytes, 5 * 80_000 * KIB);
    // At 0 s the helper of the large parent was no more than its picture.
    assert.equal(filled(series)[0], 5 * 80_000 * KIB);
    const own = KIB * (80_500 * 10_000 + 81_000 * 1000);
    assert.equal(rssByteMs, own + KIB * 4 * 80_000 * 10_000);
  });

  it('counts all processes, and the most processes and threads at a time', () => {
    const { sampler, tree, at } = newJob();
    sampler.start(100, START);
    tree.set(101, { ppid: 100, threads: 4 });
    at(0);
    tree.remove(101);
    tree.set(102, { ppid: 100 });
    at(1);
    const { maxProcesses, maxThreads, counts } = sampler.observation();
    assert.deepEqual([maxProcesses, maxThreads, counts.seen], [2, 5, 3]);
  });

  it('keeps the CPU time and I/O of processes that have ended, and counts nothing twice', () => {
    const { sampler, tree, at } = newJob();
    sampler.start(100, START);
    tree.set(100, { cpu: 10, faults: 5 });
    tree.set(101, { ppid: 100, cpu: 500, faults: 50, read: 7000 });
    at(0);
    // Its parent has not waited for it yet, or never will.
    tree.remove(101);
    at(1);
    assert.equal(sampler.observation().sums.cpu, 510);
    assert.equal(sampler.observation().sums.readBytes, 7000);
    tree.set(102, { ppid: 100, cpu: 100, faults: 20 });
    at(2);
    tree.remove(102);
    tree.set(100, { childCpu: 120, childFaults: 25 });
    at(3);
    assert.equal(sampler.observation().sums.cpu, 630);
    tree.remove(100);
    at(4);
    assert.equal(sampler.observation().sums.cpu, 630);
    assert.equal(sampler.alive(), false);
  });

  it('gives each sample once, with the largest processes and the sum of the others', () => {
    const { sampler, tree, at } = newJob(2);
    sampler.start(100, START);
    for (const [pid, rss] of [
      [101, 400],
      [102, 4000],
      [103, 40],
    ] as const)
      tree.set(pid, { ppid: 100, rss, cpu: 3, comm: `p${pid}` });
    at(0.5);
    const [sample, ...others] = sampler.takeSamples();
    assert.deepEqual(others, []);
    assert.deepEqual(sample, {
      at: 500,
      rss: 5440,
      vmem: 20000,
      swap: 0,
      anonymous: 3200,
      cpu: 90,
      processes: 4,
      threads: 4,
      read: 0,
      written: 0,
      largest: [
        { pid: 102, start: 1000, command: 'p102', rss: 4000, cpu: 30 },
        { pid: 100, start: 1000, command: 'job', rss: 1000, cpu: 0 },
      ],
      othersRss: 440,
      othersCpu: 60,
    });
    assert.deepEqual(sampler.takeSamples(), []);
  });

  it('takes its peaks from memory with swap and from the kernel’s high-water marks', () => {
    const { sampler, tree, at } = newJob();
    sampler.start(100, START);
    tree.set(100, { rss: 2000, anonymous: 1500, swap: 100, mark: 2500, peak: 7000 });
    at(0);
    const { peaks } = sampler.observation();
    assert.equal(bracket(peaks, 'footprint')?.lower_bytes, 1600 * KIB);
    assert.equal(bracket(peaks, 'rssSwap')?.lower_bytes, Math.max(2100, 2500 - 3 * 32 * 4) * KIB);
    assert.equal(bracket(peaks, 'processVmem')?.lower_bytes, 7000 * KIB);
  });

  it('has the reasons why its peak is open', () => {
    const { sampler, tree, at } = newJob();
    sampler.start(100, START);
    at(0);
    tree.set(100, { stack: 140729100000000 });
    at(1);
    tree.set(100, { mark: 10 });
    at(2);
    const open = bracket(sampler.observation().peaks, 'rss')?.open ?? [];
    for (const reason of ['exec', 'fallen-mark', 'no-lineage', 'no-exit-records'] as const)
      assert.ok(open.includes(reason), reason);
  });

  it('hands over everything to its successor', () => {
    const job = newJob();
    job.sampler.start(100, START);
    job.tree.set(100, { cpu: 10 });
    job.tree.set(101, { ppid: 100, cpu: 50, forked: true });
    job.at(0);
    job.tree.remove(101);
    job.at(1);
    const before = job.sampler.observation();
    const next = job.successor();
    assert.deepEqual(next.observation(), before);
    assert.deepEqual(next.takeSamples(), []);
    next.tick(START + 2000, false);
    const after = next.observation();
    assert.equal(after.samples, 3);
    assert.equal(after.sums.cpu, 60);
    assert.equal(after.counts.seen, 2);
    assert.equal(after.startMs, START);
    next.close();
  });
});
