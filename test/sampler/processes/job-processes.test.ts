import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, it } from 'node:test';
import { JobProcesses, SAVED_PROCESSES, type ClaimRules } from '../../../src/sampler/processes/job-processes';
import type { TickReadings } from '../../../src/sampler/processes/tick';
import { monotonicUs, ticksAt } from '../../../src/sources/proc/clock';
import { ProcessFiles } from '../../../src/sources/proc/process-files';
import { startTicksOf } from '../../../src/sampler/job/pid-file';
import { procTree, type ProcTree } from '../proc-tree';
import { notRoot } from '../../support/qmemacct';
import { temporaryDirectory } from '../../support/temporary-directory';
import { until } from '../../support/until';

const SHEPHERD = 90;
const ROOT = 100;
const GROUP = 20007;
const KIB = 1024;

/** Forks a process for each chunk of its input; when the input ends, it ends with all that it forked. */
const FORKS = `
  const [group, uid] = process.argv.slice(1).map(Number);
  process.setgroups([group]);
  process.setgid(65534);
  process.setuid(uid);
  const forked = [];
  process.stdin.on('data', () => {
    const child = require('node:child_process').spawn('/bin/sleep', ['600'], { detached: true });
    forked.push(child);
    console.log(child.pid);
  });
  process.stdin.on('end', () => {
    for (const child of forked) child.kill('SIGKILL');
    process.exit();
  });
  console.log(process.pid);
`;

interface Job {
  readonly tree: ProcTree;
  readonly rules: ClaimRules;
  readonly processes: JobProcesses;
  /** Seconds after the start. */
  tick(seconds: number, options?: { readonly scan?: boolean; readonly settle?: () => void }): TickReadings;
  /** What happens while the next process is read. */
  meanwhile(action: () => void): void;
}

function newJob(
  { rootPid = ROOT, ...changes }: Partial<ClaimRules> & { readonly rootPid?: number | null } = {},
  listsChildren = true,
): Job {
  const tree = procTree(temporaryDirectory(), listsChildren);
  tree.set(SHEPHERD, { comm: 'sge_shepherd', start: 900 });
  tree.set(ROOT, { ppid: SHEPHERD, comm: 'job', groups: [1001, GROUP] });
  let waiting: (() => void) | null = null;
  const rules: ClaimRules = {
    procRoot: tree.root,
    shepherdPid: SHEPHERD,
    group: GROUP,
    uid: () => 1001,
    notBefore: 900,
    precision: {
      get kernel(): readonly [number, number] {
        const action = waiting;
        waiting = null;
        action?.();
        return [6, 18];
      },
      pageSize: 4096,
      cpus: 2,
    },
    sharesAddressSpace: () => false,
    ...changes,
  };
  const processes = new JobProcesses(rules, { left: 0 });
  processes.rootPid = rootPid;
  return {
    tree,
    rules,
    processes,
    tick: (seconds, { scan = false, settle } = {}) =>
      processes.tick(seconds * 1000, scan, () => {
        settle?.();
        return settle !== undefined;
      }),
    meanwhile: (action) => {
      waiting = action;
    },
  };
}

const pids = (readings: TickReadings): readonly number[] =>
  readings.processes.map(({ pid }) => pid).sort((a, b) => a - b);
const reading = (readings: TickReadings, pid: number): TickReadings['memory'][number] | undefined =>
  readings.memory.find(({ id }) => id.startsWith(`${pid}.`));

describe('the processes of a job', () => {
  it('are none before its first process has started', () => {
    const job = newJob({ rootPid: null });
    assert.deepEqual(pids(job.tick(0)), []);
    job.processes.rootPid = ROOT;
    assert.deepEqual(pids(job.tick(1)), [ROOT]);
  });

  it('are its first process and all descendants', () => {
    const job = newJob();
    for (const [pid, ppid] of [
      [101, ROOT],
      [102, 101],
      [103, 102],
      [50, 103],
    ] as const)
      job.tree.set(pid, { ppid, groups: [GROUP] });
    job.tree.set(200, { ppid: 1 });
    assert.deepEqual(pids(job.tick(0)), [50, ROOT, 101, 102, 103]);
    assert.deepEqual(job.processes.counts, { seen: 5, treeOnly: 0, groupOnly: 0 });
  });

  it('include a process that left the tree after it was seen, and its children', () => {
    const job = newJob();
    job.tree.set(101, { ppid: ROOT, groups: [GROUP] });
    job.tick(0);
    job.tree.set(101, { ppid: 1 });
    job.tree.set(102, { ppid: 101, groups: [GROUP] });
    assert.deepEqual(pids(job.tick(1)), [ROOT, 101, 102]);
  });

  it('include a process that left the tree unseen, by its group, and its children, once all are scanned', () => {
    const job = newJob();
    job.tree.set(200, { ppid: 1, groups: [5, GROUP] });
    job.tree.set(201, { ppid: 200, groups: [] });
    assert.deepEqual(pids(job.tick(0)), [ROOT]);
    assert.deepEqual(pids(job.tick(1, { scan: true })), [ROOT, 200, 201]);
    assert.deepEqual(job.processes.counts, { seen: 3, treeOnly: 1, groupOnly: 1 });
  });

  it('include the shepherd’s child before it has taken on the group', () => {
    const job = newJob();
    job.tree.set(ROOT, { forked: true, groups: [] });
    job.tick(0);
    assert.deepEqual(job.processes.counts, { seen: 1, treeOnly: 1, groupOnly: 0 });
    job.tree.set(ROOT, { forked: false, groups: [GROUP] });
    job.tick(1);
    assert.deepEqual(job.processes.counts, { seen: 1, treeOnly: 0, groupOnly: 0 });
  });

  it('include children of the shepherd with the group, counted as if they were in the tree', () => {
    const job = newJob();
    job.tree.set(95, { ppid: SHEPHERD, groups: [GROUP] });
    job.tick(0, { scan: true });
    assert.deepEqual(job.processes.counts, { seen: 2, treeOnly: 0, groupOnly: 0 });
  });

  it('exclude a process with the group that is older than the job: group ids are re-used', () => {
    const job = newJob();
    job.tree.set(80, { ppid: 1, start: 899, groups: [GROUP] });
    job.tree.set(81, { ppid: 1, start: 900, groups: [GROUP] });
    assert.deepEqual(pids(job.tick(0, { scan: true })), [81, ROOT]);
  });

  it('exclude a process of another user that only has the group: a leftover of an earlier job may still fork', () => {
    const job = newJob();
    job.tree.set(80, { ppid: 1, start: 899, groups: [GROUP], uid: 1002 });
    job.tree.set(81, { ppid: 80, groups: [GROUP], uid: 1002 });
    job.tree.set(82, { ppid: 1, groups: [GROUP] });
    job.tree.set(101, { ppid: ROOT, groups: [GROUP], uid: 0 });
    const readings = job.tick(0, { scan: true });
    assert.deepEqual([pids(readings), readings.strangers], [[82, ROOT, 101], [81]]);
    assert.deepEqual(job.processes.counts, { seen: 3, treeOnly: 0, groupOnly: 1 });
    assert.deepEqual(job.tick(1).strangers, []);
  });

  it('include none by its group alone while the user of the job is unknown', () => {
    let uid: number | null = null;
    const job = newJob({ uid: () => uid });
    job.tree.set(200, { ppid: 1, groups: [GROUP] });
    const before = job.tick(0, { scan: true });
    assert.deepEqual([pids(before), before.strangers], [[ROOT], [200]]);
    uid = 1001;
    const after = job.tick(1, { scan: true });
    assert.deepEqual([pids(after), after.strangers], [[ROOT, 200], []]);
  });

  it('exclude, in the real /proc, a process of another user that only has the group', { skip: notRoot }, async (t) => {
    const group = 2_000_077;
    /** Starts a process that carries the group and forks another one for each line that it gets. */
    const begin = async (uid: number): Promise<{ readonly pid: number; fork(): Promise<number> }> => {
      const child = spawn(process.execPath, ['-e', FORKS, String(group), String(uid)], {
        stdio: ['pipe', 'pipe', 'inherit'],
      });
      t.after(() => child.stdin.end());
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
      const number = async (): Promise<number> => Number((await lines.next()).value);
      const pid = await number();
      return {
        pid,
        fork: () => {
          child.stdin.write('fork\n');
          return number();
        },
      };
    };
    const survivor = await begin(65534);
    const first = await begin(2);
    const processes = new JobProcesses(
      {
        procRoot: '/proc',
        shepherdPid: null,
        group,
        uid: () => 2,
        notBefore: startTicksOf(first.pid) ?? 0,
        precision: { kernel: [6, 18], pageSize: 4096, cpus: 2 },
        sharesAddressSpace: () => false,
      },
      { left: 10 },
    );
    t.after(() => processes.close());
    processes.rootPid = first.pid;
    const [stranger, own] = [await survivor.fork(), await first.fork()];
    const readings = processes.tick(Date.now(), true, () => false);
    assert.deepEqual(pids(readings), [first.pid, own]);
    assert.deepEqual(readings.strangers, [stranger]);
  });

  it('include a process whose fork event arrived, even without the group, but not a later one with its pid', () => {
    const job = newJob();
    const at = monotonicUs();
    const start = ticksAt(at);
    job.tree.set(200, { ppid: 1, start: start - 2 });
    job.tree.set(201, { ppid: 1, start: start + 20 });
    job.tree.set(202, { ppid: 1, start: start - 2 });
    job.tree.set(203, { ppid: 1, start: start + 20, groups: [GROUP] });
    const heard = [200, 201, 202, 203, 204].map((pid) => [pid, { forkedAt: pid === 202 ? null : at }] as const);
    job.processes.lineage = { living: () => new Map(heard) };
    assert.deepEqual(pids(job.tick(0)), [ROOT, 200, 203]);
    assert.deepEqual(job.processes.counts, { seen: 3, treeOnly: 1, groupOnly: 1 });
  });

  it('include, in the real /proc, a process whose fork event arrived and that left the tree and the group', async (t) => {
    const before = monotonicUs();
    const child = spawn('/bin/sh', ['-c', '(sleep 600 > /dev/null & echo $!); exec sleep 600'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    t.after(() => child.kill('SIGKILL'));
    const orphan = Number((await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next()).value);
    t.after(() => process.kill(orphan, 'SIGKILL'));
    const rootPid = child.pid ?? 0;
    const first = new ProcessFiles(rootPid, { left: 0 });
    await until(() => first.children(true).length === 0);
    for (const [forkedAt, found] of [
      [monotonicUs(), [rootPid, orphan]],
      [before - 1e6, [rootPid]],
    ] as const) {
      const processes = new JobProcesses(
        {
          procRoot: '/proc',
          shepherdPid: null,
          group: 2_000_078,
          uid: () => null,
          notBefore: 0,
          precision: { kernel: [6, 18], pageSize: 4096, cpus: 2 },
          sharesAddressSpace: () => false,
        },
        { left: 10 },
      );
      processes.rootPid = rootPid;
      processes.lineage = { living: () => new Map([[orphan, { forkedAt }]]) };
      processes.tick(Date.now(), true, () => false);
      assert.deepEqual([...processes.tracked.keys()], found);
      processes.close();
    }
  });

  it('include all processes of its own control group, also after that is gone', () => {
    const job = newJob({ group: null });
    const directory = temporaryDirectory();
    job.tree.set(200, { ppid: 1, groups: [5] });
    job.tree.set(201, { ppid: 1, groups: [5] });
    writeFileSync(join(directory, 'cgroup.procs'), `${ROOT}\n200\n`);
    job.processes.ownCgroup = directory;
    assert.deepEqual(pids(job.tick(0)), [ROOT, 200]);
    job.processes.ownCgroup = join(directory, 'gone');
    assert.deepEqual(pids(job.tick(1)), [ROOT, 200]);
  });

  it('are only its tree where the job has no group', () => {
    const job = newJob({ group: null });
    job.tree.set(101, { ppid: ROOT });
    job.tree.set(200, { ppid: 1, groups: [GROUP] });
    assert.deepEqual(pids(job.tick(0, { scan: true })), [ROOT, 101]);
    assert.deepEqual(job.processes.counts, { seen: 2, treeOnly: 0, groupOnly: 0 });
  });

  it('are its tree where the kernel lists no children, in whatever order the pids are', () => {
    const job = newJob({ group: null }, false);
    job.tree.set(103, { ppid: ROOT });
    job.tree.set(102, { ppid: 103 });
    job.tree.set(101, { ppid: 102 });
    job.tree.set(200, { ppid: 1 });
    assert.deepEqual(pids(job.tick(0)), [ROOT, 101, 102, 103]);
  });

  it('include a descendant that was seen before the first process was known', () => {
    const job = newJob({ rootPid: null, group: null }, false);
    job.tree.set(101, { ppid: ROOT });
    job.tick(0);
    job.processes.rootPid = ROOT;
    job.tick(1);
    assert.deepEqual(pids(job.tick(2)), [ROOT, 101]);
  });

  it('exclude a process that re-uses the pid of an ended one', () => {
    const job = newJob();
    job.tree.set(101, { ppid: ROOT });
    job.tick(0);
    job.tree.set(101, { ppid: 1, start: 5000 });
    assert.deepEqual(pids(job.tick(1)), [ROOT]);
    assert.equal(job.processes.tracked.size, 1);
    job.tree.set(101, { ppid: ROOT });
    assert.deepEqual(pids(job.tick(2)), [ROOT, 101]);
    assert.equal(job.processes.counts.seen, 3);
  });

  it('include the children of every thread', () => {
    const job = newJob();
    job.tree.set(ROOT, { threads: 3 });
    job.tree.set(300, { ppid: ROOT });
    assert.deepEqual(pids(job.tick(0)), [ROOT, 300]);
  });

  it('are none after all have ended', () => {
    const job = newJob();
    job.tick(0);
    job.tree.remove(ROOT);
    assert.deepEqual(pids(job.tick(1)), []);
    assert.equal(job.processes.tracked.size, 0);
  });
});

describe('a tick', () => {
  it('reads memory in bytes, on this kernel with slack only for the marks', () => {
    const job = newJob();
    job.tree.set(ROOT, { rss: 1000, anonymous: 700, swap: 40, mark: 1200, peak: 6000, threads: 4, cpu: 7 });
    const readings = job.tick(0);
    assert.deepEqual(readings.memory, [
      {
        id: `${ROOT}.1000/0`,
        rss: 1000 * KIB,
        rssSwap: 1040 * KIB,
        vmem: 5000 * KIB,
        anonymous: 740 * KIB,
        rssMark: 1200 * KIB,
        vmemMark: 6000 * KIB,
        slack: 0,
        markSlack: 3 * 32 * 2 * 4096,
        pending: false,
        command: 'job',
      },
    ]);
    assert.equal(readings.threads, 4);
    assert.deepEqual(
      [readings.rss, readings.vmem, readings.swap, readings.anonymous],
      [1000 * KIB, 5000 * KIB, 40 * KIB, 740 * KIB],
    );
  });

  it('takes the smaller of two readings of each process', () => {
    const job = newJob();
    job.tree.set(101, { ppid: ROOT, rss: 2000, size: 8000, start: 1001 });
    // ROOT has been read twice by then, 101 once.
    job.meanwhile(() => {
      job.tree.set(101, { rss: 400, size: 900 });
    });
    const readings = job.tick(0);
    assert.equal(reading(readings, 101)?.rss, 400 * KIB);
    assert.equal(reading(readings, 101)?.vmem, 900 * KIB);
  });

  it('reads anonymous and swapped memory again where that would raise a maximum', () => {
    const job = newJob();
    job.tree.set(ROOT, { rss: 1000, anonymous: 800, swap: 100 });
    const settle = (): void => job.tree.set(ROOT, { rss: 700, anonymous: 500, swap: 50 });
    const readings = job.tick(0, { settle });
    assert.equal(reading(readings, ROOT)?.anonymous, 550 * KIB);
    assert.equal(reading(readings, ROOT)?.rssSwap, 750 * KIB);
    assert.equal(reading(readings, ROOT)?.rss, 1000 * KIB);
  });

  it('counts no anonymous or swapped memory of a process that ended before its third reading', () => {
    const job = newJob();
    const readings = job.tick(0, { settle: () => job.tree.remove(ROOT) });
    assert.equal(reading(readings, ROOT)?.anonymous, 0);
    assert.equal(reading(readings, ROOT)?.rssSwap, 0);
    assert.equal(reading(readings, ROOT)?.rss, 1000 * KIB);
  });

  it('reads a process whose first thread has exited through another thread', () => {
    const job = newJob();
    job.tree.set(ROOT, { threads: 3 });
    job.tick(0);
    job.tree.set(ROOT, { state: 'Z' });
    const readings = job.tick(1, { settle: () => undefined });
    assert.equal(reading(readings, ROOT)?.rss, 1000 * KIB);
    assert.equal(reading(readings, ROOT)?.anonymous, 800 * KIB);
    assert.equal(readings.failedReads, 0);
  });

  it('reads the counters of a zombie, but no memory', () => {
    const job = newJob();
    job.tree.set(101, { ppid: ROOT, cpu: 5 });
    job.tick(0);
    job.tree.set(101, { state: 'Z', cpu: 9 });
    const readings = job.tick(1);
    assert.deepEqual(pids(readings), [ROOT]);
    assert.equal(readings.counters.get('101.1000')?.cpu, 9);
    assert.equal(readings.failedReads, 0);
  });

  it('reads the counters of a process that is exiting, but no memory', () => {
    const job = newJob();
    job.tree.set(101, { ppid: ROOT, cpu: 5 });
    job.tick(0);
    job.tree.set(101, { state: 'R', exiting: true, cpu: 9 });
    const readings = job.tick(1);
    assert.deepEqual(pids(readings), [ROOT]);
    assert.equal(readings.counters.get('101.1000')?.cpu, 9);
    assert.equal(readings.failedReads, 0);
  });

  it('keeps the figures of a process that cannot be read once, and counts it as one process', () => {
    const job = newJob();
    job.tick(0);
    const stat = join(job.tree.root, String(ROOT), 'stat');
    renameSync(stat, `${stat}.away`);
    const unread = job.tick(1);
    assert.deepEqual([[...unread.counters.keys()], unread.failedReads], [[...job.tick(0).counters.keys()], 1]);
    renameSync(`${stat}.away`, stat);
    assert.equal(job.tick(2).failedReads, 0);
    assert.equal(job.processes.counts.seen, 1);
  });

  it('counts marks that fell by more than their slack, and no failed read where a process ends', () => {
    const job = newJob();
    // KiB; a fall within the marks' own error (768 KiB with two CPUs) is not counted.
    job.tree.set(ROOT, { mark: 9000 });
    assert.equal(job.tick(0).fallenMarks, 0);
    job.tree.set(ROOT, { mark: 8500 });
    assert.equal(job.tick(0.5).fallenMarks, 0);
    job.tree.set(ROOT, { mark: 7000 });
    assert.equal(job.tick(1).fallenMarks, 1);
    job.tree.remove(101);
    job.tree.set(101, { ppid: ROOT });
    job.tick(2);
    job.meanwhile(() => job.tree.set(101, { state: 'Z' }));
    assert.equal(job.tick(3).failedReads, 0);
  });

  it('counts a process in the middle of an exec as executing, not as one whose marks fell', () => {
    const job = newJob();
    job.tree.set(ROOT, { mark: 90_000 });
    job.tick(0);
    job.tree.set(ROOT, { mark: 10, stack: 0 });
    const during = job.tick(1);
    assert.deepEqual([during.execs, during.fallenMarks], [0, 0]);
    job.tree.set(ROOT, { stack: 140729103000000 });
    const after = job.tick(2);
    assert.deepEqual([after.execs, after.fallenMarks], [1, 0]);
    // Found in the middle of an exec: its first thread has gone, another one still runs the old program.
    job.tree.set(101, { ppid: ROOT, mark: 90_000, stack: 0 });
    job.tick(3);
    job.tree.set(101, { mark: 10, stack: 140729103000000 });
    const later = job.tick(4);
    assert.deepEqual([later.execs, later.fallenMarks], [1, 0]);
  });

  it('escapes control characters in commands', () => {
    const job = newJob();
    job.tree.set(ROOT, { comm: 'a\u001b[31m\nb' });
    assert.equal(job.tick(0).processes[0]?.command, 'a?[31m?b');
  });

  it('reads counters with the parent in the job, and I/O in bytes', () => {
    const job = newJob();
    job.tree.set(ROOT, { cpu: 3, childCpu: 4, faults: 5, childFaults: 6, read: 7, written: 8 });
    job.tree.set(101, { ppid: ROOT });
    const { counters } = job.tick(0);
    assert.deepEqual(counters.get(`${ROOT}.1000`), {
      parent: null,
      cpu: 7,
      childCpu: 4,
      faults: 11,
      childFaults: 6,
      readChars: 14,
      writtenChars: 16,
      readBytes: 7,
      writtenBytes: 8,
    });
    assert.equal(counters.get('101.1000')?.parent, `${ROOT}.1000`);
  });

  it('reads the parent again where a child ended during the tick', () => {
    const job = newJob();
    job.tree.set(101, { ppid: ROOT, start: 1001, cpu: 50 });
    job.tick(0);
    job.meanwhile(() => {
      job.tree.remove(101);
      job.tree.set(ROOT, { childCpu: 60, childFaults: 9 });
    });
    const { counters, ancestors } = job.tick(1);
    assert.equal(counters.get(`${ROOT}.1000`)?.childCpu, 0);
    assert.equal(counters.has('101.1001'), false);
    assert.equal(ancestors.get(`${ROOT}.1000`)?.childCpu, 60);
    assert.equal(job.tick(2).ancestors.size, 0);
  });
});

describe('memory images', () => {
  const image = (pid: number, number: number, start = 1000): string => `${pid}.${start}/${number}`;

  it('are pending between fork and exec', () => {
    const job = newJob();
    job.tree.set(101, { ppid: ROOT, forked: true });
    assert.equal(reading(job.tick(0), 101)?.pending, true);
    const again = job.tick(0.1);
    assert.equal(reading(again, 101)?.pending, true);
    assert.deepEqual(again.resolved, []);
  });

  it('do not count as memory of their own once they execute a program', () => {
    const job = newJob();
    job.tree.set(101, { ppid: ROOT, forked: true, rss: 9000, mark: 9000 });
    job.tick(0);
    job.tree.set(101, { forked: false, rss: 500, mark: 500, comm: 'helper', stack: 140729103000000 });
    const readings = job.tick(0.1);
    assert.deepEqual(readings.resolved, [[image(101, 0), false]]);
    assert.equal(readings.execs, 0);
    assert.equal(readings.fallenMarks, 0);
    const helper = reading(readings, 101);
    assert.equal(helper?.id, image(101, 1));
    assert.equal(helper.pending, false);
    assert.equal(helper.command, 'helper');
    // The first sweep may still have seen the image of the parent.
    assert.equal(helper.rss, 0);
    assert.equal(readings.rss, 1500 * KIB);
    assert.equal(reading(job.tick(0.2), 101)?.rss, 500 * KIB);
  });

  it('count even if they execute a program, once they were seen at work with memory of their own', () => {
    const job = newJob();
    const forked = { ppid: ROOT, forked: true, cpu: 5 };
    job.tree.set(101, { ...forked, faults: 5000 });
    job.tree.set(102, { ...forked, mark: 20_000 });
    job.tree.set(103, { ...forked, faults: 500, mark: 2000 });
    job.tree.set(104, { ...forked, faults: 5000 });
    job.tick(0);
    const { sweep } = job.tick(1);
    assert.deepEqual(
      sweep.readings.filter(({ ownMemory }) => ownMemory).map(({ pid }) => pid),
      [101, 102, 104],
    );
    for (const pid of [101, 102, 103]) job.tree.set(pid, { forked: false, stack: 140729103000000 });
    job.tree.set(104, { forked: false, state: 'Z' });
    assert.deepEqual(job.tick(2).resolved, [
      [image(101, 0), true],
      [image(102, 0), true],
      [image(103, 0), false],
      [image(104, 0), true],
    ]);
  });

  it('of a copy that was seen once, however large, do not count once they execute a program', () => {
    const job = newJob();
    job.tree.set(101, { ppid: ROOT, forked: true, cpu: 5, faults: 5000 });
    job.tick(0);
    job.tree.set(101, { forked: false, stack: 140729103000000 });
    assert.deepEqual(job.tick(1).resolved, [[image(101, 0), false]]);
  });

  it('get a new number at an exec, which is counted', () => {
    const job = newJob();
    job.tick(0);
    job.tree.set(ROOT, { stack: 140729103000000, mark: 10 });
    const readings = job.tick(1);
    assert.equal(readings.execs, 1);
    assert.equal(readings.fallenMarks, 0);
    assert.equal(reading(readings, ROOT)?.id, image(ROOT, 1));
    assert.deepEqual(readings.resolved, []);
  });

  it('stay the same without the right to see addresses', () => {
    const job = newJob();
    job.tick(0);
    job.tree.set(ROOT, { stack: 0 });
    assert.equal(job.tick(1).execs, 0);
  });

  it('count if they were seen at work for a while without an exec, not if they came and went or only waited', () => {
    const job = newJob();
    job.tree.set(101, { ppid: ROOT, forked: true, cpu: 5 });
    job.tree.set(102, { ppid: ROOT, forked: true, cpu: 5 });
    job.tree.set(103, { ppid: ROOT, forked: true });
    job.tick(0);
    job.tree.remove(102);
    assert.deepEqual(job.tick(1).resolved, [[image(102, 0), false]]);
    assert.deepEqual(job.processes.workers(), [image(101, 0)]);
    job.tree.remove(101);
    job.tree.remove(103);
    assert.deepEqual(job.tick(2).resolved, [
      [image(101, 0), true],
      [image(103, 0), false],
    ]);
  });

  it('count, however short they lived, if their zombie shows that they never executed a program', () => {
    const job = newJob();
    job.tree.set(101, { ppid: ROOT, forked: true });
    job.tick(0);
    job.tree.set(101, { state: 'Z' });
    assert.deepEqual(job.tick(0.1).resolved, [[image(101, 0), true]]);
    job.tree.remove(101);
    assert.deepEqual(job.tick(0.2).resolved, []);
  });

  it('do not count if their zombie shows that they executed a program, however long it stays', () => {
    const job = newJob();
    job.tree.set(101, { ppid: ROOT, forked: true });
    job.tick(0);
    job.tree.set(101, { state: 'Z', forked: false });
    assert.deepEqual(job.tick(1).resolved, [[image(101, 0), false]]);
    assert.deepEqual(job.tick(2).resolved, []);
    job.tree.remove(101);
    assert.deepEqual(job.tick(3).resolved, []);
  });

  it('are added to the sums only after they have worked for a while', () => {
    const job = newJob();
    job.tree.set(101, { ppid: ROOT, forked: true, cpu: 5 });
    assert.equal(job.tick(0).rss, 1000 * KIB);
    assert.equal(job.tick(1).rss, 2000 * KIB);
  });

  it('of a vfork child are not read beside its parent’s until it executes a program', () => {
    const pairs: (readonly number[])[] = [];
    const job = newJob({
      sharesAddressSpace: (...pair) => {
        pairs.push(pair);
        return true;
      },
    });
    job.tree.set(101, { ppid: ROOT, forked: true });
    const readings = job.tick(0);
    assert.deepEqual(pairs, [[101, ROOT]]);
    assert.deepEqual(pids(readings), [ROOT]);
    assert.equal(readings.counters.size, 2);
    job.tree.set(101, { forked: false, rss: 300 });
    assert.deepEqual(job.tick(1).resolved, []);
    assert.equal(reading(job.tick(2), 101)?.rss, 300 * KIB);
  });

  it('of a vfork child that ends without an exec have no fate to resolve', () => {
    const job = newJob({ sharesAddressSpace: () => true });
    job.tree.set(101, { ppid: ROOT, forked: true });
    job.tick(0);
    job.tree.remove(101);
    assert.deepEqual(job.tick(5).resolved, []);
  });

  it('of a process that shares a sibling’s address space are read as the sibling’s, and as its own once that has gone', () => {
    const job = newJob({ sharesAddressSpace: (...pair) => pair.every((pid) => pid > ROOT) });
    const program = { ppid: ROOT, stack: 140729103000000 };
    job.tree.set(101, program);
    job.tree.set(102, { ...program, forked: true });
    job.tree.set(103, { ...program, forked: true });
    assert.deepEqual(pids(job.tick(0)), [ROOT, 101]);
    assert.deepEqual(pids(job.tick(1)), [ROOT, 101]);
    job.tree.remove(101);
    assert.deepEqual(pids(job.tick(2)), [ROOT]);
    assert.deepEqual(pids(job.tick(3)), [ROOT, 102]);
  });

  it('of a vfork child that ends between its reading and the comparison are not counted twice', () => {
    let shares = true;
    const job = newJob({ sharesAddressSpace: () => shares });
    job.tree.set(101, { ppid: ROOT, forked: true });
    job.tick(0);
    shares = false;
    assert.deepEqual(pids(job.tick(1)), [ROOT]);
    job.tree.remove(101);
    assert.deepEqual(pids(job.tick(2)), [ROOT]);
  });

  it('of a vfork child are pending like any fork where the kernel does not compare address spaces', () => {
    const job = newJob({ sharesAddressSpace: () => null });
    job.tree.set(101, { ppid: ROOT, forked: true });
    assert.equal(reading(job.tick(0), 101)?.pending, true);
  });
});

describe('a successor', () => {
  it('continues with the same processes, images and counts', () => {
    const job = newJob();
    job.tree.set(101, { ppid: ROOT, forked: true });
    job.tree.set(200, { ppid: 1, groups: [GROUP] });
    job.tick(0, { scan: true });
    job.tree.set(ROOT, { stack: 140729103000000 });
    job.tick(0.1);
    const saved = SAVED_PROCESSES.read(JSON.parse(JSON.stringify(job.processes.save())));
    job.processes.close();
    const next = new JobProcesses(job.rules, { left: 20 }, saved);
    assert.deepEqual(next.counts, job.processes.counts);
    job.tree.remove(101);
    const readings = next.tick(2000, false, () => false);
    assert.deepEqual(pids(readings), [ROOT, 200]);
    assert.equal(reading(readings, ROOT)?.id, `${ROOT}.1000/1`);
    assert.deepEqual(readings.resolved, [['101.1000/0', false]]);
    assert.equal(next.counts.seen, 3);
    next.close();
  });

  it('does not take up a pid that was re-used meanwhile', () => {
    const job = newJob();
    job.tree.set(101, { ppid: ROOT });
    job.tick(0);
    const saved = job.processes.save();
    job.tree.set(101, { ppid: 1, start: 7000 });
    const next = new JobProcesses(job.rules, { left: 0 }, saved);
    assert.deepEqual(pids(next.tick(1000, false, () => false)), [ROOT]);
  });
});

describe('a process that sleeps', () => {
  interface Sleeper extends Job {
    /** Sets the running time that the kernel reports. */
    ran(ns: number): void;
    last(seconds: number): TickReadings;
  }

  /** A job whose process sleeps and has been read often enough to be taken for asleep. */
  function sleeper(): Sleeper {
    const job = newJob();
    const ran = (ns: number): void => writeFileSync(join(job.tree.root, String(ROOT), 'schedstat'), `${ns} 7 3\n`);
    ran(1000);
    for (const second of [0, 1, 2]) job.tick(second);
    return { ...job, ran, last: (seconds) => job.processes.tick(seconds * 1000, false, () => false, true) };
  }

  const sampleOf = (readings: TickReadings): readonly [number, number, number] => {
    const [sample] = readings.processes;
    assert.ok(sample !== undefined && readings.processes.length === 1);
    return [sample.rss / KIB, sample.cpuTicks, (readings.memory[0]?.rssMark ?? 0) / KIB];
  };
  const asleep = (readings: TickReadings): boolean => readings.sweep.readings[0]?.asleep === true;

  it('keeps its figures for eight ticks and is then read again', () => {
    const job = sleeper();
    job.tree.set(ROOT, { mark: 1500, cpu: 50 });
    for (let second = 3; second < 11; second++) {
      const readings = job.tick(second);
      assert.deepEqual(sampleOf(readings), [1000, 0, 1000]);
      assert.equal(asleep(readings), true);
      assert.equal(readings.rss, 1000 * KIB);
      assert.equal(readings.counters.size, 1);
    }
    const again = job.tick(11);
    assert.deepEqual([sampleOf(again), asleep(again)], [[1000, 50, 1500], false]);
    assert.equal(asleep(job.tick(12)), true);
  });

  it('is a sleeping job, also when it is read again, until it runs, ends or is joined by another process', () => {
    const job = sleeper();
    for (let second = 3; second < 20; second++) assert.equal(job.tick(second).asleep, true, String(second));
    assert.equal(job.last(20).asleep, true);
    job.ran(2000);
    assert.deepEqual([job.tick(21).asleep, job.tick(22).asleep, job.tick(23).asleep], [false, true, true]);
    job.tree.set(200, { ppid: ROOT });
    assert.equal(job.tick(24, { scan: true }).asleep, false);
    const gone = sleeper();
    gone.tree.remove(ROOT);
    assert.equal(gone.tick(3).asleep, false);
    assert.equal(gone.tick(4).asleep, false);
  });

  it('is read at each tick once it has run, until it has slept over two readings', () => {
    const job = sleeper();
    assert.equal(asleep(job.tick(3)), true);
    job.tree.set(ROOT, { rss: 1300, mark: 1300, cpu: 7 });
    job.ran(2000);
    for (const second of [4, 5]) {
      const readings = job.tick(second);
      assert.deepEqual([sampleOf(readings), asleep(readings)], [[1300, 7, 1300], false]);
    }
    const readings = job.tick(6);
    assert.deepEqual([sampleOf(readings), asleep(readings)], [[1300, 7, 1300], true]);
  });

  it('is looked at for children at the first tick after it has run', () => {
    const job = sleeper();
    job.ran(2000);
    job.tree.set(101, { ppid: ROOT });
    assert.deepEqual(pids(job.tick(3)), [ROOT, 101]);
  });

  it('is read completely at the last tick', () => {
    const job = sleeper();
    job.tree.set(ROOT, { mark: 1500, cpu: 50 });
    const readings = job.last(3);
    assert.deepEqual([sampleOf(readings), asleep(readings)], [[1000, 50, 1500], false]);
  });

  it('counts with no more memory than the kernel has left it', () => {
    const job = sleeper();
    job.tree.set(ROOT, { rss: 400, anonymous: 200 });
    const readings = job.tick(3);
    assert.equal(asleep(readings), true);
    const [reading] = readings.memory;
    assert.deepEqual([reading?.rss, reading?.rssSwap, reading?.anonymous], [400 * KIB, 400 * KIB, 200 * KIB]);
    assert.equal(readings.rss, 400 * KIB);
  });

  it('is read again at the tick after it has gained memory, which is another process’s doing', () => {
    const job = sleeper();
    job.tree.set(ROOT, { rss: 5000 });
    assert.deepEqual(sampleOf(job.tick(3))[0], 1000);
    const readings = job.tick(4);
    assert.deepEqual([sampleOf(readings)[0], asleep(readings)], [5000, false]);
  });

  it('that has become a zombie or is gone has no figures any more', () => {
    const zombie = sleeper();
    zombie.tree.set(ROOT, { state: 'Z' });
    assert.deepEqual([zombie.tick(3).processes, zombie.processes.tracked.size], [[], 1]);
    const gone = sleeper();
    gone.tree.remove(ROOT);
    assert.deepEqual([gone.tick(3).processes, gone.processes.tracked.size], [[], 0]);
  });

  it('is never taken for asleep while it runs, has several threads, or is a copy that may still execute a program', () => {
    for (const changes of [{ state: 'R' }, { state: 'D' }, { threads: 2 }, { forked: true }]) {
      const job = newJob();
      job.tree.set(ROOT, changes);
      writeFileSync(join(job.tree.root, String(ROOT), 'schedstat'), '1000 7 3\n');
      for (let second = 0; second < 6; second++) assert.equal(asleep(job.tick(second)), false, JSON.stringify(changes));
    }
  });

  it('is recognised in the real /proc by a running time that stands still', async (t) => {
    const child = spawn(
      '/bin/sh',
      ['-c', 'while read -r line; do i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; echo; done'],
      {
        stdio: ['pipe', 'pipe', 'ignore'],
      },
    );
    t.after(() => child.kill('SIGKILL'));
    await once(child, 'spawn');
    const pid = child.pid ?? 0;
    const processes = new JobProcesses(
      {
        procRoot: '/proc',
        shepherdPid: null,
        group: null,
        uid: () => null,
        notBefore: 0,
        precision: { kernel: [6, 18], pageSize: 4096, cpus: 2 },
        sharesAddressSpace: () => false,
      },
      { left: 10 },
    );
    processes.rootPid = pid;
    t.after(() => processes.close());
    const tick = (last = false): TickReadings => processes.tick(Date.now(), false, () => false, last);
    const cpuOf = (readings: TickReadings): number => readings.processes[0]?.cpuTicks ?? -1;
    /** Ticks until the process is taken for asleep, as it is while it waits for a line. */
    const untilAsleep = (): Promise<TickReadings> =>
      until(() => {
        const readings = tick();
        return asleep(readings) && readings;
      });
    const before = await untilAsleep();
    const done = once(child.stdout, 'data');
    child.stdin.write('go\n');
    await done;
    const after = tick();
    assert.equal(asleep(after), false);
    assert.ok(cpuOf(after) > cpuOf(before), 'what it has computed is read at once');
    await untilAsleep();
    assert.equal(asleep(tick(true)), false);
  });
});

describe('an older scan of the machine', () => {
  it('adds no process whose pid belongs to another one by now', () => {
    const seen = [
      { pid: 300, parent: 1, groups: [GROUP] },
      { pid: 301, parent: ROOT, groups: [] },
      { pid: 302, parent: 1, groups: [GROUP] },
    ];
    const job = newJob({ machine: { processes: () => seen } });
    // By now these are two strangers and a process that still carries the group.
    job.tree.set(300, { ppid: 1, groups: [] });
    job.tree.set(301, { ppid: 1, groups: [] });
    job.tree.set(302, { ppid: 1, groups: [GROUP] });
    assert.deepEqual(pids(job.tick(0, { scan: true })), [ROOT, 302]);
  });
});
