import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { lustre, parseLustreStats } from '../../../src/sources/node/lustre';
import { isUnavailable } from '../../../src/sources/source';
import { garbageText } from './garbage';
import { emptyTree, opened, plant, values } from './tree';

// No Lustre client was at hand: fixture trees of 2.5 and 2.15.
describe('lustre', () => {
  it('reads a client of 2.15 in debugfs, each mount for itself', (t) => {
    const all = values(opened(t, lustre, plant('xeon-2s-linux-5.14').place())());
    assert.equal(all['lustre_read_bytes scratch'], 93824729088);
    assert.equal(all['lustre_reads scratch'], 81234);
    assert.equal(all['lustre_write_bytes scratch'], 61203283968);
    assert.equal(all['lustre_writes scratch'], 40122);
    assert.equal(all['lustre_open scratch'], 20418);
    assert.equal(all['lustre_getattr scratch'], 993214);
    assert.equal(all['lustre_mkdir scratch'], 0, 'not yet happened');
    assert.equal(all['lustre_open home'], 12);
    assert.equal(all['lustre_read_bytes home'], 0);
  });

  it('reads a client of 2.5 in /proc', (t) => {
    const all = values(opened(t, lustre, plant('old-linux-3.10').place())());
    assert.equal(all['lustre_read_bytes work'], 4402341178);
    assert.equal(all['lustre_writes work'], 5512);
    assert.equal(all['lustre_open work'], 602);
    assert.equal(all['lustre_inode_permission work'], 90122);
  });

  it('keeps two mounts of one file system apart, and leaves out a mount that is gone', (t) => {
    const tree = plant('old-linux-3.10');
    tree.write(
      'proc/fs/lustre/llite/work-ffff880462315d00/stats',
      'snapshot_time 1.5 secs.usecs\nopen 3 samples [regs]\n',
    );
    const read = opened(t, lustre, tree.place());
    assert.equal(values(read())['lustre_open work#2'], 3);
    tree.remove('proc/fs/lustre/llite/work-ffff880462315c00');
    assert.deepEqual(
      Object.keys(values(read())).filter((name) => !name.endsWith(' work#2')),
      [],
    );
    tree.remove('proc/fs/lustre');
    assert.ok(isUnavailable(read()));
  });

  it('distinguishes no mount from unusable statistics', () => {
    const tree = emptyTree();
    const none = lustre.open(tree.place());
    assert.ok(isUnavailable(none));
    assert.equal(none.unavailable, 'no Lustre file system is mounted');
    tree.write('proc/fs/lustre/llite/work-ffff880462315c00/stats', 'nothing');
    const odd = lustre.open(tree.place());
    assert.ok(isUnavailable(odd));
    assert.match(odd.unavailable, /stats holds nothing usable$/);
  });

  it('reads no other figures from a cut file than from the whole, and finite figures from garbage', () => {
    const tree = plant('old-linux-3.10');
    const text = readFileSync(join(tree.root, 'proc/fs/lustre/llite/work-ffff880462315c00/stats'), 'utf8');
    const whole = parseLustreStats(text);
    for (let length = 0; length < text.length; length += 1)
      for (const [metric, value] of parseLustreStats(text.slice(0, length)) ?? [])
        assert.ok(value === 0 || value === whole?.get(metric), `${metric} ${value} of ${length} characters`);
    fc.assert(
      fc.property(garbageText(text, 'snapshot_time 1.5 secs.usecs\n', 'open 3 samples [regs]\n'), (odd) => {
        for (const value of parseLustreStats(odd)?.values() ?? []) assert.ok(Number.isFinite(value) && value >= 0);
      }),
    );
  });
});
