import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseExitRecord, registerPayload, type ExitRecord } from '../../../src/sources/events/exit-records';
import { asVersion, broken, recordMessages } from './fixtures';

const parse = (message: Buffer | undefined): ExitRecord => {
  const record = message === undefined ? null : parseExitRecord(message, 0, message.length);
  assert.ok(record !== null);
  return record;
};

/** Python's leader; the last thread of it. */
const [LEADER, , LAST] = recordMessages;

describe('parseExitRecord', () => {
  it('reads what Linux 6.18 sent of a leader that left its threads behind', () => {
    assert.deepEqual(parse(LEADER), {
      pid: 10561,
      uid: 0,
      comm: 'a b)c',
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
      delays: { cpu: 32478, blockIo: 0, swapIn: 0, freePages: 0, thrashing: 0, compact: 0 },
    });
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
    for (const version of [12, 13, 14]) assert.deepEqual(present(version), [...old, 'thrashing', 'compact']);
    for (const [version, bytes] of Object.entries(LENGTHS)) {
      const { delays, ...record } = parse(asVersion(LAST ?? Buffer.alloc(0), Number(version), bytes));
      const { delays: delaysNow, ...recordNow } = now;
      assert.deepEqual(record, recordNow);
      assert.deepEqual(delays.cpu, delaysNow.cpu);
    }
  });

  it('reads version 15, whose fields lie elsewhere', () => {
    for (const message of recordMessages) assert.deepEqual(parse(asVersion(message, 15, 560)), parse(message));
  });

  it('reads a version to come, longer at its end', () => {
    assert.deepEqual(parse(asVersion(LAST ?? Buffer.alloc(0), 18, 800)), parse(LAST));
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
          assert.ok(record.hiwaterRssBytes >= 0 && record.pid >= 0);
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
