import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { jobCgroup, ownPart, type SoughtJob } from '../../../src/sources/job/job-cgroup';

const SERIAL: SoughtJob = { job: 1516, task: 0, key: '1516.0.0123abcd.4321.99', scope: 'ocs6444.1516.scope' };
const TASK: SoughtJob = { job: 1516, task: 7, key: '1516.7.0123abcd.4321.99', scope: 'ocs6444.1516.7.master.scope' };

describe('ownPart', () => {
  const cases: readonly (readonly [string, SoughtJob, string | null])[] = [
    ['/qmemacct-jobs/1516.0.0123abcd.4321.99', SERIAL, '/qmemacct-jobs/1516.0.0123abcd.4321.99'],
    ['/qmemacct-jobs/1516.0.0123abcd.4321.99/inner', SERIAL, '/qmemacct-jobs/1516.0.0123abcd.4321.99'],
    ['/qmemacct-jobs/1516.0.0123abcd.4321.98', SERIAL, null],
    ['/qmemacct-jobs', SERIAL, null],
    ['/qmemacct', SERIAL, null],
    ['/system.slice/sge-1516.1.scope', SERIAL, '/system.slice/sge-1516.1.scope'],
    ['/system.slice/sge-1516.7.service', TASK, '/system.slice/sge-1516.7.service'],
    ['/system.slice/sge-1516.1.scope', TASK, null],
    ['/system.slice/sge-15160.1.scope', SERIAL, null],
    [
      '/ocs6444.slice/ocs6444-jobs.slice/ocs6444.1516.scope',
      SERIAL,
      '/ocs6444.slice/ocs6444-jobs.slice/ocs6444.1516.scope',
    ],
    [
      '/ocs6444.slice/ocs6444-jobs.slice/ocs6444.1516.7.master.scope/a',
      TASK,
      '/ocs6444.slice/ocs6444-jobs.slice/ocs6444.1516.7.master.scope',
    ],
    ['/ocs6444.slice/ocs6444-jobs.slice/ocs6444.1516.7.1.node2.scope', TASK, null],
    ['/ocs6444.slice/ocs6444-jobs.slice/ocs6444.1516.scope', { ...SERIAL, scope: null }, null],
    ['/ocs6444.slice/ocs6444-shepherds.slice/shepherd.scope', SERIAL, null],
    ['/system.slice/gridengine-exec.service', SERIAL, null],
    ['/user.slice/user-1000.slice/user@1000.service/app.slice/sge-1516.1.scope', SERIAL, null],
    ['/../system.slice/sge-1516.1.scope', SERIAL, null],
    ['/slurm/uid_1000/job_1516/step_0', SERIAL, null],
    ['/', SERIAL, null],
  ];
  for (const [path, sought, expected] of cases)
    it(`finds ${expected === null ? 'no group of the job' : 'the group of the job'} in ${path}`, () => {
      assert.equal(ownPart(path, sought)?.path ?? null, expected);
    });
});

describe('jobCgroup', () => {
  const on =
    (...paths: readonly string[]) =>
    (path: string): boolean =>
      paths.includes(path);

  it('finds a scope in version 2', () => {
    const directory = '/c/system.slice/sge-1516.1.scope';
    const exists = on('/c/cgroup.controllers', `${directory}/memory.current`);
    assert.deepEqual(jobCgroup('0::/system.slice/sge-1516.1.scope\n', SERIAL, '/c', exists), {
      origin: 'scope',
      directories: { version: 2, directory },
    });
  });

  it('requires a group that counts memory', () => {
    assert.equal(jobCgroup('0::/system.slice/sge-1516.1.scope\n', SERIAL, '/c', on('/c/cgroup.controllers')), null);
    assert.equal(
      jobCgroup('4:memory:/system.slice\n1:name=systemd:/system.slice/sge-1516.1.scope\n', SERIAL, '/c', () => true),
      null,
    );
  });

  it("finds qmemacct's own group in version 1, in the hierarchies in which the shepherd was moved", () => {
    const own = `/qmemacct-jobs/${SERIAL.key}`;
    const membership = `9:name=systemd:/\n8:pids:/\n7:blkio:${own}\n4:memory:${own}\n3:cpuset:/sge/1516.1/4\n2:cpu,cpuacct:/\n0::/\n`;
    const exists = on('/c/memory', '/c/blkio', '/c/pids', '/c/cpu,cpuacct');
    assert.deepEqual(jobCgroup(membership, SERIAL, '/c', exists)?.directories, {
      version: 1,
      memory: `/c/memory${own}`,
      blkio: `/c/blkio${own}`,
      cpuacct: null,
      cpu: null,
      pids: null,
    });
  });

  it('finds controllers that are mounted together under either order of their names', () => {
    const path = '/system.slice/sge-1516.1.scope';
    const membership = `4:memory:${path}\n2:cpuacct,cpu:${path}\n`;
    const found = jobCgroup(membership, SERIAL, '/c', on('/c/memory', '/c/cpuacct'));
    assert.ok(found?.directories.version === 1);
    assert.equal(found.directories.cpu, `/c/cpuacct${path}`);
    assert.equal(found.directories.cpuacct, `/c/cpuacct${path}`);
  });

  it('returns null for garbage', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        assert.equal(
          jobCgroup(text, SERIAL, '/c', () => true),
          null,
        );
      }),
    );
  });
});
