import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import {
  readCgroupNote,
  removeJobCgroup,
  removeStrayCgroups,
  strayCgroups,
} from '../../../src/sampler/job/job-cgroups';
import { startTicksOf } from '../../../src/sampler/job/pid-file';
import { JOBS_GROUP } from '../../../src/sources/job/job-cgroup';
import { temporaryDirectory } from '../../support/temporary-directory';

/* Trees of plain directories: rmdir works in them as long as they hold no file. */

const KEY = '12.0.0123abcd.4194304999.77';
const ALIVE = `13.0.0123abcd.${process.pid}.${startTicksOf(process.pid) ?? 0}`;

function tree(...groups: readonly string[]): string {
  const root = temporaryDirectory();
  writeFileSync(join(root, 'cgroup.controllers'), 'memory\n');
  for (const group of groups) mkdirSync(join(root, group), { recursive: true });
  return root;
}

describe('the prolog’s note on cgroups', () => {
  it('says in which cgroups the shepherd was, and what went wrong', () => {
    const directory = temporaryDirectory();
    assert.equal(readCgroupNote(directory), null);
    const write = (text: string): void => {
      writeFileSync(join(directory, 'cgroup'), text);
    };
    write('version=1\nproblem=\nfrom_memory=/a b/c=d\nfrom_unified=/\nend=1\n');
    assert.deepEqual(readCgroupNote(directory), {
      origins: new Map([
        ['memory', '/a b/c=d'],
        ['unified', '/'],
      ]),
      problem: null,
    });
    write('version=1\nproblem=\nfrom_memory=nowhere\nend=1\nproblem=no room\n');
    assert.deepEqual(readCgroupNote(directory), { origins: new Map(), problem: 'no room' });
  });
});

describe('the removal of a job’s cgroup', () => {
  it('includes every hierarchy and the groups below', () => {
    const root = tree(`${JOBS_GROUP}/${KEY}/a/b`, `memory/${JOBS_GROUP}/${KEY}`, `pids/${JOBS_GROUP}/${KEY}`);
    assert.equal(removeJobCgroup(KEY, null, root), 'removed');
    for (const top of ['', 'memory', 'pids']) assert.equal(existsSync(join(root, top, JOBS_GROUP, KEY)), false);
    assert.equal(removeJobCgroup(KEY, null, root), 'none');
  });

  it('moves processes back to where the shepherd was, and gives up within 20 s', () => {
    const root = tree(`memory/${JOBS_GROUP}/${KEY}`, 'memory/system.slice/execd.service');
    writeFileSync(join(root, 'memory', JOBS_GROUP, KEY, 'cgroup.procs'), '4242\n');
    const begun = Date.now();
    const note = { origins: new Map([['memory', '/system.slice/execd.service']]), problem: null };
    assert.equal(removeJobCgroup(KEY, note, root), 'left');
    assert.ok(Date.now() - begun < 20_000);
    assert.equal(readFileSync(join(root, 'memory/system.slice/execd.service/cgroup.procs'), 'utf8'), '4242');
  });

  it('moves processes to our own cgroup where the shepherd’s is gone, leads elsewhere or is unknown', () => {
    for (const origin of ['/gone', '/../../../tmp', undefined]) {
      const root = tree(`memory/${JOBS_GROUP}/${KEY}`);
      writeFileSync(join(root, 'memory', JOBS_GROUP, KEY, 'cgroup.procs'), '4242\n');
      const note = { origins: new Map(origin === undefined ? [] : [['memory', origin]]), problem: null };
      assert.equal(removeJobCgroup(KEY, note, root), 'left');
      assert.equal(readFileSync(join(root, 'memory/qmemacct/cgroup.procs'), 'utf8'), '4242');
    }
  });

  it('touches no cgroup whose name is not a run’s', () => {
    const root = tree(`${JOBS_GROUP}/x`, 'y');
    for (const name of ['x', '', '..', '../y', '.']) assert.equal(removeJobCgroup(name, null, root), 'none', name);
    assert.ok(existsSync(join(root, 'y')) && existsSync(join(root, JOBS_GROUP, 'x')));
  });
});

describe('stray cgroups', () => {
  it('have no shepherd and no run directory, and are removed after a while', () => {
    const kept = '14.0.0123abcd.4194304999.77';
    const cgroupRoot = tree(...[KEY, ALIVE, kept, 'other'].map((key) => `${JOBS_GROUP}/${key}`));
    const state = temporaryDirectory();
    mkdirSync(join(state, 'run', kept), { recursive: true });
    const places = { directories: ['/no/such', state], cgroupRoot };
    assert.deepEqual(strayCgroups(places), [KEY]);
    assert.deepEqual(removeStrayCgroups(places), []);
    assert.deepEqual(strayCgroups(places), [KEY], 'too young');
    assert.deepEqual(removeStrayCgroups({ ...places, graceMs: 0 }), []);
    assert.deepEqual(strayCgroups(places), []);
    for (const key of [ALIVE, kept, 'other']) assert.ok(existsSync(join(cgroupRoot, JOBS_GROUP, key)), key);
  });

  it('are returned where they can’t be removed', () => {
    const cgroupRoot = tree(`${JOBS_GROUP}/${KEY}`);
    writeFileSync(join(cgroupRoot, JOBS_GROUP, KEY, 'held'), '');
    assert.deepEqual(removeStrayCgroups({ directories: [], cgroupRoot, graceMs: 0 }), [KEY]);
  });

  it('are none where there are no cgroups', () => {
    assert.deepEqual(strayCgroups({ directories: [], cgroupRoot: '/no/such' }), []);
  });
});
