import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { checkCgroups, readHierarchies } from '../../../src/cli/doctor/check-cgroups';
import type { Finding } from '../../../src/cli/doctor/finding';
import { DEFAULT_SETTINGS, type Settings } from '../../../src/record/settings';
import { isUnavailable } from '../../../src/sources/source';
import { temporaryDirectory } from '../../support/temporary-directory';

type Layout = Readonly<Record<string, string>>;

const V2: Layout = { 'cgroup.controllers': 'cpuset cpu io memory hugetlb pids rdma\n', 'cgroup.procs': '' };
const V1: Layout = Object.fromEntries(
  ['memory', 'cpuacct', 'cpu', 'blkio', 'pids', 'systemd'].map((name) => [`${name}/cgroup.procs`, '']),
);
const HYBRID: Layout = { ...V1, 'unified/cgroup.controllers': '\n' };
const STRAY = 'qmemacct-jobs/12.0.0123abcd.4242.777';

interface Machine {
  readonly top: string;
  readonly root: string;
}

function machine(layout: Layout, groups: readonly string[] = []): Machine {
  const top = temporaryDirectory();
  const root = join(top, 'cgroup');
  for (const path of [root, join(top, 'proc')]) mkdirSync(path);
  for (const [path, text] of Object.entries(layout)) {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  for (const group of groups) mkdirSync(join(root, group), { recursive: true });
  return { top, root };
}

function check({ top, root }: Machine, cgroup: Settings['cgroup'], readOnly: readonly string[] = [], isRoot = true) {
  const settings = { ...DEFAULT_SETTINGS, cgroup, state_dir: join(top, 'state'), run_dir: join(top, 'run') };
  const { findings, cgroup: state } = checkCgroups(
    { settings, settingsPath: '/x.toml', isRoot },
    { root, procRoot: join(top, 'proc'), writable: (path) => !readOnly.includes(path) },
  );
  const line = ({ severity, name, says, fix }: Finding): string =>
    `${severity} ${name}: ${says}${fix === null ? '' : ` > ${fix}`}`.replaceAll(root, '');
  return { lines: findings.map(line), state };
}

describe('doctor on control groups', () => {
  it('names the hierarchies and their controllers', () => {
    assert.deepEqual(readHierarchies(machine({}).root), { v2: null, v1: [] });
    for (const [layout, says] of [
      [V2, 'ok hierarchies: version 2 in : cpuset, cpu, io, memory, hugetlb, pids, rdma'],
      [V1, 'ok hierarchies: version 1: memory, cpuacct, cpu, blkio, pids'],
      [HYBRID, 'ok hierarchies: version 2 in /unified: no controllers; version 1: memory, cpuacct, cpu, blkio, pids'],
      [{}, 'note hierarchies: none in /sys/fs/cgroup'],
    ] as const)
      assert.equal(check(machine(layout), 'off').lines[0], says);
  });

  it('says which version counts memory', () => {
    for (const [layout, version] of [
      [V2, 2],
      [V1, 1],
      [HYBRID, 1],
    ] as const)
      assert.match(JSON.stringify(check(machine(layout), 'off').state), new RegExp(`version ${version} counts memory`));
    for (const layout of [{}, { 'cgroup.controllers': 'cpu io\n' }, { 'cpuacct/cgroup.procs': '' }])
      assert.ok(isUnavailable(check(machine(layout), 'off').state));
  });

  it('says whether qmemacct makes control groups of its own', () => {
    const [v2, v1] = [machine(V2), machine(V1)];
    const groups = (lines: readonly string[]): string | undefined => lines[1];
    assert.equal(
      groups(check(v2, 'off').lines),
      'note own groups: cgroup = "off": none are made > cgroup = "own" in /x.toml would work here',
    );
    assert.match(groups(check(v1, 'own').lines) ?? '', /^ok own groups: cgroup = "own": .* for every job$/);
    assert.match(groups(check(v1, 'auto').lines) ?? '', /^ok own groups: .* for jobs without a scope of Grid Engine$/);
    assert.match(groups(check(v1, 'own', [], false).lines) ?? '', /^note own groups: .* not tried > run this as root$/);
  });

  it('warns where such groups are configured and cannot be made', () => {
    const v2 = machine(V2);
    const v1 = machine(V1, ['memory/qmemacct-jobs']);
    for (const [lines, why] of [
      [check(v2, 'own', [v2.root]).lines, / can't be written > mount it read-write/],
      [check(v1, 'auto', [join(v1.root, 'memory', 'qmemacct-jobs')]).lines, /qmemacct-jobs can't be written > give /],
      [check(machine({}), 'own').lines, /no cgroup hierarchy counts memory > mount cgroup2/],
    ] as const) {
      assert.match(lines[1] ?? '', /^warning own groups: cgroup = "\w+", and none can be made: /);
      assert.match(lines[1] ?? '', why);
    }
    assert.match(check(v2, 'off', [v2.root]).lines[1] ?? '', /^note own groups: .*none can be made: .*written$/);
  });

  it('warns root of groups whose job nothing looks after any more', () => {
    const stray = machine(V1, [`memory/${STRAY}`, 'memory/qmemacct-jobs/somebody-elses']);
    assert.equal(
      check(stray, 'own').lines[2],
      'warning own groups: 1 group of a job that nobody uses: 12.0.0123abcd.4242.777 > "qmemacct flush" removes them',
    );
    assert.equal(check(stray, 'own', [], false).lines.length, 2);
    mkdirSync(join(stray.top, 'state', 'run', '12.0.0123abcd.4242.777'), { recursive: true });
    assert.equal(check(stray, 'own').lines.length, 2);
  });
});
