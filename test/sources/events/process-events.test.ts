import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  detectGaps,
  parseProcessEvent,
  subscription,
  subscriptionAnswer,
  type ThreadEvent,
} from '../../../src/sources/events/process-events';
import { broken, processMessages } from './fixtures';

const parse = (message: Buffer): ThreadEvent | null => parseProcessEvent(message, 0, message.length);

const CPU = 40;
const SEQUENCE = 24;

/** A message from a CPU with a sequence number. */
function numbered(cpu: number, sequence: number): Buffer {
  const message = Buffer.from(processMessages[1] ?? '');
  message.writeUInt32LE(cpu >>> 0, CPU);
  message.writeUInt32LE(sequence >>> 0, SEQUENCE);
  return message;
}

/** For each group of messages: whether a loss is reported after it. */
function losses(...groups: readonly (readonly Buffer[])[]): readonly boolean[] {
  const gaps = detectGaps();
  return groups.map((group) => {
    for (const message of group) gaps.see(message, 0, message.length);
    return gaps.settle(false);
  });
}

describe('parseProcessEvent', () => {
  it('reads the forks, execs and exits that a kernel sent, and leaves out other kinds', () => {
    const events = processMessages.map(parse).filter((event) => event !== null);
    // An answer, a change of name and a core dump are not among them.
    assert.equal(events.length, processMessages.length - 3);
    const lines = events.map((event) => {
      if (event.kind === 'fork') return `${event.parentTgid} forks ${event.childPid} of ${event.childTgid}`;
      if (event.kind === 'exec') return `${event.pid} of ${event.tgid} executes`;
      return `${event.pid} of ${event.tgid} ends by ${event.signal}`;
    });
    assert.deepEqual(lines, [
      '10554 forks 10561 of 10561',
      '10561 of 10561 executes',
      '10554 forks 10562 of 10561',
      '10554 forks 10563 of 10561',
      '10561 of 10561 ends by 0',
      '10562 of 10561 ends by 0',
      '10563 of 10561 ends by 0',
      '10554 forks 10564 of 10564',
      '10564 of 10564 executes',
      '10564 forks 10565 of 10565',
      '10565 of 10565 ends by 0',
      '10564 of 10564 ends by 11',
      '10554 forks 10566 of 10566',
      '10566 of 10566 executes',
      '10566 forks 10567 of 10567',
      '10567 of 10567 ends by 0',
      '10566 of 10566 ends by 0',
    ]);
    assert.ok(events.every(({ at }, index) => at >= (events[index - 1]?.at ?? 0)));
    assert.ok(Math.abs((events[0]?.at ?? 0) - 14_141_101_406.291) < 1e-3);
  });

  it('reads a message inside a larger buffer', () => {
    const message = processMessages[1] ?? Buffer.alloc(0);
    const buffer = Buffer.concat([Buffer.alloc(100, 0xff), message, Buffer.alloc(10, 0xff)]);
    assert.deepEqual(parseProcessEvent(buffer, 100, message.length), parse(message));
    assert.equal(parseProcessEvent(buffer, 100, buffer.length), null);
  });

  it('keeps microseconds over years of uptime', () => {
    const message = numbered(0, 1);
    message.writeBigUInt64LE(94_608_000_000_001_500n, 44);
    assert.equal(parse(message)?.at, 94_608_000_000_001.5);
  });

  it('reads an exit without a parent, as before Linux 4.18', () => {
    const exit = processMessages.find((message) => parse(message)?.kind === 'exit') ?? Buffer.alloc(0);
    assert.deepEqual(parseProcessEvent(exit.subarray(0, 68), 0, 68), parse(exit));
  });

  it('returns numbers or null for garbage', () => {
    fc.assert(
      fc.property(broken(processMessages), fc.nat(20), (bytes, offset) => {
        for (const event of [parse(bytes), parseProcessEvent(bytes, offset, bytes.length)])
          assert.ok(event === null || Object.values(event).every((value) => !Number.isNaN(value)));
        losses([bytes]);
      }),
    );
  });
});

describe('subscriptionAnswer', () => {
  it('returns 0 for the answer to its own subscription, else null', () => {
    const answer = processMessages[0] ?? Buffer.alloc(0);
    assert.equal(subscriptionAnswer(answer, 0, answer.length, 1234), 0);
    assert.equal(subscriptionAnswer(answer, 0, answer.length, 7), null);
    const event = processMessages[1] ?? Buffer.alloc(0);
    assert.equal(subscriptionAnswer(event, 0, event.length, -1), null);
  });

  it('reads a refusal', () => {
    const answer = Buffer.from(processMessages[0] ?? '');
    answer.writeUInt32LE(1, 52);
    assert.equal(subscriptionAnswer(answer, 0, answer.length, 1234), 1);
  });
});

describe('subscription', () => {
  it('is the 4-byte form that every kernel takes', () => {
    assert.equal(subscription('listen', 5).toString('hex'), '010000000100000000000000050000000400000001000000');
    assert.equal(subscription('ignore', 5).readUInt32LE(20), 2);
  });
});

describe('detectGaps', () => {
  it('finds no gap in what a kernel sent', () => {
    assert.deepEqual(losses(processMessages), [false]);
  });

  it('finds any missing message but the first and last of a CPU', () => {
    const cpu = (message: Buffer): number => message.readUInt32LE(CPU);
    for (const [index, missing] of processMessages.entries()) {
      const rest = processMessages.filter((message) => message !== missing);
      const between =
        processMessages.slice(0, index).some((message) => cpu(message) === cpu(missing)) &&
        processMessages.slice(index + 1).some((message) => cpu(message) === cpu(missing));
      assert.deepEqual(losses(rest), [between]);
    }
  });

  it('reports a gap once', () => {
    assert.deepEqual(losses([numbered(0, 7), numbered(1, 50)], [numbered(0, 9)], [numbered(1, 51), numbered(0, 10)]), [
      false,
      true,
      false,
    ]);
  });

  it('does not report again messages that are known to be lost', () => {
    const gaps = detectGaps();
    const see = (message: Buffer): void => gaps.see(message, 0, message.length);
    [numbered(0, 7), numbered(1, 50)].forEach(see);
    assert.equal(gaps.settle(true), true);
    [numbered(0, 90), numbered(1, 99)].forEach(see);
    assert.equal(gaps.settle(false), false);
    see(numbered(1, 101));
    assert.equal(gaps.settle(false), true);
  });

  it('follows the sequence number past 32 bits', () => {
    assert.deepEqual(losses([numbered(3, 0xffffffff), numbered(3, 0)], [numbered(3, 2)]), [false, true]);
  });

  it('does not take two events in the wrong order for a loss', () => {
    assert.deepEqual(losses([numbered(0, 5), numbered(0, 7), numbered(0, 6), numbered(0, 8)]), [false]);
  });

  it('ignores answers, which have no CPU', () => {
    assert.deepEqual(losses([numbered(-1, 1), numbered(-1, 900), numbered(0, 5)]), [false]);
  });
});
