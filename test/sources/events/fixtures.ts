import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { packageRoot } from '../../../src/base/package-root';

/** Netlink messages as Linux 6.18 sent them, one per line, in their order. */
function recorded(name: string): readonly Buffer[] {
  return readFileSync(join(packageRoot(), 'test', 'fixtures', 'events', 'linux-6.18', name), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => Buffer.from(line, 'hex'));
}

/**
 * The answer to a subscription; Python named "a b)c" (64 MiB, two threads, the leader ends first with 7); sh, whose
 * child ends and which then dies of SIGSEGV with a core; Python, which forks a child that ends with 3.
 */
export const processMessages = recorded('process-events.hex');
/** Exit records of the same processes: Python's leader, its threads, sh's child, sh, Python's child, Python. */
export const recordMessages = recorded('exit-records.hex');

const ATTRIBUTES = 20;
const STATS = 16;
const STATS_BYTES_16 = 560;
const DELAYS = [16, 32, 48, 312, 328, 352, 400, 416];

/** A recorded message as a kernel with an older or newer struct taskstats would have sent it. */
export function asVersion(message: Buffer, version: number, statsBytes: number): Buffer {
  const parts = [];
  for (let at = ATTRIBUTES; at < message.length; at += message.readUInt16LE(at)) {
    const head = Buffer.from(message.subarray(at, at + STATS));
    const recordedStats = message.subarray(at + STATS, at + STATS + STATS_BYTES_16);
    const stats = Buffer.alloc(statsBytes);
    (version === 15 ? spread(recordedStats) : recordedStats).copy(stats);
    stats.writeUInt16LE(version);
    head.writeUInt16LE(STATS + statsBytes, 0);
    head.writeUInt16LE(4 + statsBytes, 12);
    parts.push(head, stats);
  }
  const built = Buffer.concat([message.subarray(0, ATTRIBUTES), ...parts]);
  built.writeUInt32LE(built.length, 0);
  return built;
}

/** Version 15 has the longest and the shortest wait behind each delay, not all of them at the end. */
function spread(stats: Buffer): Buffer {
  const pieces = [];
  let from = 0;
  for (const delay of DELAYS) {
    pieces.push(stats.subarray(from, delay + 16), Buffer.alloc(16, 0xee));
    from = delay + 16;
  }
  return Buffer.concat(pieces);
}

/** Messages with some bytes changed, cut anywhere, and plain bytes. */
export function broken(messages: readonly Buffer[]): fc.Arbitrary<Buffer> {
  const damaged = fc
    .tuple(fc.constantFrom(...messages), fc.array(fc.tuple(fc.nat(1200), fc.nat(255)), { maxLength: 8 }), fc.nat(1200))
    .map(([message, changes, length]) => {
      const copy = Buffer.from(message);
      for (const [at, value] of changes) copy[at % copy.length] = value;
      return copy.subarray(0, length);
    });
  return fc.oneof(
    damaged,
    fc.uint8Array({ maxLength: 700 }).map((bytes) => Buffer.from(bytes)),
  );
}
