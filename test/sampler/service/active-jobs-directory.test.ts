import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { activeJobsDirectory } from '../../../src/sampler/service/active-jobs-directory';
import { temporaryDirectory } from '../../support/temporary-directory';

function proc(top: string, pid: number, comm: string, cwd: string | null, uid = 0): void {
  mkdirSync(join(top, String(pid)), { recursive: true });
  writeFileSync(join(top, String(pid), 'comm'), `${comm}\n`);
  writeFileSync(join(top, String(pid), 'status'), `Name:\t${comm}\nUid:\t${uid}\t0\t${uid}\t0\n`);
  if (cwd !== null) symlinkSync(cwd, join(top, String(pid), 'cwd'));
}

const found = (configured: string, host: string, procRoot = '/nowhere'): string | null => {
  const answer = activeJobsDirectory({ execd_spool_dir: configured, admin_user: '' }, { host, procRoot });
  return 'directory' in answer ? answer.directory : null;
};

describe('the directory active_jobs', () => {
  it('is found below the configured directory, under any form of the host’s name', () => {
    const top = temporaryDirectory();
    for (const host of ['node1', 'node10', 'NODE2.cluster.site'])
      mkdirSync(join(top, host, 'active_jobs'), { recursive: true });
    assert.equal(found(top, 'node1'), join(top, 'node1', 'active_jobs'));
    assert.equal(found(top, 'node1.cluster.site'), join(top, 'node1', 'active_jobs'));
    assert.equal(found(top, 'node2'), join(top, 'NODE2.cluster.site', 'active_jobs'));
    assert.equal(found(top, 'node3'), null);
    mkdirSync(join(top, 'node1.cluster.site', 'active_jobs'), { recursive: true });
    assert.equal(found(top, 'node1.cluster.site'), join(top, 'node1.cluster.site', 'active_jobs'));
  });

  it('is not found where it does not exist or is no directory', () => {
    const top = temporaryDirectory();
    assert.equal(found(join(top, 'none'), 'node1'), null);
    mkdirSync(join(top, 'node1'));
    assert.equal(found(top, 'node1'), null);
    writeFileSync(join(top, 'node1', 'active_jobs'), '');
    assert.equal(found(top, 'node1'), null);
  });

  it('is found in execd’s working directory where none is configured', () => {
    const top = temporaryDirectory();
    const spool = join(top, 'spool', 'node1');
    mkdirSync(join(spool, 'active_jobs'), { recursive: true });
    const root = join(top, 'proc');
    proc(root, 1, 'init', '/');
    writeFileSync(join(root, 'uptime'), '1 1\n');
    proc(root, 40, 'sge_execd', null);
    assert.equal(found('', 'node1', root), null);
    // An execd of a container that is visible from here.
    proc(root, 41, 'sge_execd', join(top, 'spool', 'node7'));
    proc(root, 42, 'sge_execd', spool);
    assert.equal(found('', 'node1.cluster.site', root), join(spool, 'active_jobs'));
    assert.equal(found('', 'node7', root), null);
  });
});
