import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  hasGroup,
  isBeingKilled,
  parentPid,
  parseStatusMemory,
  realUid,
  supplementaryGroups,
} from '../../../src/sources/proc/status';
import { fixture, garbage, inUsedBuffer, KERNEL_THREAD, KERNELS, prefixes, PROCESS, ZOMBIE } from './fixtures';

const memoryOf = (text: Buffer | string): ReturnType<typeof parseStatusMemory> =>
  parseStatusMemory(...inUsedBuffer(text));

describe('parseStatusMemory', () => {
  it('reads the memory lines of each kernel', () => {
    assert.deepEqual(memoryOf(fixture('4.18', PROCESS, 'status')), {
      vmPeak: 2130448,
      vmSize: 2130448,
      vmHwm: 900384,
      vmRss: 880108,
      rssAnon: 870000,
      rssFile: 9908,
      rssShmem: 200,
      vmSwap: 0,
    });
    assert.deepEqual(memoryOf(fixture('5.14', PROCESS, 'status')), {
      vmPeak: 67108864,
      vmSize: 67000000,
      vmHwm: 52428800,
      vmRss: 52400000,
      rssAnon: 52000000,
      rssFile: 100000,
      rssShmem: 300000,
      vmSwap: 1048576,
    });
    for (const kernel of ['6.1', '6.18'] as const) {
      const memory = memoryOf(fixture(kernel, PROCESS, 'status'));
      assert.ok(memory !== null);
      assert.equal(memory.rssAnon + memory.rssFile + memory.rssShmem, memory.vmRss);
    }
  });

  it('has no kinds of pages before Linux 4.5', () => {
    assert.deepEqual(memoryOf(fixture('3.10', PROCESS, 'status')), {
      vmPeak: 1452388,
      vmSize: 1362696,
      vmHwm: 134316,
      vmRss: 112884,
      rssAnon: 0,
      rssFile: 0,
      rssShmem: 0,
      vmSwap: 20,
    });
  });

  it('ignores unknown lines, and accepts another order', () => {
    const text = fixture('6.1', PROCESS, 'status').toString();
    const block = text.split('\n').filter((line) => /^(Vm|Rss)/.test(line));
    const [peak, ...others] = block;
    assert.ok(peak !== undefined);
    const swap = others.pop();
    const reordered = [peak, 'VmPMD:\t 12 kB', 'RssNew:\t 5 kB', ...others.reverse(), swap].join('\n');
    assert.deepEqual(memoryOf(text.replace(block.join('\n'), reordered)), memoryOf(text));
  });

  it('reads 0 swap where the kernel has no swap line', () => {
    const text = fixture('6.1', PROCESS, 'status')
      .toString()
      .replace(/VmSwap:.*\n/, '');
    assert.equal(memoryOf(text)?.vmSwap, 0);
    assert.equal(memoryOf(text)?.vmRss, 80000);
  });

  it('returns null for kernel threads and zombies', () => {
    for (const kernel of KERNELS)
      for (const pid of [KERNEL_THREAD, ZOMBIE]) assert.equal(memoryOf(fixture(kernel, pid, 'status')), null);
  });

  it('returns null where the text is cut before the resident set', () => {
    const text = fixture('6.18', PROCESS, 'status');
    const end = text.indexOf('VmRSS:');
    for (const cut of prefixes(text).slice(0, end)) assert.equal(memoryOf(cut), null);
    assert.notEqual(memoryOf(text), null);
  });

  it('reads a terabyte and more', () => {
    const text = fixture('6.18', PROCESS, 'status').toString().replaceAll('1728 kB', '4398046511104 kB');
    assert.equal(memoryOf(text)?.vmRss, 2 ** 42);
  });

  it('yields numbers, none negative, or null from garbage', () => {
    fc.assert(
      fc.property(garbage(...KERNELS.map((kernel) => fixture(kernel, PROCESS, 'status'))), (bytes) => {
        const memory = memoryOf(bytes);
        return memory === null || Object.values(memory).every((value) => value >= 0);
      }),
    );
  });
});

describe('isBeingKilled', () => {
  const killed = (pending: string): boolean =>
    isBeingKilled(...inUsedBuffer(`Name:\tx\nSigQ:\t0/1\nSigPnd:\t${pending}\nShdPnd:\t0000000000000100\n`));

  it('sees SIGKILL among the signals that wait for the first thread', () => {
    for (const pending of ['0000000000000100', '0000000000000180', '8000000000000f00'])
      assert.equal(killed(pending), true, pending);
    for (const pending of ['0000000000000000', '0000000000000200', 'fffffffffffffeff'])
      assert.equal(killed(pending), false, pending);
  });

  it('sees no SIGKILL in the text of each kernel, nor where the line is missing or cut', () => {
    for (const kernel of KERNELS)
      assert.equal(isBeingKilled(...inUsedBuffer(fixture(kernel, PROCESS, 'status'))), false);
    for (const text of ['Name:\tx\n', 'Name:\tx\nSigPnd:\t0000000000000100'])
      assert.equal(isBeingKilled(...inUsedBuffer(text)), false);
  });
});

describe('hasGroup', () => {
  const status = (groups: string): string =>
    `Name:\tx\nFDSize:\t64\nGroups:\t${groups}\nVmPeak:\t 20007 kB\nThreads:\t20007\n`;
  const has = (groups: string, group: number): boolean => hasGroup(...inUsedBuffer(status(groups)), group);

  it('finds a group wherever it stands', () => {
    for (const groups of ['20007', '20007 ', '1 20007 3 ', '1 2 20007']) assert.equal(has(groups, 20007), true, groups);
  });

  it('does not match a part of a number, nor a number in another line', () => {
    for (const groups of ['', ' ', '120007', '200070', '2000 7', '39 203 1001 '])
      assert.equal(has(groups, 20007), false, groups);
  });

  it('finds the group in the text of each kernel', () => {
    for (const kernel of KERNELS) {
      for (const pid of [PROCESS, ZOMBIE])
        assert.equal(hasGroup(...inUsedBuffer(fixture(kernel, pid, 'status')), 20007), true);
      assert.equal(hasGroup(...inUsedBuffer(fixture(kernel, KERNEL_THREAD, 'status')), 20007), false);
    }
  });

  it('agrees with a plain search, for any list of groups', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(65535), { maxLength: 40 }), fc.nat(65535), (groups, group) => {
        assert.equal(has(groups.join(' '), group), groups.includes(group));
      }),
    );
  });
});

describe('parentPid and realUid', () => {
  it('read the text of each kernel', () => {
    for (const kernel of KERNELS) {
      const text = inUsedBuffer(fixture(kernel, PROCESS, 'status'));
      assert.equal(parentPid(...text), 4241);
      assert.equal(realUid(...text), 1001);
    }
  });

  it('return 0 and null where the line is missing', () => {
    assert.equal(parentPid(...inUsedBuffer('Name:\tx\n')), 0);
    assert.equal(realUid(...inUsedBuffer('Name:\tx\n')), null);
  });

  it('return no negative number, and throw nothing, for garbage', () => {
    fc.assert(
      fc.property(garbage(fixture('4.18', PROCESS, 'status')), (bytes) => {
        assert.ok(parentPid(...inUsedBuffer(bytes)) >= 0);
        assert.ok((realUid(...inUsedBuffer(bytes)) ?? 0) >= 0);
        hasGroup(...inUsedBuffer(bytes), 20007);
      }),
    );
  });
});

describe('supplementaryGroups', () => {
  const groupsOf = (text: Buffer | string): readonly number[] => supplementaryGroups(...inUsedBuffer(text));

  it('returns all groups, or none', () => {
    assert.deepEqual(
      groupsOf('Name:\tx\nGroups:\t4 24 41503 4294967295 \nVmPeak:\t1 kB\n'),
      [4, 24, 41503, 4294967295],
    );
    assert.deepEqual(groupsOf('Name:\tx\nGroups:\t \nVmPeak:\t1 kB\n'), []);
    assert.deepEqual(groupsOf('Name:\tx\n'), []);
  });

  it('returns the groups that hasGroup finds, on every kernel', () => {
    for (const kernel of KERNELS) {
      const text = fixture(kernel, PROCESS, 'status');
      for (const group of groupsOf(text)) assert.equal(hasGroup(...inUsedBuffer(text), group), true);
    }
    fc.assert(
      fc.property(
        fc.array(fc.nat({ max: 2 ** 32 - 1 }), { maxLength: 40 }),
        fc.nat({ max: 2 ** 32 - 1 }),
        (groups, other) => {
          const text = `Name:\tx\nGroups:\t${groups.join(' ')} \nVmPeak:\t1 kB\n`;
          assert.deepEqual(groupsOf(text), groups);
          assert.equal(hasGroup(...inUsedBuffer(text), other), groups.includes(other));
        },
      ),
    );
  });

  it('returns a list for any text', () => {
    fc.assert(
      fc.property(garbage(fixture('5.14', PROCESS, 'status')), (text) => assert.ok(Array.isArray(groupsOf(text)))),
    );
    for (const text of prefixes(fixture('5.14', PROCESS, 'status'))) assert.ok(Array.isArray(groupsOf(text)));
  });
});
