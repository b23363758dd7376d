import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseMountstats, parseNfsDevices } from '../../../src/sources/node/mountstats';
import { nfs } from '../../../src/sources/node/nfs';
import { isUnavailable } from '../../../src/sources/source';
import { garbageText } from './garbage';
import { emptyTree, opened, plant, values } from './tree';

// No NFS mount was at hand: fixture trees of NFS 3 on an old kernel and of 4.2 with statistics of version 1.1.
describe('nfs', () => {
  it('reads each file system once, under the first place where it is mounted', (t) => {
    const all = values(opened(t, nfs, plant('grace-linux-6.8').place())());
    assert.deepEqual(Object.fromEntries(Object.entries(all).filter(([name]) => name.endsWith(' /home/alice'))), {
      'nfs_read_bytes /home/alice': 812345678,
      'nfs_write_bytes /home/alice': 20004096,
      'nfs_direct_read_bytes /home/alice': 4096,
      'nfs_direct_write_bytes /home/alice': 8192,
      'nfs_server_read_bytes /home/alice': 790000000,
      'nfs_server_write_bytes /home/alice': 18000000,
      'nfs_operations /home/alice': 260341,
      'nfs_read_operations /home/alice': 193000,
      'nfs_write_operations /home/alice': 4600,
      'nfs_getattr_operations /home/alice': 62000,
      'nfs_retransmissions /home/alice': 5,
      'nfs_timeouts /home/alice': 1,
      'nfs_errors /home/alice': 33,
      'nfs_queue_seconds /home/alice': 1.541,
      'nfs_round_trip_seconds /home/alice': 54.421,
      'nfs_call_seconds /home/alice': 60.753,
    });
    assert.deepEqual(
      [...new Set(Object.keys(all).map((name) => name.slice(name.indexOf(' ') + 1)))],
      ['/home/alice', '/opt/my apps'],
    );
  });

  it('reads NFS 3 of an old kernel, which counts no errors', (t) => {
    const all = values(opened(t, nfs, plant('old-linux-3.10').place())());
    assert.equal(all['nfs_read_bytes /home'], 11);
    assert.equal(all['nfs_server_write_bytes /home'], 66);
    assert.equal(all['nfs_operations /home'], 130);
    assert.equal(all['nfs_retransmissions /home'], 2);
    assert.equal(all['nfs_round_trip_seconds /home'], 1.05);
    assert.equal(all['nfs_errors /home'], undefined);
  });

  it('is unavailable without NFS, but waits for an automounter', (t) => {
    const none = nfs.open(plant('desktop-linux-6.8').place());
    assert.ok(isUnavailable(none));
    assert.equal(none.unavailable, 'no NFS file system is mounted');
    const tree = emptyTree();
    tree.write('proc/self/mountstats', 'device auto.home mounted on /home with fstype autofs\n');
    const read = opened(t, nfs, tree.place());
    assert.deepEqual(read(), []);
    const alice = readFileSync(join(plant('grace-linux-6.8').root, 'proc/self/mountstats'), 'utf8');
    tree.write('proc/self/mountstats', alice);
    assert.equal(values(read())['nfs_read_operations /home/alice'], 193000);
    tree.remove('proc');
    assert.ok(isUnavailable(read()));
  });
});

describe('parseMountstats', () => {
  it('reads no figures that are cut, and finite figures from garbage', () => {
    const tree = plant('grace-linux-6.8');
    const text = readFileSync(join(tree.root, 'proc/self/mountstats'), 'utf8');
    const [whole] = parseMountstats(text);
    for (let length = 0; length < text.length; length += 1) {
      const [cut] = parseMountstats(text.slice(0, length));
      if (cut === undefined) continue;
      assert.deepEqual(cut.bytes, whole?.bytes);
      assert.deepEqual(cut.operations, whole?.operations.slice(0, cut.operations.length));
    }
    fc.assert(
      fc.property(garbageText(text), (odd) => {
        for (const { bytes, operations } of parseMountstats(odd)) {
          assert.ok(Object.values(bytes).every((value) => Number.isFinite(value) && value >= 0));
          for (const { name, errors, ...counts } of operations) {
            assert.match(name, /^\w+$/);
            assert.ok([errors ?? 0, ...Object.values(counts)].every((value) => Number.isFinite(value) && value >= 0));
          }
        }
        for (const device of parseNfsDevices(odd).values()) assert.match(device, /^\d+:\d+$/);
      }),
    );
  });
});
