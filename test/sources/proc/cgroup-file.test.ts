import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseCgroupFile } from '../../../src/sources/proc/cgroup-file';

describe('parseCgroupFile', () => {
  it('reads version 1, version 2 and both together', () => {
    assert.deepEqual(parseCgroupFile('0::/system.slice/sgeexecd.service\n'), [
      { hierarchy: '', path: '/system.slice/sgeexecd.service' },
    ]);
    assert.deepEqual(
      parseCgroupFile('12:cpuset:/sge/1516.1/4321\n4:cpu,cpuacct:/\n1:name=systemd:/system.slice/x.scope\n0::/\n'),
      [
        { hierarchy: 'cpuset', path: '/sge/1516.1/4321' },
        { hierarchy: 'cpu,cpuacct', path: '/' },
        { hierarchy: 'systemd', path: '/system.slice/x.scope' },
        { hierarchy: '', path: '/' },
      ],
    );
  });

  it('reads colons and blanks in a path', () => {
    assert.deepEqual(parseCgroupFile('0::/user.slice/a:b c\n'), [{ hierarchy: '', path: '/user.slice/a:b c' }]);
  });

  it('leaves out lines that are no membership', () => {
    assert.deepEqual(parseCgroupFile(''), []);
    assert.deepEqual(parseCgroupFile('nonsense\n0:\n0::relative\nx::/\n'), []);
  });
});
