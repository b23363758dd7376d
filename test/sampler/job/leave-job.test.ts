import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { leaveCgroups } from '../../../src/sampler/job/leave-job';
import { temporaryDirectory } from '../../support/temporary-directory';

describe('leaveCgroups', () => {
  function trees(membership: string): readonly [string, string] {
    const root = temporaryDirectory();
    mkdirSync(join(root, 'proc', 'self'), { recursive: true });
    mkdirSync(join(root, 'cgroup'));
    writeFileSync(join(root, 'proc', 'self', 'cgroup'), membership);
    return [join(root, 'proc'), join(root, 'cgroup')];
  }
  const entered = (...path: readonly string[]): string | null =>
    existsSync(join(...path, 'cgroup.procs')) ? readFileSync(join(...path, 'cgroup.procs'), 'utf8') : null;

  it('moves to our own cgroup in version 2', () => {
    const [proc, cgroup] = trees('0::/system.slice/sgeexecd.service\n');
    writeFileSync(join(cgroup, 'cgroup.controllers'), '');
    leaveCgroups(proc, cgroup);
    assert.equal(entered(cgroup, 'qmemacct'), String(process.pid));
  });

  it('moves to the top of cpuset, where a new cgroup has no CPUs, and to our own cgroup elsewhere', () => {
    const [proc, cgroup] = trees('3:cpuset:/sge/1.1/2\n2:memory:/sge\n1:name=systemd:/\n0::/x\n');
    for (const name of ['cpuset', 'memory', 'systemd', 'unified']) mkdirSync(join(cgroup, name));
    leaveCgroups(proc, cgroup);
    assert.equal(entered(cgroup, 'cpuset'), String(process.pid));
    assert.equal(entered(cgroup, 'memory', 'qmemacct'), String(process.pid));
    assert.equal(entered(cgroup, 'systemd'), null);
    assert.equal(existsSync(join(cgroup, 'systemd', 'qmemacct')), false);
    assert.equal(entered(cgroup, 'unified', 'qmemacct'), String(process.pid));
  });

  it('stays where it is at the top or in our own cgroup already', () => {
    const [proc, cgroup] = trees('2:memory:/qmemacct\n0::/\n');
    leaveCgroups(proc, cgroup);
    assert.equal(existsSync(join(cgroup, 'memory')), false);
  });

  it('goes on where one hierarchy can’t be changed', () => {
    const [proc, cgroup] = trees('2:memory:/a\n1:pids:/b\n');
    writeFileSync(join(cgroup, 'memory'), '');
    mkdirSync(join(cgroup, 'pids'));
    leaveCgroups(proc, cgroup);
    assert.equal(entered(cgroup, 'pids', 'qmemacct'), String(process.pid));
  });
});
