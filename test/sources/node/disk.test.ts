import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { disk, diskReadings, isCounted, parseDiskstats } from '../../../src/sources/node/disk';
import { diskusage, diskusageReadings } from '../../../src/sources/node/diskusage';
import { mounts, parseFilesystems, parseMounts } from '../../../src/sources/node/mounts';
import { isUnavailable, THIS_MACHINE } from '../../../src/sources/source';
import { statvfs } from '../../../src/native/statvfs';
import { garbage } from '../proc/fixtures';
import { assertReadings, layoutRoot, layoutText, placeAt, readIn, table, whyNotIn } from './layouts';

const devices = (found: Readonly<Record<string, number>>): readonly string[] => [
  ...new Set(Object.keys(found).map((key) => key.replace(/^.*\{|\}$/g, ''))),
];

describe('disk', () => {
  it('reads the 14 fields of CentOS 7', () => {
    const found = readIn('linux-3.10', disk);
    assertReadings(found, {
      'disk_reads{sda}': 1203456,
      'disk_reads_merged{sda}': 2345,
      'disk_read_bytes{sda}': 98765432 * 512,
      'disk_read_seconds{sda}': 4567.89,
      'disk_writes{sda}': 7654321,
      'disk_writes_merged{sda}': 876543,
      'disk_written_bytes{sda}': 345678902 * 512,
      'disk_write_seconds{sda}': 98765.432,
      'disk_in_flight{sda}': 3,
      'disk_busy_seconds{sda}': 23456.789,
      'disk_discards{sda}': undefined,
    });
    assert.equal(found['disk_queue_seconds{sda}']?.toFixed(3), '103333.322');
  });

  it('counts each byte once: no partitions, volumes upon disks, optical drives', () => {
    assert.deepEqual(devices(readIn('linux-3.10', disk)), ['sda', 'cciss/c0d0']);
    assert.deepEqual(devices(readIn('linux-6.18', disk)), ['vda']);
    assert.deepEqual(devices(readIn('linux-6.1-arm64', disk)), ['nvme0n1']);
    const found = devices(readIn('linux-3.10', disk, { options: { left_out: [] } }));
    assert.deepEqual(found, ['sda', 'cciss/c0d0', 'sr0', 'dm-0', 'dm-1']);
  });

  it('reads the 20 fields from Linux 5.5 on, and the 18 from 4.18 on', () => {
    const found = readIn('linux-6.18', disk);
    assertReadings(found, {
      'disk_discards{vda}': 567700,
      'disk_discards_merged{vda}': 78,
      'disk_discarded_bytes{vda}': 24032312 * 512,
      'disk_discard_seconds{vda}': 49.043,
      'disk_flushes{vda}': 128437,
      'disk_flush_seconds{vda}': 6.39,
    });
    const rhel8 = parseDiskstats('   8       0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n');
    const readings = table(diskReadings(rhel8));
    assert.equal(readings['disk_discard_seconds{sda}'], 0.015);
    assert.equal('disk_flushes{sda}' in readings, false);
  });

  it('leaves out devices by the beginning of a name before a digit', () => {
    const blocks = new Set(['mdraid', 'md0', 'sda']);
    assert.equal(isCounted('md0', blocks, ['md']), false);
    assert.equal(isCounted('mdraid', blocks, ['md']), true);
    assert.equal(isCounted('sda1', blocks, []), false);
  });

  it('says why it is unavailable', () => {
    assert.match(whyNotIn('linux-6.1-laptop', disk).unavailable, /^no .*diskstats$/);
    const why = whyNotIn('linux-6.18', disk, { options: { left_out: ['loop', 'zram', 'vda', 'v'] }, sys: '/nowhere' });
    assert.match(why.fix ?? '', /left_out/);
  });
});

describe('diskusage', () => {
  it('computes used space and percent as df does, in the unit of statvfs', () => {
    const size = { unit: 4096, blocks: 1000, free: 400, available: 300, inodes: 200, freeInodes: 150 };
    assert.deepEqual(table(diskusageReadings('/scratch', size)), {
      'diskusage_total_bytes{/scratch}': 4096000,
      'diskusage_used_bytes{/scratch}': 600 * 4096,
      'diskusage_free_bytes{/scratch}': 400 * 4096,
      'diskusage_available_bytes{/scratch}': 300 * 4096,
      'diskusage_used_percent{/scratch}': 60000 / 900,
      'diskusage_inodes{/scratch}': 200,
      'diskusage_inodes_free{/scratch}': 150,
      'diskusage_inodes_used_percent{/scratch}': 25,
    });
  });

  it('leaves out inodes and percentages where a file system has none', () => {
    const size = { unit: 4096, blocks: 0, free: 0, available: 0, inodes: 0, freeInodes: 0 };
    assert.equal(Object.keys(table(diskusageReadings('/proc', size))).length, 4);
  });

  it('reads the paths that are configured, and leaves out those that are gone', () => {
    const open = diskusage.open({ ...THIS_MACHINE, options: { paths: ['/', '/no/such/path'] } });
    assert.ok(!isUnavailable(open));
    const found = table(open.read());
    const total = found['diskusage_total_bytes{/}'] ?? 0;
    assert.ok(total > 0 && (found['diskusage_used_bytes{/}'] ?? 0) <= total);
    assert.equal(
      Object.keys(found).some((key) => key.includes('/no/such/path')),
      false,
    );
  });

  it('looks below the given root, and says what is wrong with the paths', () => {
    const at = (paths: readonly string[]) =>
      diskusage.open(placeAt(layoutRoot('linux-3.10'), diskusage, { options: { paths } }));
    assert.equal(isUnavailable(at(['/proc'])), false);
    assert.deepEqual(at(['/nowhere']), {
      unavailable: 'none of /nowhere exists',
      fix: 'fix paths of [sources.diskusage]',
    });
    assert.equal(isUnavailable(at([])), true);
  });

  it('reads figures through the C library, which throws its errno', () => {
    assert.ok(statvfs('/').unit >= 512);
    assert.throws(() => statvfs('/no/such/path'), { name: 'LibcError', errno: 2 });
  });
});

describe('mounts', () => {
  it('counts all mounts, those on devices and those of network file systems', () => {
    assert.deepEqual(readIn('linux-3.10', mounts), { mounts_all: 9, mounts_partitions: 2, mounts_network: 2 });
    assert.deepEqual(readIn('linux-6.18', mounts), { mounts_all: 5, mounts_partitions: 1, mounts_network: 0 });
  });
});

describe('parsers of disk files', () => {
  it('yield finite figures, none negative, from garbage', () => {
    const texts = ['diskstats', 'self/mounts', 'filesystems'].map((name) =>
      Buffer.from(layoutText('linux-3.10', `proc/${name}`)),
    );
    fc.assert(
      fc.property(garbage(...texts), (bytes) => {
        const text = bytes.toString('utf8');
        for (const { value } of diskReadings(parseDiskstats(text))) assert.ok(Number.isFinite(value) && value >= 0);
        parseFilesystems(text);
        parseMounts(text);
      }),
    );
  });
});
