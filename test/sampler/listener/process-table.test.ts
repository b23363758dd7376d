import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { newProcessTable } from '../../../src/sampler/listener/process-table';
import type { SentRecord } from '../../../src/sampler/listener/waiting-records';
import type { ExitRecord } from '../../../src/sources/events/exit-records';
import type { ThreadEvent } from '../../../src/sources/events/process-events';

const MIB = 1024 * 1024;

export function threadRecord(pid: number, changes: Partial<ExitRecord> = {}): ExitRecord {
  return {
    pid,
    uid: 1000,
    comm: 'worker',
    cpuNs: 5_000_000,
    minorFaults: 10,
    majorFaults: 1,
    rssBytes: 7 * MIB,
    vmBytes: 70 * MIB,
    readChars: 1024,
    writeChars: 2048,
    readSyscalls: 3,
    writeSyscalls: 4,
    readBytes: 0,
    writeBytes: 4096,
    cancelledWriteBytes: 0,
    voluntarySwitches: 2,
    involuntarySwitches: 1,
    rssByteUs: 12 * MIB,
    vmByteUs: 34 * MIB,
    cpuDelayNs: 1000,
    blockIoDelayNs: 1000,
    swapInDelayNs: 1000,
    freePagesDelayNs: 1000,
    thrashingDelayNs: 1000,
    compactDelayNs: 1000,
    ...changes,
  };
}

/** A record as the kernel sent it. */
const sent = (pid: number, changes: Partial<ExitRecord> = {}): SentRecord => ({
  pid,
  read: () => threadRecord(pid, changes),
});

const fork = (at: number, parent: number, childPid: number, childTgid = childPid): ThreadEvent => ({
  kind: 'fork',
  at,
  parentPid: parent,
  parentTgid: parent,
  childPid,
  childTgid,
});
const exit = (at: number, pid: number, tgid = pid): ThreadEvent => ({ kind: 'exit', at, pid, tgid, signal: 0 });

describe('the table of processes', () => {
  it('passes on the events and the exit record of a process with one thread', () => {
    const table = newProcessTable(new Map());
    table.records([sent(20)]);
    const events = table.events([fork(1, 10, 20), { kind: 'exec', at: 2, pid: 20, tgid: 20 }, exit(3, 20)]);
    assert.deepEqual(events.slice(0, 2), [
      { kind: 'fork', at: 1, parent: 10, child: 20, thread: 10 },
      { kind: 'exec', at: 2, pid: 20 },
    ]);
    const [, , end] = events;
    assert.ok(end?.kind === 'exit' && end.account !== null);
    const { rssBytes, cpuNs, threads, threadExits, final, whole, command, uid } = end.account;
    assert.deepEqual(
      { rssBytes, cpuNs, threads, threadExits, final, whole, command, uid },
      {
        rssBytes: 7 * MIB,
        cpuNs: 5_000_000,
        threads: 1,
        threadExits: 1,
        final: true,
        whole: true,
        command: 'worker',
        uid: 1000,
      },
    );
  });

  it('ends a process with its last thread: marks are the maxima of its threads, other figures the sums', () => {
    const table = newProcessTable(new Map());
    assert.equal(table.events([fork(1, 10, 20), fork(2, 20, 21, 20), fork(3, 20, 22, 20)]).length, 1);
    table.records([sent(20, { rssBytes: 9 * MIB }), sent(21), sent(22, { rssBytes: 11 * MIB })]);
    const ends = table.events([exit(4, 20), exit(5, 21, 20), exit(6, 22, 20)]);
    assert.equal(ends.length, 1);
    const [end] = ends;
    assert.ok(end?.kind === 'exit' && end.account !== null);
    assert.equal(end.at, 6);
    assert.equal(end.account.rssBytes, 11 * MIB);
    assert.equal(end.account.cpuNs, 15_000_000);
    assert.deepEqual([end.account.threads, end.account.threadExits, end.account.whole], [3, 3, true]);
  });

  it('names a process after its first thread, in whatever order its threads end', () => {
    const ended = (...order: readonly number[]): string | undefined => {
      const table = newProcessTable(new Map([[20, [20, 21, 22]]]));
      const names = new Map([
        [20, 'java'],
        [21, 'GC Thread#0'],
        [22, 'C2 CompilerThre'],
      ]);
      table.records(order.filter((pid) => names.has(pid)).map((pid) => sent(pid, { comm: names.get(pid) ?? '' })));
      const end = table.events(order.map((pid, index) => exit(index, Math.abs(pid), 20))).at(-1);
      return end?.kind === 'exit' ? end.account?.command : undefined;
    };
    assert.equal(ended(20, 21, 22), 'java');
    assert.equal(ended(21, 20, 22), 'java');
    assert.equal(ended(22, 21, 20), 'java');
    // The first thread's record was lost: the name of another thread says nothing about the process.
    assert.equal(ended(21, -20, 22), '');
  });

  it('says when exit records are missing: of some threads, of the last, of all', () => {
    const ended = (records: readonly number[]): readonly unknown[] => {
      const table = newProcessTable(new Map([[20, [20, 21]]]));
      table.records(records.map((pid) => sent(pid)));
      const [end] = table.events([exit(4, 20), exit(5, 21, 20)]);
      assert.ok(end?.kind === 'exit');
      return end.account === null ? [] : [end.account.final, end.account.whole];
    };
    assert.deepEqual(ended([20, 21]), [true, true]);
    assert.deepEqual(ended([21]), [true, false]);
    assert.deepEqual(ended([20]), [false, false]);
    assert.deepEqual(ended([]), []);
  });

  it('has one thread, with the process’s pid, after an exec by any thread', () => {
    const table = newProcessTable(new Map());
    table.records([sent(20, { vmBytes: 90 * MIB }), sent(21, { vmBytes: 90 * MIB }), sent(22)]);
    table.events([fork(1, 10, 20), fork(2, 20, 21, 20), fork(2, 20, 22, 20)]);
    // Thread 22 calls exec: the others end, one of them only after the event of the exec.
    const between = table.events([exit(3, 20), { kind: 'exec', at: 4, pid: 20, tgid: 20 }, exit(4.5, 21, 20)]);
    assert.deepEqual(
      between.map((event) => event.kind),
      ['exec'],
    );
    table.records([sent(20, { rssBytes: 3 * MIB })]);
    const [end] = table.events([exit(9, 20)]);
    assert.ok(end?.kind === 'exit' && end.account?.final === true);
    // The marks of the threads are those of the program that has gone; their CPU time is the process's.
    assert.deepEqual([end.account.rssBytes, end.account.vmBytes], [3 * MIB, 70 * MIB]);
    assert.equal(end.account.cpuNs, 15_000_000);
  });

  /** Thread 21 of process 20 calls exec, and the next program ends: all between two looks. */
  const execByThread = (firstEnds: ThreadEvent): readonly unknown[] => {
    const table = newProcessTable(new Map());
    table.records([sent(20, { rssBytes: 90 * MIB }), sent(20, { rssBytes: 3 * MIB })]);
    const execed: ThreadEvent = { kind: 'exec', at: 4, pid: 20, tgid: 20 };
    const events = [fork(1, 10, 20), fork(2, 20, 21, 20), firstEnds, execed, exit(9, 20)];
    const [, , end] = table.events(events.sort((a, b) => a.at - b.at));
    assert.ok(end?.kind === 'exit' && end.account !== null);
    return [end.account.rssBytes, end.account.final, end.account.whole, end.account.threadExits];
  };

  it('keeps apart the records of the first thread and of the one that took its id by an exec', () => {
    assert.deepEqual(execByThread(exit(3, 20)), [3 * MIB, true, true, 2]);
  });

  it('knows the first thread’s record if its exit event has the other thread’s id already', () => {
    assert.deepEqual(execByThread(exit(3, 21, 20)), [3 * MIB, true, true, 2]);
    assert.deepEqual(execByThread(exit(5, 21, 20)), [3 * MIB, true, true, 2]);
  });

  it('takes no record of a thread whose exit event was lost for that of a later thread with its id', () => {
    const rssAfter = (looks: number): unknown => {
      const table = newProcessTable(new Map());
      table.records([sent(20, { rssBytes: 90 * MIB })]);
      for (let look = 1; look < looks; look++) table.records([]);
      table.records([sent(20, { rssBytes: 3 * MIB })]);
      const [, end] = table.events([fork(1, 10, 20), exit(2, 20)]);
      return end?.kind === 'exit' ? end.account?.rssBytes : null;
    };
    assert.equal(rssAfter(2), 3 * MIB);
    // A look reads events first: the record may be there before the fork event.
    assert.equal(rssAfter(1), 90 * MIB);
  });
});
