import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { ExitFlag, parseExitRecord, registerPayload, type ExitRecord } from '../../../src/sources/events/exit-records';
import { asVersion, broken, recordMessages } from './fixtures';

const parse = (message: Buffer | undefined): ExitRecord => {
  const record = message === undefined ? null : parseExitRecord(message, 0, message.length);
  assert.ok(record !== null);
  return record;
};

const none = { count: 0, ns: 0 };
/** Python's leader; the last thread of it. */
const [LEADER, , LAST] = recordMessages;

describe('parseExitRecord', () => {
  it('reads what Linux 6.18 sent of a leader that left its threads behind', () => {
    assert.deepEqual(parse(LEADER), {
      pid: 10561,
      tgid: 10561,
      lastOfGroup: false,
      uid: 0,
      ppid: 10554,
      comm: 'a b)c',
      version: 16,
      flags: 0,
      forkedNoExec: false,
      exitCode: 7,
      signal: 0,
      beginSeconds: 1795260094,
      elapsedUs: 59247,
      cpuNs: 57552639,
      userUs: 24000,
      systemUs: 35958,
      minorFaults: 17468,
      majorFaults: 2,
      hiwaterRssBytes: 76496896,
      hiwaterVmBytes: 232759296,
      readChars: 328704,
      writeChars: 0,
      readSyscalls: 0,
      writeSyscalls: 0,
      readBytes: 397312,
      writeBytes: 0,
      cancelledWriteBytes: 0,
      voluntarySwitches: 10,
      involuntarySwitches: 1,
      coremem: 1873489,
      virtmem: 3368623,
      delays: {
        cpu: { count: 12, ns: 32478 },
        blockIo: none,
        swapIn: none,
        freePages: none,
        thrashing: none,
        compact: none,
        wpcopy: none,
        irq: none,
      },
      group: null,
    });
  });

  it('reads the sums that come with the last of a group', () => {
    const { pid, tgid, lastOfGroup, group } = parse(LAST);
    assert.deepEqual([pid, tgid, lastOfGroup], [10563, 10561, true]);
    assert.equal(group?.cpuNs, 57925554);
    assert.deepEqual(group.delays.cpu, { count: 16, ns: 262481 });
  });

  it('tells forks that executed nothing, and how each ended', () => {
    const told = recordMessages.slice(3).map((message) => {
      const { comm, lastOfGroup, forkedNoExec, exitCode, signal } = parse(message);
      return { comm, lastOfGroup, forkedNoExec, exitCode, signal };
    });
    assert.deepEqual(told, [
      { comm: 'sh', lastOfGroup: true, forkedNoExec: true, exitCode: 0, signal: 0 },
      { comm: 'sh', lastOfGroup: true, forkedNoExec: false, exitCode: 0, signal: 11 },
      { comm: 'python3', lastOfGroup: true, forkedNoExec: true, exitCode: 3, signal: 0 },
      { comm: 'python3', lastOfGroup: true, forkedNoExec: false, exitCode: 0, signal: 0 },
    ]);
    assert.equal(parse(recordMessages[4]).flags, ExitFlag.ACORE | ExitFlag.AXSIG | ExitFlag.AGROUP);
  });

  // Recorded on 6.18 and cut to the length of each version: those kernels were not at hand.
  it('reads every version by its length', () => {
    const now = parse(LAST);
    const present = (version: number): readonly string[] =>
      Object.entries(parse(asVersion(LAST ?? Buffer.alloc(0), version, LENGTHS[version] ?? 0)).delays)
        .filter(([, delay]) => delay !== null)
        .map(([name]) => name);
    const LENGTHS: Readonly<Record<number, number>> = { 8: 328, 9: 344, 10: 352, 11: 368, 12: 400, 13: 416, 14: 432 };
    const old = ['cpu', 'blockIo', 'swapIn', 'freePages'];
    assert.deepEqual(present(8), old);
    assert.deepEqual(present(9), [...old, 'thrashing']);
    assert.deepEqual(present(10), [...old, 'thrashing']);
    assert.deepEqual(present(11), [...old, 'thrashing', 'compact']);
    assert.deepEqual(present(12), [...old, 'thrashing', 'compact']);
    assert.deepEqual(present(13), [...old, 'thrashing', 'compact', 'wpcopy']);
    assert.deepEqual(present(14), [...old, 'thrashing', 'compact', 'wpcopy', 'irq']);
    for (const [version, bytes] of Object.entries(LENGTHS)) {
      const { delays, group, ...record } = parse(asVersion(LAST ?? Buffer.alloc(0), Number(version), bytes));
      const { delays: delaysNow, group: groupNow, ...recordNow } = now;
      assert.deepEqual(record, { ...recordNow, version: Number(version) });
      assert.deepEqual(delays.cpu, delaysNow.cpu);
      assert.equal(group?.cpuNs, groupNow?.cpuNs);
    }
  });

  it('knows no process, nor whether it has ended, from an old kernel without the group part', () => {
    const leader = parse(asVersion(LEADER ?? Buffer.alloc(0), 8, 328));
    assert.deepEqual([leader.pid, leader.tgid, leader.lastOfGroup], [10561, null, null]);
  });

  it('reads version 15, whose fields lie elsewhere', () => {
    for (const message of recordMessages)
      assert.deepEqual(parse(asVersion(message, 15, 560)), { ...parse(message), version: 15 });
  });

  it('reads a version to come, longer at its end', () => {
    assert.deepEqual(parse(asVersion(LAST ?? Buffer.alloc(0), 18, 800)), { ...parse(LAST), version: 18 });
  });

  it('takes the layout of the task where the group has no version', () => {
    const message = asVersion(LAST ?? Buffer.alloc(0), 15, 560);
    message.writeUInt16LE(0, 20 + 576 + 16);
    assert.deepEqual(parse(message), { ...parse(LAST), version: 15 });
  });

  it('has no CPU time where the kernel counted ticks only', () => {
    const message = Buffer.from(LEADER ?? '');
    message.writeBigUInt64LE(0n, 36 + 72);
    assert.equal(parse(message).cpuNs, null);
  });

  it('refuses what is cut off or of another command', () => {
    const message = LEADER ?? Buffer.alloc(0);
    for (let length = 0; length < message.length; length += 4) {
      assert.equal(parseExitRecord(message.subarray(0, length), 0, length), null);
      assert.equal(parseExitRecord(message, 0, length), null);
    }
    assert.equal(parseExitRecord(asVersion(message, 7, 312), 0, 348), null);
    const other = Buffer.from(message);
    other.writeUInt8(1, 16);
    assert.equal(parseExitRecord(other, 0, other.length), null);
  });

  it('gives nothing absurd for garbage', () => {
    fc.assert(
      fc.property(broken(recordMessages), fc.nat(20), (bytes, offset) => {
        for (const at of [0, offset]) {
          const record = parseExitRecord(bytes, at, bytes.length);
          if (record === null) continue;
          assert.ok(record.comm.length <= 32);
          assert.ok(record.hiwaterRssBytes >= 0 && record.pid >= 0 && record.exitCode <= 255);
        }
      }),
    );
  });
});

describe('registerPayload', () => {
  it('ends the list of CPUs with a zero byte, which the kernel cuts off', () => {
    assert.equal(registerPayload('0-127').toString('latin1'), '\x01\x01\0\0\x0a\0\x03\x000-127\0\0\0');
  });
});
