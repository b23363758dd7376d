import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { newMachineScan } from '../../../src/sampler/processes/machine-scan';
import { ProcessFiles } from '../../../src/sources/proc/process-files';
import { supplementaryGroups } from '../../../src/sources/proc/status';
import { procTree } from '../proc-tree';
import { temporaryDirectory } from '../../support/temporary-directory';

describe('a scan of all processes of the machine', () => {
  it('gives the parent and the groups of each process', () => {
    const tree = procTree(temporaryDirectory());
    tree.set(10, { ppid: 1, groups: [] });
    tree.set(11, { ppid: 10, groups: [1001, 20007] });
    writeFileSync(join(tree.root, 'uptime'), '1 1\n');
    const found = [...newMachineScan(tree.root).processes(0)].filter(({ pid }) => pid >= 10);
    assert.deepEqual(
      found.sort((a, b) => a.pid - b.pid),
      [
        { pid: 10, parent: 1, groups: [] },
        { pid: 11, parent: 10, groups: [1001, 20007] },
      ],
    );
  });

  it('is repeated after its time, and reads known processes again only after a minute', () => {
    const tree = procTree(temporaryDirectory());
    tree.set(10);
    const scan = newMachineScan(tree.root, 1000);
    const pids = (atMs: number): readonly number[] =>
      [...scan.processes(atMs)].map(({ pid }) => pid).filter((pid) => pid >= 10);
    const parentOf = (atMs: number): number | undefined =>
      [...scan.processes(atMs)].find(({ pid }) => pid === 10)?.parent;
    assert.deepEqual(pids(5000), [10]);
    tree.set(12);
    assert.deepEqual(pids(5999), [10]);
    assert.deepEqual(pids(6000), [10, 12]);
    tree.remove(12);
    tree.set(10, { ppid: 7 });
    assert.deepEqual(pids(7000), [10]);
    assert.equal(parentOf(8000), 1);
    assert.equal(parentOf(66_000), 7);
    // The clock was set back.
    tree.set(10, { ppid: 8 });
    tree.set(13);
    assert.deepEqual(pids(3000), [10, 13]);
    assert.equal(parentOf(3500), 8);
  });

  it('finds a child process in the real /proc until it has ended', async (t) => {
    const scan = newMachineScan();
    const child = spawn('sleep', ['60'], { stdio: 'ignore' });
    t.after(() => child.kill('SIGKILL'));
    await once(child, 'spawn');
    const found = (): boolean => [...scan.processes(Date.now())].some(({ pid }) => pid === child.pid);
    const seen = [...scan.processes(Date.now())].find(({ pid }) => pid === child.pid);
    assert.equal(seen?.parent, process.pid);
    assert.deepEqual(seen.groups, new ProcessFiles(process.pid, { left: 0 }).status(supplementaryGroups));
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
    assert.equal(found(), false);
  });
});
