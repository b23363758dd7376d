import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { ExitRecord } from '../../../src/sources/events/exit-records';
import { openKernelEvents, type KernelEvents } from '../../../src/sources/events/kernel-events';
import type { ThreadEvent } from '../../../src/sources/events/process-events';
import { isUnavailable } from '../../../src/sources/source';
import { burner, burnersObstacle, readTruth } from '../../burners/build';
import { oneOf } from '../../tries';
import { noKernelEvents } from '../../support/kernel-events';
import { temporaryDirectory } from '../../support/temporary-directory';
import { until } from '../../support/until';

const MiB = 1024 * 1024;

function opened(t: TestContext, receiveBytes = 16 * MiB): KernelEvents {
  const events = openKernelEvents({ namespacePath: null, receiveBytes });
  assert.ok(!isUnavailable(events));
  t.after(events.close);
  return events;
}

interface Drained {
  readonly events: readonly ThreadEvent[];
  readonly records: readonly ExitRecord[];
  readonly lostEvents: boolean;
  readonly lostRecords: boolean;
}

function drained(from: KernelEvents): Drained {
  const events: ThreadEvent[] = [];
  const records: ExitRecord[] = [];
  const lost = from.drain({
    event: (event) => events.push(event),
    record: (record) => records.push(record.read() ?? assert.fail('cut off')),
  });
  return { events, records, ...lost };
}

/** Drains until `enough` holds for everything that has come. */
async function drainedUntil(from: KernelEvents, enough: (all: Drained) => boolean): Promise<Drained> {
  let all = drained(from);
  await until(() => {
    const { events, records, lostEvents, lostRecords } = drained(from);
    all = {
      events: [...all.events, ...events],
      records: [...all.records, ...records],
      lostEvents: all.lostEvents || lostEvents,
      lostRecords: all.lostRecords || lostRecords,
    };
    return enough(all);
  });
  return all;
}

/**
 * Everything about a process that has ended. The kernel wakes its parent before it sends the last exit event: this
 * waits for as many exit events as there are records.
 */
function drainedOf(from: KernelEvents, pid: number): Promise<Drained> {
  return drainedUntil(from, (all) => {
    const exits = all.events.filter((event) => event.kind === 'exit' && event.tgid === pid).length;
    return exits > 0 && exits >= recordsOf(all, pid).length;
  });
}

const pidOf = (event: ThreadEvent): number => (event.kind === 'fork' ? event.childPid : event.pid);
const tgidOf = (event: ThreadEvent): number => (event.kind === 'fork' ? event.childTgid : event.tgid);

/** The records of a process's threads. */
function recordsOf({ events, records }: Drained, pid: number): readonly ExitRecord[] {
  const threads = new Set(events.filter((event) => tgidOf(event) === pid).map(pidOf));
  return records.filter((record) => threads.has(record.pid));
}

/** Runs a burner; returns its own account and what the kernel sent about its process. */
async function burn(t: TestContext, name: Parameters<typeof burner>[0], ...options: readonly string[]) {
  const directory = temporaryDirectory();
  const events = opened(t);
  const child = spawn(burner(name), [`--truth=${join(directory, 'truth')}`, ...options], { stdio: 'ignore' });
  t.after(() => child.kill('SIGKILL'));
  const ended = once(child, 'exit');
  const [status] = (await ended) as [number];
  assert.equal(status, 0);
  const pid = child.pid ?? 0;
  const received = await drainedOf(events, pid);
  assert.deepEqual([received.lostEvents, received.lostRecords], [false, false]);
  const [truth] = readTruth(join(directory, 'truth'));
  assert.ok(truth !== undefined);
  return {
    pid,
    truth,
    events: received.events.filter((event) => tgidOf(event) === pid),
    records: recordsOf(received, pid),
  };
}

describe('openKernelEvents', { skip: noKernelEvents(null) ?? burnersObstacle() ?? false }, () => {
  it('reports fork, exec and exit of a child in this order, with their times', async (t) => {
    const events = opened(t);
    const before = Number(process.hrtime.bigint()) / 1000;
    const { pid } = spawnSync('/bin/sh', ['-c', '/bin/true; exit 9']);
    const received = await drainedOf(events, pid);
    const after = Number(process.hrtime.bigint()) / 1000;
    assert.deepEqual([received.lostEvents, received.lostRecords], [false, false]);
    const own = received.events.filter((event) => tgidOf(event) === pid);
    assert.deepEqual(
      own.map(({ kind }) => kind),
      ['fork', 'exec', 'exit'],
    );
    const [fork, , exit] = own;
    assert.ok(fork?.kind === 'fork' && fork.parentTgid === process.pid);
    assert.ok(exit?.kind === 'exit' && exit.signal === 0);
    assert.ok(own.every(({ at }) => at >= before && at <= after));
    const grandchild = received.events.find((event) => event.kind === 'fork' && event.parentTgid === pid);
    assert.ok(grandchild !== undefined);
    const record = received.records.find((each) => each.pid === pid);
    assert.deepEqual([record?.uid, record?.comm], [process.getuid?.(), 'sh']);
    assert.ok(received.records.some(({ pid: each, comm }) => each === pidOf(grandchild) && comm === 'true'));
  });

  it('opens although events of other processes fill its socket before the answer', (t) => {
    opened(t);
    const forks = spawn('/bin/sh', ['-c', 'while :; do (:); done'], { stdio: 'ignore' });
    t.after(() => forks.kill('SIGKILL'));
    for (let turn = 0; turn < 1000; turn++) {
      // The kernel raises this to its smallest buffer.
      const events = openKernelEvents({ namespacePath: null, receiveBytes: 1 });
      assert.ok(!isUnavailable(events));
      events.close();
      assert.deepEqual([events.processEvents, events.exitRecords], ['open', 'open'], `turn ${turn}`);
    }
  });

  it('hands over the record of a process after its fork and exec', (t) => {
    const events = opened(t);
    const children = new Set(Array.from({ length: 20 }, () => spawnSync('/bin/true').pid));
    const seen = new Set<string>();
    let records = 0;
    events.drain({
      event: (event) => seen.add(`${event.kind} ${pidOf(event)}`),
      record: ({ pid }) => {
        if (!children.has(pid)) return;
        records++;
        assert.ok(['fork', 'exec'].every((kind) => seen.has(`${kind} ${pid}`)));
      },
    });
    assert.ok(records === 20);
  });

  it('reports the signal that ended a process', async (t) => {
    const events = opened(t);
    const { pid } = spawnSync('/bin/sh', ['-c', 'kill -9 $$']);
    const { events: all } = await drainedOf(events, pid);
    const exit = all.find((event) => event.kind === 'exit' && event.pid === pid);
    assert.ok(exit?.kind === 'exit' && exit.signal === 9);
  });

  it('reports the memory peaks of a child that no sampler read', async (t) => {
    const { truth, records } = await burn(t, 'steady', '--mib=64', '--hold=0');
    assert.equal(records.length, 1);
    const [record] = records;
    const slack = MiB / 2;
    const rss = record?.rssBytes ?? 0;
    assert.ok(rss >= truth.rssSum - slack && rss <= truth.rssSum + truth.uncertainty + slack, `${rss} ${truth.rssSum}`);
    assert.ok((record?.vmBytes ?? 0) >= truth.processVmem);
    assert.ok((record?.vmBytes ?? 0) <= truth.processVmem + MiB);
    assert.ok((record?.minorFaults ?? 0) > 0);
  });

  it('reports the bytes that a child read and wrote', async (t) => {
    const { truth, records } = await burn(t, 'io', '--mib=8');
    const [record] = records;
    // Rounded down to 1 KiB; the account of the burner is read just before its end.
    const near = (value: number | undefined, expected: number | undefined): boolean =>
      Math.abs((value ?? -1) - (expected ?? -1e9)) < 16 * 1024;
    assert.ok(near(record?.readChars, truth.extra.rchar), `${record?.readChars ?? ''} ${truth.extra.rchar ?? ''}`);
    assert.ok(near(record?.writeChars, truth.extra.wchar));
    if (truth.extra.read_bytes !== undefined) assert.ok(near(record?.readBytes, truth.extra.read_bytes));
    if (truth.extra.write_bytes !== undefined) assert.ok(near(record?.writeBytes, truth.extra.write_bytes));
  });

  it('reports the CPU time of a child within 0.05 s', (t) =>
    // A virtual machine that loses its CPU between the two readings counts that time as used.
    oneOf(5, async () => {
      const { truth, records } = await burn(t, 'cpu');
      const seconds = records.reduce((sum, { cpuNs }) => sum + cpuNs, 0) / 1e9;
      assert.ok(Math.abs(seconds - truth.cpuSeconds) < 0.05, `${seconds} ${truth.cpuSeconds}`);
    }));

  it('hands over a record for each thread of a process whose leader exits first', async (t) => {
    const { pid, truth, events, records } = await burn(
      t,
      'leader-exits',
      '--threads=3',
      '--mib=24',
      '--grow=10',
      '--hold=0',
    );
    assert.equal(records.length, 4);
    const pids = new Set(records.map((record) => record.pid));
    assert.equal(pids.size, 4);
    assert.ok(pids.has(pid));
    const marks = records.map(({ rssBytes }) => rssBytes);
    assert.ok(Math.abs(Math.max(...marks) - truth.rssSum) < MiB);
    const forks = events.filter(({ kind }) => kind === 'fork');
    assert.equal(forks.length, 4);
    assert.ok(forks.slice(1).every((fork) => pidOf(fork) !== tgidOf(fork)));
    const exits = events.filter(({ kind }) => kind === 'exit');
    assert.deepEqual(exits.map(pidOf).sort(), records.map((record) => record.pid).sort());
    // Checked by records: the other threads go on once the leader has gone, maybe before its exit event is sent.
    assert.equal(records[0]?.pid, pid);
  });

  it('loses no event or record of 500 short-lived children', async (t) => {
    const events = opened(t);
    const { pid } = spawnSync('/bin/sh', ['-c', 'i=0; while [ $i -lt 500 ]; do (:); i=$((i+1)); done']);
    const childrenOf = (all: Drained): readonly number[] =>
      all.events.filter((event) => event.kind === 'fork' && event.parentTgid === pid).map(pidOf);
    const received = await drainedUntil(events, (all) => {
      const exited = new Set(all.events.filter(({ kind }) => kind === 'exit').map(pidOf));
      return all.lostEvents || childrenOf(all).every((child) => exited.has(child));
    });
    assert.deepEqual([received.lostEvents, received.lostRecords], [false, false]);
    const children = childrenOf(received);
    assert.equal(children.length, 500);
    const records = new Set(received.records.map((record) => record.pid));
    for (const child of children) assert.ok(records.has(child));
  });

  it('says that messages were lost where the buffer was too small, and then goes on', async (t) => {
    const events = opened(t, 64 * 1024);
    spawnSync('/bin/sh', ['-c', 'i=0; while [ $i -lt 400 ]; do (:); i=$((i+1)); done']);
    const received = drained(events);
    assert.deepEqual([received.lostEvents, received.lostRecords], [true, true]);
    assert.ok(received.events.length > 0 && received.records.length > 0);
    // Other processes of the machine may overflow the small buffer again.
    await until(async () => {
      const { pid } = spawnSync('/bin/true');
      const again = await drainedUntil(
        events,
        ({ lostEvents, events: all }) => lostEvents || all.some((event) => event.kind === 'exit' && event.pid === pid),
      );
      return !again.lostEvents && !again.lostRecords && again.records.some((record) => record.pid === pid);
    }, 'all of a process');
  });

  it('hands over nothing after close, and may be closed twice', (t) => {
    const events = opened(t);
    events.close();
    events.close();
    spawnSync('/bin/true');
    assert.deepEqual(drained(events).events, []);
  });

  it('says in another network namespace what to set, and reaches the initial one by its path', () => {
    const script = `
      const { openKernelEvents } = require(process.argv[1]);
      const { readlinkSync } = require('node:fs');
      const own = () => readlinkSync('/proc/self/ns/net');
      const before = own();
      const receiveBytes = 65536;
      const here = openKernelEvents({ namespacePath: null, receiveBytes });
      const there = openKernelEvents({ namespacePath: process.argv[2], receiveBytes });
      require('node:child_process').spawnSync('/bin/true');
      let heard = 0;
      const count = () => { heard++; };
      there.drain?.({ event: count, record: count });
      const nowhere = openKernelEvents({ namespacePath: '/nonexistent', receiveBytes });
      process.stdout.write(JSON.stringify({ here, there, heard, nowhere, same: own() === before, own: own() }));`;
    const words = ['--net', process.execPath, '-e', script];
    const modulePath = require.resolve('../../../src/sources/events/kernel-events');
    const { status, stdout, stderr } = spawnSync('unshare', [...words, modulePath, `/proc/${process.pid}/ns/net`], {
      encoding: 'utf8',
    });
    assert.equal(status, 0, stderr);
    const received = JSON.parse(stdout) as {
      readonly here: { readonly unavailable: string; readonly fix: string };
      readonly there: { readonly processEvents: string; readonly exitRecords: string };
      readonly nowhere: { readonly unavailable: string };
      readonly heard: number;
      readonly same: boolean;
      readonly own: string;
    };
    assert.match(received.here.unavailable, /another network namespace/);
    assert.match(received.here.fix, /initial_network_namespace/);
    assert.deepEqual([received.there.processEvents, received.there.exitRecords], ['open', 'open']);
    // The exit itself may be sent a moment after the end of the wait.
    assert.ok(received.heard >= 3);
    assert.match(received.nowhere.unavailable, /ENOENT/);
    assert.equal(received.same, true);
    assert.notEqual(received.own, readlinkSync('/proc/self/ns/net'));
  });

  const script = `
    const { openKernelEvents } = require(process.argv[1]);
    process.stdout.write(JSON.stringify(openKernelEvents({ namespacePath: null, receiveBytes: 65536 })));`;

  it('says that exit records need CAP_NET_ADMIN', () => {
    const modulePath = require.resolve('../../../src/sources/events/kernel-events');
    const words = [
      '--bounding-set',
      '-net_admin',
      '--inh-caps',
      '-net_admin',
      process.execPath,
      '-e',
      script,
      modulePath,
    ];
    const { status, stdout, stderr } = spawnSync('setpriv', words, { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    // Since Linux 6.6 process events need no right.
    assert.match(stdout, /exit records: no CAP_NET_ADMIN/);
  });

  it('says that it runs in a PID namespace', () => {
    const modulePath = require.resolve('../../../src/sources/events/kernel-events');
    const words = ['--pid', '--fork', '--mount-proc', process.execPath, '-e', script, modulePath];
    const { status, stdout, stderr } = spawnSync('unshare', words, { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    assert.match(stdout, /in a PID namespace/);
  });
});
