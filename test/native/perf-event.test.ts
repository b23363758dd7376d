import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it, type TestContext } from 'node:test';
import fc from 'fast-check';
import { explainPerfError, PerfErrno, perfEventParanoid } from '../../src/native/perf-error';
import {
  openCpuCounter,
  packAttributes,
  perfCalls,
  unpackCount,
  type PerfCount,
  type PerfRequest,
} from '../../src/native/perf-event';

const PAGE_FAULTS: PerfRequest = {
  type: 1,
  config: 2n,
  config1: 0n,
  config2: 0n,
  pid: 0,
  cpu: -1,
  group: -1,
  inherit: false,
  disabled: false,
  userOnly: false,
};

/** Descriptor of a counter of this thread; null, with the reason printed, where the kernel refuses. */
function opened(t: TestContext, request: Partial<PerfRequest> = {}): number | null {
  const fd = perfCalls.open({ ...PAGE_FAULTS, ...request });
  if (fd < 0) {
    t.skip(explainPerfError(-fd, 'a counter of page faults').unavailable);
    return null;
  }
  t.after(() => perfCalls.close(fd));
  return fd;
}

function read(fd: number): PerfCount {
  const count = perfCalls.read(fd);
  assert.ok(count !== null);
  return count;
}

const touch = (pages: number): Buffer => {
  const memory = Buffer.allocUnsafeSlow(pages * 4096);
  for (let at = 0; at < memory.length; at += 4096) memory[at] = 1;
  return memory;
};

describe('packAttributes', () => {
  const request: PerfRequest = {
    ...PAGE_FAULTS,
    type: 4,
    config: 0x1122334455667788n,
    config1: 0x11n,
    config2: 0x22n,
    disabled: true,
    inherit: true,
    userOnly: true,
  };

  it('lays out the struct as in linux/perf_event.h', () => {
    const bytes = packAttributes(request, 'LE');
    assert.equal(bytes.readUInt32LE(0), 4);
    assert.equal(bytes.readUInt32LE(4), bytes.length);
    assert.equal(bytes.length, 72);
    assert.equal(bytes.readBigUInt64LE(8), 0x1122334455667788n);
    assert.equal(bytes.readBigUInt64LE(16), 0n, 'no sampling');
    assert.equal(bytes.readBigUInt64LE(32), 3n, 'time enabled and running');
    assert.equal(bytes.readBigUInt64LE(40), 0b1100011n);
    assert.equal(bytes.readBigUInt64LE(56), 0x11n);
    assert.equal(bytes.readBigUInt64LE(64), 0x22n);
  });

  it('fills bit fields from the top on a big-endian machine (s390x)', () => {
    const bytes = packAttributes(request, 'BE');
    assert.equal(bytes.readUInt32BE(0), 4);
    assert.equal(bytes[40], 0b11000110);
    assert.equal(bytes.readBigUInt64BE(8), 0x1122334455667788n);
  });
});

describe('unpackCount', () => {
  it('reads three 64-bit words in either byte order', () => {
    const words = fc.bigInt(0n, 2n ** 64n - 1n);
    fc.assert(
      fc.property(words, words, words, (raw, enabled, running) => {
        const expected = { raw: Number(raw), enabledNs: Number(enabled), runningNs: Number(running) };
        const bytes = Buffer.alloc(24);
        [raw, enabled, running].forEach((word, index) => bytes.writeBigUInt64LE(word, index * 8));
        assert.deepEqual(unpackCount(bytes, 24, 'LE'), expected);
        [raw, enabled, running].forEach((word, index) => bytes.writeBigUInt64BE(word, index * 8));
        assert.deepEqual(unpackCount(bytes, 24, 'BE'), expected);
      }),
    );
  });

  it('is null for fewer bytes', () => {
    for (const length of [0, 8, 23]) assert.equal(unpackCount(Buffer.alloc(24), length), null);
  });
});

describe('perfCalls', () => {
  it('count the page faults of this thread', (t) => {
    const fd = opened(t);
    if (fd === null) return;
    const before = read(fd);
    const memory = touch(2000);
    const after = read(fd);
    assert.ok(after.raw - before.raw >= 2000 * 0.9, `${after.raw - before.raw} faults for ${memory.length} bytes`);
    assert.ok(after.enabledNs > before.enabledNs);
    assert.equal(after.enabledNs, after.runningNs);
  });

  it('start a leader and its group together', (t) => {
    const leader = opened(t, { disabled: true });
    if (leader === null) return;
    const member = opened(t, { config: 5n, group: leader });
    assert.ok(member !== null);
    touch(100);
    assert.equal(read(leader).raw, 0);
    assert.equal(read(member).raw, 0);
    perfCalls.enable(leader);
    touch(1000);
    assert.ok(read(leader).raw >= 900);
    assert.ok(read(member).raw >= 900);
  });

  it('return the errno', (t) => {
    if (opened(t) === null) return;
    const errno = (request: Partial<PerfRequest>): number => -perfCalls.open({ ...PAGE_FAULTS, ...request });
    assert.equal(errno({ pid: 2 ** 22 - 1 }), PerfErrno.ESRCH);
    assert.equal(errno({ type: 0x7fffffff }), PerfErrno.ENOENT);
    assert.equal(perfCalls.read(9999), null);
    perfCalls.close(9999);
  });

  it('open a descriptor that child processes do not inherit', (t) => {
    const fd = opened(t);
    if (fd === null) return;
    const [, flags] = /^flags:\s+(\d+)/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1')) ?? [];
    const O_CLOEXEC = 0o2000000;
    assert.equal(parseInt(flags ?? '0', 8) & O_CLOEXEC, O_CLOEXEC);
  });
});

describe('openCpuCounter', () => {
  it('counts for all processes on one CPU', (t) => {
    const CPU_CLOCK = { type: 1, config: 0 };
    const counter = openCpuCounter(CPU_CLOCK.type, CPU_CLOCK.config, 0);
    if ('unavailable' in counter) {
      t.skip(counter.unavailable);
      return;
    }
    const before = counter.read();
    touch(1000);
    assert.ok(counter.read() > before);
    counter.close();
  });

  it('says why it cannot count', () => {
    const refused = openCpuCounter(0x7fffffff, 2, 0);
    assert.ok('unavailable' in refused);
    assert.match(refused.unavailable, /^perf event 2147483647:0x2 on CPU 0: /);
  });

  it('keeps the last reading where the kernel gives none', () => {
    const readings = [5, 9];
    const calls = {
      ...perfCalls,
      open: () => 3,
      close: () => undefined,
      read: () => {
        const raw = readings.shift();
        return raw === undefined ? null : { raw, enabledNs: 1, runningNs: 1 };
      },
    };
    const counter = openCpuCounter(21, 2n, 0, calls);
    assert.ok(!('unavailable' in counter));
    assert.deepEqual([counter.read(), counter.read(), counter.read()], [5, 9, 9]);
  });
});

describe('explainPerfError', () => {
  it('has words for known errors, the errno for others, and a fix where there is one', () => {
    const why = (errno: number): string => explainPerfError(errno, 'it', 3).unavailable;
    for (const [name, errno] of Object.entries(PerfErrno)) assert.doesNotMatch(why(errno), /errno/, name);
    assert.equal(why(PerfErrno.EACCES), 'it: permission denied (kernel.perf_event_paranoid is 3)');
    assert.equal(why(PerfErrno.ENOENT), 'it: this CPU has no such counter');
    assert.equal(why(12), 'it: errno 12');
    assert.match(explainPerfError(PerfErrno.EMFILE, 'it').fix ?? '', /limit of open files/);
  });

  it('reads kernel.perf_event_paranoid, null where that is missing', () => {
    assert.equal(perfEventParanoid('/nonexistent'), null);
    assert.ok(Number.isInteger(perfEventParanoid() ?? 0));
  });
});
