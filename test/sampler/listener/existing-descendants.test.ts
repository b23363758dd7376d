import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { existingDescendants } from '../../../src/sampler/listener/existing-descendants';
import { procTree } from '../proc-tree';
import { temporaryDirectory } from '../temporary-directory';

describe('the descendants of a process', () => {
  it('are found on this machine', async (t) => {
    const shell = spawn('/bin/sh', ['-c', 'sleep 60 & sleep 60 & echo "$!"; wait'], {
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true,
    });
    const { pid } = shell;
    assert.ok(pid !== undefined);
    t.after(() => process.kill(-pid, 'SIGKILL'));
    const [line] = (await once(shell.stdout, 'data')) as [Buffer];
    const found = existingDescendants(pid);
    assert.equal(found.size, 2);
    assert.ok(found.has(Number(line.toString())));
    assert.ok(existingDescendants(process.pid).has(pid));
  });

  for (const listed of [true, false])
    it(`are found where the kernel ${listed ? 'lists children' : 'does not'}`, (t) => {
      const tree = procTree(temporaryDirectory(t), listed);
      tree.set(10, { ppid: 1 });
      tree.set(13, { ppid: 10 });
      tree.set(12, { ppid: 13 });
      tree.set(20, { ppid: 1 });
      assert.deepEqual(existingDescendants(10, tree.root), new Set([13, 12]));
      assert.deepEqual(existingDescendants(99, tree.root), new Set());
    });
});
