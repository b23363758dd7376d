import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  parseExitRecord,
  RECORD_FIGURES,
  registerPayload,
  type ExitRecord,
} from '../../../src/sources/events/exit-records';
import { asVersion, broken, recordMessages } from './fixtures';

const parse = (message: Buffer | undefined): ExitRecord => {
  const record = message === undefined ? null : parseExitRecord(message, 0, message.length);
  assert.ok(record !== null);
  return record;
};

const MIB = 1024 * 1024;
/** Where struct taskstats begins in a message. */
const STATS = 36;

/** The records of Python's leader and of its last thread. */
const [LEADER, , LAST] = recordMessages;

describe('parseExitRecord', () => {
  it('reads the record that Linux 6.18 sent for a leader that exited before its threads', () => {
    assert.deepEqual(parse(LEADER), {
      pid: 10561,
      uid: 0,
      comm: 'a b)c',
      cpuNs: 57552639,
      minorFaults: 17468,
      majorFaults: 2,
      rssBytes: 76496896,
      vmBytes: 232759296,
      readChars: 328704,
      writeChars: 0,
      readSyscalls: 0,
      writeSyscalls: 0,
      readBytes: 397312,
      writeBytes: 0,
      cancelledWriteBytes: 0,
      voluntarySwitches: 10,
      involuntarySwitches: 1,
      rssByteUs: 1873489 * MIB,
      vmByteUs: 3368623 * MIB,
      cpuDelayNs: 32478,
      blockIoDelayNs: 0,
      swapInDelayNs: 0,
      freePagesDelayNs: 0,
      thrashingDelayNs: 0,
      compactDelayNs: 0,
    });
  });

  // Recorded on 6.18 and cut to the length of each version: those kernels were not at hand.
  it('reads versions 8 to 14, whose lengths differ', () => {
    const waited = Buffer.from(LAST ?? '');
    for (const delay of [16, 32, 48, 312, 328, 352]) waited.writeBigUInt64LE(7n, STATS + delay + 8);
    const now = parse(waited);
    const present = (version: number): readonly string[] => {
      const record = parse(asVersion(waited, version, LENGTHS[version] ?? 0));
      for (const figure of RECORD_FIGURES)
        if (!figure.endsWith('DelayNs')) assert.equal(record[figure], now[figure], figure);
      return RECORD_FIGURES.filter((figure) => figure.endsWith('DelayNs') && record[figure] === 7);
    };
    const LENGTHS: Readonly<Record<number, number>> = { 8: 328, 9: 344, 10: 352, 11: 368, 12: 400, 13: 416, 14: 432 };
    const old = ['cpuDelayNs', 'blockIoDelayNs', 'swapInDelayNs', 'freePagesDelayNs'];
    assert.deepEqual(present(8), old);
    for (const version of [9, 10]) assert.deepEqual(present(version), [...old, 'thrashingDelayNs']);
    for (const version of [11, 12, 13, 14])
      assert.deepEqual(present(version), [...old, 'thrashingDelayNs', 'compactDelayNs']);
  });

  it('reads version 15, whose fields lie elsewhere', () => {
    for (const message of recordMessages) assert.deepEqual(parse(asVersion(message, 15, 560)), parse(message));
  });

  it('reads a later version that is longer at its end', () => {
    assert.deepEqual(parse(asVersion(LAST ?? Buffer.alloc(0), 18, 800)), parse(LAST));
  });

  it('counts at most 0.1 s for each wait for a CPU, since the kernel may have counted sleep', () => {
    const message = Buffer.from(LAST ?? '');
    message.writeBigUInt64LE(11n, STATS + 16);
    message.writeBigUInt64LE(9_500_000_000n, STATS + 24);
    assert.equal(parse(message).cpuDelayNs, 1_100_000_000);
    message.writeBigUInt64LE(759n, STATS + 16);
    assert.equal(parse(message).cpuDelayNs, 9_500_000_000);
  });

  it('takes the CPU time in ticks where the kernel counted no nanoseconds', () => {
    const message = Buffer.from(LEADER ?? '');
    message.writeBigUInt64LE(0n, STATS + 72);
    assert.equal(parse(message).cpuNs, (24000 + 35958) * 1000);
  });

  it('refuses a message that is cut off or has another command', () => {
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

  it('returns plausible figures or null for garbage', () => {
    fc.assert(
      fc.property(broken(recordMessages), fc.nat(20), (bytes, offset) => {
        for (const at of [0, offset]) {
          const record = parseExitRecord(bytes, at, bytes.length);
          if (record === null) continue;
          assert.ok(record.comm.length <= 32);
          assert.ok(record.rssBytes >= 0 && record.pid >= 0);
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
