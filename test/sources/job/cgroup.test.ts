import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { packageRoot } from '../../../src/base/package-root';
import { cgroupFacts, openCgroup, type CgroupDirectories, type OpenCgroup } from '../../../src/sources/job/cgroup';
import {
  CGROUP_METRICS,
  cgroupReadings,
  NOTHING_READ,
  type CgroupReading,
} from '../../../src/sources/job/cgroup-reading';
import { parseBlkio, readingOfV1 } from '../../../src/sources/job/cgroup-v1';
import {
  intervalPeaks,
  openPeak,
  parseIoStat,
  readingOfV2,
  type ResettablePeak,
} from '../../../src/sources/job/cgroup-v2';
import { isUnavailable } from '../../../src/sources/source';
import { temporaryDirectory } from '../../support/temporary-directory';

const FIXTURES = join(packageRoot(), 'test', 'fixtures', 'cgroup');
const MIB = 1024 * 1024;

const unified = (tree: string): CgroupDirectories => ({ version: 2, directory: join(FIXTURES, tree) });
const el7: CgroupDirectories = {
  version: 1,
  memory: join(FIXTURES, 'v1-3.10', 'memory', 'sge'),
  cpuacct: join(FIXTURES, 'v1-3.10', 'cpu,cpuacct', 'sge'),
  cpu: join(FIXTURES, 'v1-3.10', 'cpu,cpuacct', 'sge'),
  blkio: join(FIXTURES, 'v1-3.10', 'blkio', 'sge'),
  pids: null,
};
const late = (controller: string): string => join(FIXTURES, 'v1-6.18', controller, 'job');
const lateV1: CgroupDirectories = {
  version: 1,
  memory: late('memory'),
  cpuacct: late('cpuacct'),
  cpu: late('cpu'),
  blkio: late('blkio'),
  pids: late('pids'),
};

/** A /sys in which 253:0 lies on sda. */
function sysTree(): string {
  const sys = temporaryDirectory();
  mkdirSync(join(sys, 'dev', 'block', '253:0', 'slaves', 'sda'), { recursive: true });
  mkdirSync(join(sys, 'dev', 'block', '8:0', 'slaves'), { recursive: true });
  return sys;
}

function opened(directories: CgroupDirectories, sys = '/no/such/sys'): OpenCgroup {
  const group = openCgroup(directories, { sys });
  assert.ok(!isUnavailable(group));
  return group;
}

function readingOf(directories: CgroupDirectories, sys?: string): CgroupReading {
  const reading = opened(directories, sys).read();
  assert.ok(!isUnavailable(reading));
  return reading;
}

describe('cgroup v2', () => {
  it('has a peak of memory but none of swap on Linux 6.1', () => {
    assert.deepEqual(readingOf(unified('v2-6.1'), sysTree()), {
      ...NOTHING_READ,
      memoryBytes: 7163904,
      peakBytes: 31469568,
      anonBytes: 0,
      shmemBytes: 5 * MIB,
      fileBytes: 6602752 - 5 * MIB,
      kernelBytes: 69632,
      swapBytes: 0,
      swapCachedBytes: 0,
      cpuUsageSeconds: 1.731629,
      userSeconds: 0.235939,
      systemSeconds: 1.495689,
      // Of sda alone: 253:0 lies on it, 7:1 is a loop device.
      ioReadBytes: 20 * MIB,
      ioWriteBytes: 4096,
      tasks: 0,
      tasksPeak: 4,
      oomKills: 0,
      oomEvents: 0,
      highEvents: 0,
      maxEvents: 0,
      refaults: 0,
      memoryStalledSeconds: 0,
      memoryFullyStalledSeconds: 0,
      cpuStalledSeconds: 0.050206,
      ioStalledSeconds: 0,
      ioFullyStalledSeconds: 0,
    });
  });

  it('has no peak and no stalls on Linux 5.14 (el9), and kernel memory is the sum of its parts', () => {
    const reading = readingOf(unified('v2-5.14'));
    assert.equal(reading.peakBytes, null);
    assert.equal(reading.tasksPeak, null);
    assert.equal(reading.memoryStalledSeconds, null);
    assert.equal(reading.kernelBytes, 1179648 + 5242880 + 288000 + 14680064);
    assert.equal(reading.memoryLimitBytes, 4096 * MIB);
    assert.equal(reading.swapLimitBytes, 0);
    assert.equal(reading.throttledSeconds, 4.5);
    assert.deepEqual([reading.oomKills, reading.oomEvents, reading.maxEvents, reading.highEvents], [1, 2, 17, 3]);
    assert.equal(reading.ioReadBytes, 1048576000);
  });

  it('has peaks of memory and swap on Linux 6.18', () => {
    const reading = readingOf(unified('v2-6.18'));
    assert.equal(reading.peakBytes, 9216 * MIB);
    assert.equal(reading.swapPeakBytes, 512 * MIB);
    assert.equal(reading.memoryLimitBytes, null);
    assert.equal(reading.kernelBytes, 128 * MIB);
    assert.equal(reading.memoryFullyStalledSeconds, 0.9);
    assert.equal(reading.cpuStalledSeconds, 60);
    assert.equal(reading.tasksPeak, 130);
    assert.equal(reading.oomKills, 2);
  });

  it('is unavailable where it does not exist, and after it has vanished', () => {
    assert.match(JSON.stringify(openCgroup(unified('none'), { sys: '/sys' })), /no .*cgroup\.procs/);
    const copy = temporaryDirectory();
    cpSync(join(FIXTURES, 'v2-6.1'), copy, { recursive: true });
    const group = opened({ version: 2, directory: copy });
    assert.ok(!isUnavailable(group.read()));
    rmSync(copy, { recursive: true });
    assert.ok(isUnavailable(group.read()));
    group.close();
  });

  it('keeps the bytes of a disk that is removed', () => {
    const copy = temporaryDirectory();
    cpSync(join(FIXTURES, 'v2-6.1'), copy, { recursive: true });
    const group = opened({ version: 2, directory: copy });
    const amounts = (...lines: readonly string[]): readonly (number | null)[] => {
      writeFileSync(join(copy, 'io.stat'), lines.map((line) => `${line} rios=1 wios=1 dbytes=0 dios=0\n`).join(''));
      const reading = group.read();
      return isUnavailable(reading) ? [] : [reading.ioReadBytes, reading.ioWriteBytes];
    };
    assert.deepEqual(amounts('8:0 rbytes=10 wbytes=20', '8:16 rbytes=100 wbytes=200'), [110, 220]);
    assert.deepEqual(amounts('8:0 rbytes=11 wbytes=21'), [111, 221]);
    group.close();
  });

  it('has no peak to reset where memory.peak is no file of the kernel, and does not write to it', () => {
    const directory = temporaryDirectory();
    const path = join(directory, 'memory.peak');
    writeFileSync(path, '4096\n');
    assert.equal(openPeak(path), null);
    assert.equal(readFileSync(path, 'utf8'), '4096\n');
  });
});

describe('cgroup v1', () => {
  it('counts CPU time beyond 2^53 ns', () => {
    const files = new Map([
      ['cpuacct.usage', '20000000000000000\n'],
      ['cpu.stat', 'nr_periods 1\nthrottled_time 30000000000000000\n'],
    ]);
    const { cpuUsageSeconds, throttledSeconds } = readingOfV1(
      (_group, name) => files.get(name) ?? null,
      () => [],
      null,
    );
    assert.deepEqual([cpuUsageSeconds, throttledSeconds], [2e7, 3e7]);
  });

  it('includes the groups below on Linux 3.10 (el7), which has no OOM kills and no shared memory', () => {
    assert.deepEqual(readingOf(el7, sysTree()), {
      ...NOTHING_READ,
      memoryBytes: 1536 * MIB,
      peakBytes: 2048 * MIB,
      anonBytes: 1024 * MIB,
      fileBytes: 512 * MIB,
      kernelBytes: 0,
      swapBytes: 100 * MIB,
      memorySwapPeakBytes: 2148 * MIB,
      cpuUsageSeconds: 987.654321012,
      userSeconds: 900,
      systemSeconds: 87.65,
      throttledSeconds: 0,
      ioReadBytes: MIB,
      ioWriteBytes: MIB / 2,
      maxEvents: 0,
    });
  });

  it('adds the OOM kills of the groups below on Linux 6.18', () => {
    const reading = readingOf(lateV1);
    assert.equal(reading.oomKills, 4);
    assert.equal(reading.shmemBytes, 0);
    assert.equal(reading.memoryLimitBytes, null);
    assert.equal(reading.tasksPeak, 4);
    assert.equal(reading.refaults, 5);
    assert.ok((reading.peakBytes ?? 0) > 28 * MIB);
    // No disk was counted: that is not the same as nothing read.
    assert.equal(reading.ioReadBytes, null);
  });

  it('says whether peaks cover the groups below', () => {
    assert.equal(opened(lateV1).coversSubgroups(), true);
    const copy = temporaryDirectory();
    cpSync(late('memory'), copy, { recursive: true });
    writeFileSync(join(copy, 'memory.use_hierarchy'), '0\n');
    assert.equal(opened({ ...lateV1, memory: copy }).coversSubgroups(), false);
    rmSync(join(copy, 'inner'), { recursive: true });
    assert.equal(opened({ ...lateV1, memory: copy }).coversSubgroups(), true);
  });

  it('is unavailable without anything to read', () => {
    const nothing = { version: 1, memory: '/no/such', cpuacct: null, cpu: null, blkio: null, pids: null } as const;
    assert.ok(isUnavailable(openCgroup(nothing, { sys: '/sys' })));
  });
});

describe('peaks of intervals', () => {
  /** A group whose usage and peaks are kept as the kernel keeps them. */
  function kernel(): {
    use: (bytes: number) => void;
    peak: ResettablePeak;
    lifetime: () => number;
    onReset: (then: () => void) => void;
  } {
    let [usage, mark, lifetime] = [0, 0, 0];
    let surprise = (): void => undefined;
    const use = (bytes: number): void => {
      usage = bytes;
      mark = Math.max(mark, bytes);
      lifetime = Math.max(lifetime, bytes);
    };
    return {
      use,
      lifetime: () => lifetime,
      onReset: (then) => {
        surprise = then;
      },
      peak: {
        read: () => mark,
        reset: () => {
          surprise();
          surprise = () => undefined;
          mark = usage;
          return true;
        },
        close: () => undefined,
      },
    };
  }

  it('are the highest usage of each interval, its start included', () => {
    fc.assert(
      fc.property(fc.array(fc.array(fc.nat(1000), { maxLength: 5 }), { maxLength: 10 }), (intervals) => {
        const { use, peak, lifetime } = kernel();
        const next = intervalPeaks(peak, lifetime);
        let last = 0;
        for (const uses of intervals) {
          for (const bytes of uses) use(bytes);
          assert.equal(next(), Math.max(last, ...uses));
          last = uses.at(-1) ?? last;
        }
      }),
    );
  });

  it('do not miss a lifetime peak between reading and reset', () => {
    const { use, peak, lifetime, onReset } = kernel();
    const next = intervalPeaks(peak, lifetime);
    use(100);
    onReset(() => {
      use(900);
      use(50);
    });
    assert.equal(next(), 900);
    assert.equal(next(), 50);
  });

  it('are null once the group has gone', () => {
    const { peak, lifetime } = kernel();
    assert.equal(intervalPeaks({ ...peak, reset: () => false }, lifetime)(), null);
    assert.equal(intervalPeaks({ ...peak, read: () => null }, lifetime)(), null);
  });
});

describe('metrics of a cgroup', () => {
  it('are one for each field of a reading', () => {
    assert.equal(CGROUP_METRICS.length, Object.keys(NOTHING_READ).length);
    assert.equal(new Set(CGROUP_METRICS.map((metric) => metric.name)).size, CGROUP_METRICS.length);
    for (const metric of CGROUP_METRICS) {
      assert.match(metric.name, /^cgroup_[a-z_]+$/);
      assert.equal(metric.scope, 'job');
      if (metric.unit !== 'count') assert.ok(metric.name.endsWith(`_${metric.unit}`), metric.name);
    }
    assert.equal(cgroupFacts.metrics, CGROUP_METRICS);
  });

  it('leave out fields that are null', () => {
    assert.deepEqual(cgroupReadings(NOTHING_READ), []);
    assert.deepEqual(cgroupReadings({ ...NOTHING_READ, peakBytes: 4096, oomKills: 0 }), [
      { metric: 'cgroup_peak_bytes', instance: '', value: 4096 },
      { metric: 'cgroup_oom_kills', instance: '', value: 0 },
    ]);
  });
});

describe('garbage in cgroup files', () => {
  const texts = ['v2-6.1', 'v2-6.18', 'v2-5.14'].flatMap((tree) =>
    ['memory.stat', 'cpu.stat', 'io.stat', 'memory.events', 'memory.current'].map((name) =>
      readFileSync(join(FIXTURES, tree, name), 'utf8'),
    ),
  );
  const piece = fc.oneof(
    fc.string(),
    fc
      .tuple(fc.constantFrom(...texts), fc.nat(900), fc.nat(900))
      .map(([text, from, to]) => text.slice(from, from + to)),
    fc.constantFrom(
      'anon -1\n',
      '8:0 Read 18446744073709551615\n',
      'max',
      '99999999999999999999',
      'total=',
      ' rbytes=x',
    ),
  );
  const text = fc.oneof(
    fc.constant(null),
    fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join('')),
  );

  it('yields finite figures, none negative, or null', () => {
    const assertSane = (reading: CgroupReading): void => {
      for (const [field, value] of Object.entries(reading))
        assert.ok(value === null || (Number.isFinite(value) && value >= 0), `${field} = ${value}`);
    };
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 40 }), (pieces) => {
        let at = 0;
        const next = (): string | null => pieces[at++ % pieces.length] ?? null;
        assertSane(readingOfV2(next, () => []));
        assertSane(readingOfV1(next, () => [], null));
        for (const amounts of [...parseIoStat(next()).values(), ...parseBlkio(next()).values()])
          assert.ok(amounts.read >= 0 && amounts.written >= 0);
      }),
    );
  });
});
