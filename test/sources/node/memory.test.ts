import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { meminfo, memoryUsed, parseMeminfo } from '../../../src/sources/node/meminfo';
import { numa, parseNodeMeminfo, parseNumastat } from '../../../src/sources/node/numa';
import { swap, swapReadings } from '../../../src/sources/node/swap';
import { parseVmstat, vmstat } from '../../../src/sources/node/vmstat';
import { pageSize } from '../../../src/sources/page-size';
import { garbage } from '../proc/fixtures';
import { assertReadings, layoutRoot, layoutText, readIn, table, whyNotIn } from './layouts';

const KIB = 1024;

describe('meminfo', () => {
  it('reads CentOS 7, in bytes', () => {
    const found = readIn('linux-3.10', meminfo);
    assertReadings(found, {
      meminfo_memtotal_bytes: 65769560 * KIB,
      meminfo_memavailable_bytes: 41234560 * KIB,
      meminfo_active_anon_bytes: 18000000 * KIB,
      meminfo_nfs_unstable_bytes: 16 * KIB,
      meminfo_hardwarecorrupted_bytes: 8 * KIB,
      meminfo_vmallocchunk_bytes: 34325399548 * KIB,
      meminfo_hugepages_total: 64,
      meminfo_hugepages_rsvd: 2,
      meminfo_hugepagesize_bytes: 2048 * KIB,
      meminfo_directmap1g_bytes: 53477376 * KIB,
      meminfo_percpu_bytes: undefined,
      meminfo_zswap_bytes: undefined,
      meminfo_used_bytes: (65769560 - 21205136 - 3184 - 19876540 - 1987656) * KIB,
    });
    assert.equal(found.meminfo_used_percent?.toFixed(3), (100 * (1 - 41234560 / 65769560)).toFixed(3));
  });

  it('reads the fields that later kernels add, and an Arm64 machine without DirectMap', () => {
    assertReadings(readIn('linux-6.18', meminfo), {
      meminfo_percpu_bytes: 760 * KIB,
      meminfo_filehugepages_bytes: 2048 * KIB,
      meminfo_kreclaimable_bytes: 163528 * KIB,
      meminfo_hardwarecorrupted_bytes: undefined,
    });
    assertReadings(readIn('linux-6.1-arm64', meminfo), {
      meminfo_hugepagesize_bytes: 512 * KIB * KIB,
      meminfo_cmafree_bytes: 61440 * KIB,
      meminfo_directmap4k_bytes: undefined,
    });
  });

  it('computes used memory without MemAvailable, and where the numbers do not add up', () => {
    const of = (text: string) => memoryUsed(parseMeminfo(text));
    assert.deepEqual(of('MemTotal: 100 kB\nMemFree: 20 kB\nBuffers: 5 kB\nCached: 25 kB\n'), {
      bytes: 50 * KIB,
      percent: 50,
    });
    assert.equal(of('MemTotal: 100 kB\nMemFree: 20 kB\nCached: 90 kB\n')?.bytes, 80 * KIB);
    assert.equal(of('MemTotal: 100 kB\nMemFree: 20 kB\nMemAvailable: 120 kB\n')?.percent, 0);
    assert.equal(of('MemTotal: 0 kB\nMemFree: 0 kB\n'), null);
    assert.equal(of('MemFree: 7 kB\n'), null);
  });

  it('says why it is unavailable', () => {
    assert.match(whyNotIn('linux-6.1-laptop', meminfo).unavailable, /^no .*\/proc\/meminfo$/);
  });
});

describe('vmstat', () => {
  it('turns KiB and pages into bytes', () => {
    assert.deepEqual(readIn('linux-3.10', vmstat), {
      vmstat_pgpgin_bytes: 987654321 * KIB,
      vmstat_pgpgout_bytes: 1234567890 * KIB,
      vmstat_pswpin_bytes: 1200 * 4096,
      vmstat_pswpout_bytes: 66800 * 4096,
      vmstat_pgfault: 12345678901,
      vmstat_pgmajfault: 345678,
    });
    assert.equal(readIn('linux-6.18', vmstat).vmstat_oom_kill, 2);
  });

  it('reads a machine with pages of 64 KiB', () => {
    assertReadings(readIn('linux-6.1-arm64', vmstat), {
      vmstat_pgpgin_bytes: 1000 * KIB,
      vmstat_pswpin_bytes: 30 * 65536,
    });
  });
});

describe('swap', () => {
  it('reads total, used and free swap, and the bytes that moved', () => {
    const found = readIn('linux-3.10', swap);
    assertReadings(found, {
      swap_total_bytes: 8388604 * KIB,
      swap_free_bytes: 8126460 * KIB,
      swap_used_bytes: 262144 * KIB,
      swap_in_bytes: 1200 * 4096,
      swap_out_bytes: 66800 * 4096,
    });
    assert.equal(found.swap_used_percent?.toFixed(3), '3.125');
    assert.equal(readIn('linux-6.1-arm64', swap).swap_out_bytes, 2048 * 65536);
  });

  it('is 0 percent used where there is no swap', () => {
    assertReadings(readIn('linux-6.18', swap), { swap_total_bytes: 0, swap_used_bytes: 0, swap_used_percent: 0 });
  });

  it('reads the sizes without vmstat', () => {
    const readings = swapReadings('SwapTotal: 8 kB\nSwapFree: 9 kB\n', '', 4096);
    assert.ok(readings !== null);
    assert.deepEqual(table(readings), {
      swap_total_bytes: 8192,
      swap_free_bytes: 9216,
      swap_used_bytes: 0,
      swap_used_percent: 0,
    });
    assert.equal(swapReadings('', 'pswpin 3\n', 4096), null);
  });
});

describe('numa', () => {
  it('reads memory and allocations of each node', () => {
    const found = readIn('linux-3.10', numa);
    assertReadings(found, {
      'numa_total_bytes{0}': 33418300 * KIB,
      'numa_free_bytes{1}': 11095136 * KIB,
      'numa_used_bytes{1}': (32351260 - 11095136) * KIB,
      'numa_miss{0}': 12000,
      'numa_foreign{1}': 12000,
      'numa_other{0}': 13000,
    });
    assert.equal(Object.keys(found).length, 22);
    assert.equal(readIn('linux-6.18', numa)['numa_hit{0}'], 238490921);
    assert.match(whyNotIn('linux-6.1-arm64', numa).unavailable, /^no memory nodes below /);
  });
});

describe('pageSize', () => {
  it('comes from the auxiliary vector, else is 4 KiB', () => {
    assert.equal(pageSize(`${layoutRoot('linux-6.1-arm64')}/proc`), 65536);
    assert.equal(pageSize(`${layoutRoot('linux-6.18')}/proc`), 4096);
    assert.ok([4096, 16384, 65536].includes(pageSize()));
  });
});

describe('parsers of memory files', () => {
  it('yield finite figures, none negative, from garbage', () => {
    const texts = ['meminfo', 'vmstat'].map((name) => Buffer.from(layoutText('linux-3.10', `proc/${name}`)));
    const node = ['meminfo', 'numastat'].map((name) =>
      Buffer.from(layoutText('linux-3.10', `sys/devices/system/node/node0/${name}`)),
    );
    fc.assert(
      fc.property(garbage(...texts, ...node), (bytes) => {
        const text = bytes.toString('utf8');
        for (const values of [parseMeminfo(text), parseVmstat(text, 4096), parseNodeMeminfo(text), parseNumastat(text)])
          for (const value of values.values()) assert.ok(Number.isFinite(value) && value >= 0);
        const used = memoryUsed(parseMeminfo(text));
        assert.ok(used === null || (used.percent >= 0 && used.percent <= 100 && used.bytes >= 0));
        for (const { value } of swapReadings(text, text, 4096) ?? []) assert.ok(Number.isFinite(value) && value >= 0);
      }),
    );
  });
});
