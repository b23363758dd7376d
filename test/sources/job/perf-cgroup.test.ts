import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import fc from 'fast-check';
import { findPerfMount, perfCgroupDirectory, perfCgroupPath } from '../../../src/sources/job/perf-cgroup';

/** CentOS 7: everything on v1. */
const V1 = `25 18 0:21 / /sys/fs/cgroup ro,nosuid,nodev,noexec shared:8 - tmpfs tmpfs ro,seclabel,mode=755
26 25 0:22 / /sys/fs/cgroup/systemd rw,nosuid,nodev,noexec,relatime shared:9 - cgroup cgroup rw,xattr,name=systemd
29 25 0:26 / /sys/fs/cgroup/perf_event rw,nosuid,nodev,noexec,relatime shared:12 - cgroup cgroup rw,seclabel,perf_event
30 25 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid,nodev,noexec,relatime shared:13 - cgroup cgroup rw,cpuacct,cpu
`;
/** v1 controllers beside an empty v2 tree. */
const HYBRID = `31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
40 31 0:37 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
`;
const V2 = `30 23 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate\n`;

const PROCESS_V1 =
  '11:perf_event:/sge/7.1\n4:cpuacct,cpu:/system.slice\n1:name=systemd:/system.slice/sgeexecd.service\n';
const PROCESS_V2 = '0::/system.slice/qmemacct-7.scope\n';

function machine(t: TestContext, mountinfo: string, cgroup: string): { proc: string; root: string } {
  const root = mkdtempSync(join(tmpdir(), 'qmemacct-perf-'));
  t.after(() => rmSync(root, { recursive: true }));
  const proc = join(root, 'proc');
  mkdirSync(join(proc, 'self'), { recursive: true });
  mkdirSync(join(proc, '42'));
  writeFileSync(join(proc, 'self', 'mountinfo'), mountinfo);
  writeFileSync(join(proc, '42', 'cgroup'), cgroup);
  return { proc, root };
}

describe('findPerfMount', () => {
  it('prefers the v1 hierarchy with perf_event, else takes v2', () => {
    assert.deepEqual(findPerfMount(V1), { version: 1, root: '/', directory: '/sys/fs/cgroup/perf_event' });
    assert.deepEqual(findPerfMount(HYBRID), { version: 2, root: '/', directory: '/sys/fs/cgroup/unified' });
    assert.deepEqual(findPerfMount(V2), { version: 2, root: '/', directory: '/sys/fs/cgroup' });
    assert.deepEqual(findPerfMount(V2 + V1)?.version, 1);
    assert.equal(findPerfMount(''), null);
  });

  it('undoes what mountinfo escapes', () => {
    assert.equal(findPerfMount('1 1 0:1 / /a\\040b rw - cgroup2 none rw')?.directory, '/a b');
  });
});

describe('perfCgroupPath', () => {
  it('reads the line of the hierarchy that counts', () => {
    assert.equal(perfCgroupPath(PROCESS_V1, 1), '/sge/7.1');
    assert.equal(perfCgroupPath(PROCESS_V1, 2), null);
    assert.equal(perfCgroupPath(PROCESS_V2, 2), '/system.slice/qmemacct-7.scope');
    assert.equal(perfCgroupPath('3:net_cls,perf_event:/a:b\n0::/\n', 1), '/a:b');
  });
});

describe('perfCgroupDirectory', () => {
  it('is where the process’s cgroup is mounted', (t) => {
    const v1 = machine(t, V1, PROCESS_V1);
    assert.equal(perfCgroupDirectory(v1, 42), join(v1.root, 'sys/fs/cgroup/perf_event/sge/7.1'));
    const v2 = machine(t, V2, PROCESS_V2);
    assert.equal(perfCgroupDirectory(v2, 42), join(v2.root, 'sys/fs/cgroup/system.slice/qmemacct-7.scope'));
  });

  it('takes a hierarchy of which only a part is mounted (a container)', (t) => {
    const mounted = V2.replace(' / /sys', ' /system.slice /sys');
    const inside = machine(t, mounted, PROCESS_V2);
    assert.equal(perfCgroupDirectory(inside, 42), join(inside.root, 'sys/fs/cgroup/qmemacct-7.scope'));
    assert.equal(perfCgroupDirectory(machine(t, mounted, '0::/user.slice\n'), 42), null);
  });

  it('is null for the root, for a process outside, and for one that is gone', (t) => {
    assert.equal(perfCgroupDirectory(machine(t, V2, '0::/\n'), 42), null);
    assert.equal(perfCgroupDirectory(machine(t, V2, '0::/../other\n'), 42), null);
    assert.equal(perfCgroupDirectory(machine(t, V2, PROCESS_V2), 43), null);
    assert.equal(perfCgroupDirectory(machine(t, '', PROCESS_V2), 42), null);
  });

  it('takes any text', () => {
    const piece = fc.constantFrom('0::', '/', ' - ', 'cgroup2', 'cgroup', 'perf_event', ' ', '\n', ',', '\\040', '1:');
    fc.assert(
      fc.property(fc.array(fc.oneof(piece, fc.string()), { maxLength: 20 }), (pieces) => {
        const mount = findPerfMount(pieces.join(''));
        assert.ok(mount === null || typeof mount.directory === 'string');
        const path = perfCgroupPath(pieces.join(''), 2);
        assert.ok(path === null || path.startsWith('/'));
      }),
    );
  });
});
