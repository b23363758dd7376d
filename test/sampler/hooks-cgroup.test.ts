import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, type TestContext } from 'node:test';
import {
  type CgroupPlaces,
  readCgroupNote,
  removeJobCgroup,
  removeStrayCgroups,
  strayCgroups,
} from '../../src/sampler/job/job-cgroups';
import { isUnavailable } from '../../src/sources/source';
import { openCgroup } from '../../src/sources/job/cgroup';
import { JOBS_GROUP, jobCgroup, type JobCgroup } from '../../src/sources/job/job-cgroup';
import { burner, burnersObstacle } from '../burners/build';
import {
  heldJob,
  it,
  newSite,
  nodeRecord,
  quiet,
  shepherdObstacle,
  startJob,
  type Job,
  type Site,
} from './fake-shepherd';
import { temporaryDirectory } from '../support/temporary-directory';
import { until } from '../support/until';
import { oneOf } from '../tries';

const MIB = 1024 * 1024;
const ROOT = '/sys/fs/cgroup';
const HIERARCHIES = ['memory', 'cpuacct', 'blkio', 'pids'] as const;

/** Why no v1 cgroup can be made on this machine; null if one can. */
function v1Obstacle(): string | null {
  const top = join(ROOT, 'memory', JOBS_GROUP);
  const probe = join(top, 'probe');
  try {
    mkdirSync(probe, { recursive: true });
    rmdirSync(probe);
    return existsSync(join(top, 'memory.stat')) ? null : 'no v1 hierarchy that counts memory';
  } catch (error) {
    return `no v1 hierarchy that this user may change (${(error as Error).message})`;
  }
}

const obstacle = shepherdObstacle() ?? v1Obstacle() ?? burnersObstacle();

/** The job's group as its own first process sees it. */
function groupOf(job: Job, pid: number): JobCgroup | null {
  const sought = { job: job.number, task: 0, key: job.key, scope: null };
  return jobCgroup(readFileSync(`/proc/${pid}/cgroup`, 'utf8'), sought);
}

const memoryGroup = (job: Job): string => join(ROOT, 'memory', JOBS_GROUP, job.key);
const membersOf = (group: string): readonly number[] =>
  readFileSync(join(group, 'cgroup.procs'), 'utf8').trim().split('\n').filter(Boolean).map(Number);
const groupsOf = (key: string): readonly string[] =>
  HIERARCHIES.map((name) => join(ROOT, name, JOBS_GROUP, key)).filter((path) => existsSync(path));
const pathIn = (pid: number, hierarchy: string): string | undefined =>
  new RegExp(`^\\d+:${hierarchy}:(.*)$`, 'm').exec(readFileSync(`/proc/${pid}/cgroup`, 'utf8'))?.[1];

function cleanUp(t: TestContext, job: Job): void {
  t.after(() => {
    removeJobCgroup(job.key, null);
  });
}

const placesOf = (site: Site): CgroupPlaces => ({ directories: [site.state, site.runDir], graceMs: 0 });

describe('the cgroup that the prolog makes for a job (v1)', { skip: obstacle ?? false, concurrency: 2 }, () => {
  after(() => {
    for (const name of HIERARCHIES)
      try {
        rmdirSync(join(ROOT, name, JOBS_GROUP));
      } catch {
        // Not there, or in use by jobs of this machine.
      }
  });
  const ownCgroup = { conf: { cgroup: 'own' }, settings: ['cgroup = "own"'] };

  it('holds the shepherd and the job from its start, but not the sampler', async (t) => {
    const site = newSite(t, ownCgroup);
    const before = pathIn(process.pid, 'memory');
    // Runs until the test kills it.
    const job = startJob(site, [burner('steady'), '--mib=64', '--hold=3600000']);
    cleanUp(t, job);
    const { pid } = await job.step('start');
    const sampler = await until(() => job.sampler(), 'the sampler');
    const found = groupOf(job, pid);
    assert.ok(found !== null);
    assert.equal(found.origin, 'own');
    assert.deepEqual([...membersOf(memoryGroup(job))].sort(), [job.shepherd, pid].sort());
    assert.equal(pathIn(sampler, 'memory')?.includes(JOBS_GROUP), false);
    assert.equal(readFileSync(join(memoryGroup(job), 'memory.limit_in_bytes'), 'utf8').trim().length, 19, 'no limit');
    const note = readCgroupNote(join(site.state, 'run', job.key));
    assert.equal(note?.problem, null);
    assert.equal(note.origins.get('memory'), before);

    const group = openCgroup(found.directories, { sys: '/sys' });
    assert.ok(!isUnavailable(group));
    const reading = await until(() => {
      const now = group.read();
      // The kernel brings memory.stat up to date a moment after the counters.
      return !isUnavailable(now) && (now.peakBytes ?? 0) >= 64 * MIB && (now.anonBytes ?? 0) > 60 * MIB ? now : null;
    }, 'the memory of the burner');
    // Beside the 64 MiB: libc, page tables, the shepherd's pages since the move.
    assert.ok((reading.peakBytes ?? 0) < 72 * MIB, JSON.stringify(reading));
    assert.ok((reading.anonBytes ?? 0) <= (reading.peakBytes ?? 0));
    assert.ok((reading.cpuUsageSeconds ?? 0) > 0 && (reading.cpuUsageSeconds ?? 0) < 60);
    assert.equal(reading.oomKills ?? 0, 0);

    process.kill(pid, 'SIGKILL');
    const steps = await job.ended;
    assert.equal(steps.prolog?.status, 0);
    assert.equal(steps.job?.status, 137);
    assert.equal(steps.epilog?.status, 0);
    await quiet(site);
    // Not removeStrayCgroups, which would remove those of jobs whose run directories are elsewhere.
    removeJobCgroup(job.key, null);
    assert.deepEqual(groupsOf(job.key), []);
    assert.ok(isUnavailable(group.read()));
    group.close();
  });

  it('gives the peak of a job that ended before its sampler’s first look', async (t) => {
    const site = newSite(t, { conf: { cgroup: 'own' }, settings: ['cgroup = "own"', 'listener = false'], armWait: 0 });
    // `tail` holds the last 8 MiB that it read for a moment.
    const job = startJob(site, ['/bin/sh', '-c', 'head -c 8M /dev/zero | tail -c 8M >/dev/null']);
    cleanUp(t, job);
    const steps = await job.ended;
    assert.equal(steps.job?.status, 0);
    assert.equal(steps.epilog?.status, 0);
    await quiet(site);
    const { samples, trust, metrics, peak_footprint: footprint } = nodeRecord(site, job.key);
    t.diagnostic(`${samples ?? 0} samples`);
    assert.equal(trust, 'root');
    assert.deepEqual([footprint?.sources, footprint?.proved], [['cgroup'], true]);
    const upper = footprint?.upper_bytes ?? 0;
    assert.ok(upper >= 8 * MIB && upper < 24 * MIB, `${upper} bytes`);
    assert.ok((metrics.cgroup_peak_bytes ?? 0) >= 8 * MIB);
    assert.deepEqual(groupsOf(job.key), []);
  });

  it('is removed though the sampler was killed, and a process that outlives the job is moved back alive', async (t) => {
    const site = newSite(t, ownCgroup);
    // Writes its pid once it has its own session: the shepherd kills what is still in the job's process group.
    const startSurvivor = `setsid /bin/sh -c 'echo $$ >"${site.directory}/left"; exec sleep 300' &`;
    const hold = heldJob(site, 'exit 0', startSurvivor);
    const job = startJob(site, hold.command);
    cleanUp(t, job);
    await job.step('start');
    const survivor = await until(
      () =>
        existsSync(join(site.directory, 'left'))
          ? Number(readFileSync(join(site.directory, 'left'), 'utf8')) || null
          : null,
      'the process that outlives the job',
    );
    t.after(() => {
      // The clean-up of the site may have killed it.
      if (existsSync(`/proc/${survivor}`)) process.kill(survivor, 'SIGKILL');
    });
    assert.match(pathIn(survivor, 'memory') ?? '', /qmemacct-jobs/);
    process.kill(await until(() => job.sampler(), 'the sampler'), 'SIGKILL');
    hold.letGo();
    const steps = await job.ended;
    assert.equal(steps.epilog?.status, 0);
    await quiet(site);
    assert.deepEqual(groupsOf(job.key), []);
    assert.equal(pathIn(survivor, 'memory'), pathIn(process.pid, 'memory'));
    // The kernel went on counting without the sampler.
    const { metrics, peak_footprint: footprint } = nodeRecord(site, job.key);
    assert.ok((metrics.cgroup_peak_bytes ?? 0) > 0);
    assert.deepEqual([footprint?.proved, footprint?.open], [true, []]);
    assert.ok((footprint?.upper_bytes ?? 0) >= (metrics.cgroup_peak_bytes ?? Infinity));
  });

  it('is removed with the next job where sampler and shepherd were killed', async (t) => {
    const site = newSite(t, ownCgroup);
    const job = startJob(site, ['/bin/sleep', '300']);
    cleanUp(t, job);
    const { pid } = await job.step('start');
    process.kill(await until(() => job.sampler(), 'the sampler'), 'SIGKILL');
    job.killShepherd();
    await job.ended;
    assert.ok(groupsOf(job.key).length > 0);
    assert.deepEqual(
      strayCgroups(placesOf(site)).filter((key) => key === job.key),
      [],
      'a cgroup with a run directory is not a stray',
    );
    const next = startJob(site, ['/bin/true']);
    cleanUp(t, next);
    await next.ended;
    await quiet(site);
    assert.deepEqual(groupsOf(job.key), []);
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // It ended with the shepherd.
    }
  });

  it('is a stray without a run directory, and is left alone for its first minute', () => {
    const key = `9.0.00000000.${process.pid}.1`;
    for (const name of HIERARCHIES) {
      const top = join(ROOT, name, JOBS_GROUP);
      if (existsSync(top)) mkdirSync(join(top, key));
    }
    const places = { directories: [temporaryDirectory()] };
    assert.ok(strayCgroups(places).includes(key));
    removeStrayCgroups(places);
    assert.ok(groupsOf(key).length > 0, 'removed in its first minute');
    assert.equal(removeJobCgroup(key, null), 'removed');
    assert.deepEqual(groupsOf(key), []);
  });

  it('costs the prolog less than a second', (t) =>
    oneOf(3, async () => {
      const times: Record<string, number[]> = { off: [], own: [] };
      for (const cgroup of ['off', 'own', 'off', 'own', 'off', 'own']) {
        const site = newSite(t, { conf: { cgroup }, armWait: 0 });
        const job = startJob(site, ['/bin/true']);
        cleanUp(t, job);
        const steps = await job.ended;
        times[cgroup]?.push(steps.prolog?.ms ?? Infinity);
        await quiet(site);
      }
      t.diagnostic(`prolog, ms: ${JSON.stringify(times)}`);
      assert.ok(Math.min(...(times.own ?? [])) < 1000);
    }));

  it('is made with cgroup = auto unless Grid Engine makes one, and is not made with off', async (t) => {
    for (const [cgroup, config] of [
      ['auto', { pty: '0\nuse_systemd=1' }],
      ['off', {}],
    ] as const) {
      const site = newSite(t, { conf: { cgroup } });
      const hold = heldJob(site);
      const job = startJob(site, hold.command, { config });
      cleanUp(t, job);
      await job.step('start');
      assert.deepEqual(groupsOf(job.key), []);
      assert.equal(existsSync(join(site.state, 'run', job.key, 'cgroup')), false);
      hold.letGo();
      await job.ended;
      await quiet(site);
    }
    const site = newSite(t, { conf: { cgroup: 'auto' } });
    const hold = heldJob(site);
    const job = startJob(site, hold.command, { config: { pty: '0\nuse_systemd=0' } });
    cleanUp(t, job);
    await job.step('start');
    assert.ok(groupsOf(job.key).length > 0);
    hold.letGo();
    await job.ended;
    await quiet(site);
  });
});

describe('the prolog on a made-up cgroup hierarchy', { skip: shepherdObstacle() ?? false, concurrency: 2 }, () => {
  /** A v2 hierarchy of plain files, which accept whatever is written to them. */
  function v2Tree(files: Readonly<Record<string, string>>): string {
    const root = temporaryDirectory();
    const all = {
      'cgroup.controllers': 'cpuset cpu io memory pids\n',
      'cgroup.subtree_control': 'memory pids\n',
      ...files,
    };
    for (const [name, text] of Object.entries(all)) {
      mkdirSync(join(root, name, '..'), { recursive: true });
      writeFileSync(join(root, name), text);
    }
    return root;
  }
  const unifiedPath = pathIn(process.pid, '') ?? '';
  const noV2 = unifiedPath === '' ? 'no v2 hierarchy, not even an empty one' : false;

  async function runIn(
    t: TestContext,
    root: string,
    settings: Readonly<Record<string, string>> = {},
  ): Promise<{ readonly job: Job; readonly note: ReturnType<typeof readCgroupNote> }> {
    const site = newSite(t, { conf: { cgroup: 'own', cgroup_root: root, sys_root: join(root, 'sys'), ...settings } });
    const hold = heldJob(site);
    const job = startJob(site, hold.command);
    await job.step('start');
    const note = readCgroupNote(join(site.state, 'run', job.key));
    hold.letGo();
    const steps = await job.ended;
    assert.equal(steps.prolog?.status, 0);
    assert.equal(steps.epilog?.status, 0);
    await quiet(site);
    return { job, note };
  }

  it(
    'switches the v2 controllers on that only count, and not cpu',
    async (t) => {
      const root = v2Tree({});
      const { job, note } = await runIn(t, root);
      assert.equal(note?.problem, null);
      assert.equal(note.origins.get('unified'), unifiedPath);
      assert.equal(readFileSync(join(root, JOBS_GROUP, job.key, 'cgroup.procs'), 'utf8'), `${job.shepherd}\n`);
      // Each controller is written by itself, so a plain file keeps the last one.
      assert.equal(readFileSync(join(root, JOBS_GROUP, 'cgroup.subtree_control'), 'utf8'), '+io\n');
    },
    noV2,
  );

  it(
    'leaves the v2 controller io off where the disk scheduler divides by groups',
    async (t) => {
      const root = v2Tree({ 'sys/block/sda/queue/scheduler': 'mq-deadline kyber [bfq] none\n' });
      const { note } = await runIn(t, root);
      assert.equal(note?.problem, null);
      assert.equal(readFileSync(join(root, JOBS_GROUP, 'cgroup.subtree_control'), 'utf8'), '+pids\n');
    },
    noV2,
  );

  it(
    'leaves a shepherd at the top of v2 where it is if cpu is divided',
    async (t) => {
      const root = v2Tree({ 'cgroup.subtree_control': 'cpu memory\n' });
      const { note } = await runIn(t, root);
      assert.match(note?.problem ?? '', /at the top/);
      assert.deepEqual(existsSync(join(root, JOBS_GROUP)) ? readdirSync(join(root, JOBS_GROUP)) : [], []);
    },
    unifiedPath !== '/',
  );

  it('notes that no hierarchy counts memory, and the job runs', async (t) => {
    const { note } = await runIn(t, temporaryDirectory());
    assert.match(note?.problem ?? '', /counts memory/);
  });

  it('notes a missing root of the hierarchies, and the job runs', async (t) => {
    const { note } = await runIn(t, '/no/such/cgroup');
    assert.match(note?.problem ?? '', /counts memory/);
  });

  it('leaves the shepherd where it is if a v1 memory limit above holds there', async (t) => {
    const path = pathIn(process.pid, 'memory');
    if (path === undefined) {
      t.skip('no v1 memory hierarchy');
      return;
    }
    const root = temporaryDirectory();
    mkdirSync(join(root, 'memory', path), { recursive: true });
    writeFileSync(
      join(root, 'memory', path, 'memory.stat'),
      'cache 1\nhierarchical_memory_limit 8589934592\nhierarchical_memsw_limit 9223372036854771712\n',
    );
    const { job, note } = await runIn(t, root);
    assert.match(note?.problem ?? '', /limit \(hierarchical_memory_limit\)/);
    assert.equal(existsSync(join(root, 'memory', JOBS_GROUP, job.key)), false);
  });
});

describe('the search for v2 limits that a shepherd would leave', () => {
  /** What qm_find_limits says of the group `path` in a hierarchy of these files. */
  function problemOf(files: Readonly<Record<string, string>>, path: string): string {
    const root = temporaryDirectory();
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(join(root, name, '..'), { recursive: true });
      writeFileSync(join(root, name), text);
    }
    const script = `. hooks/cgroup.sh; qm_problem=; qm_top=$1 qm_path=$2; qm_find_limits; printf %s "$qm_problem"`;
    const { stdout, stderr } = spawnSync('/bin/sh', ['-c', script, 'sh', root, path], { encoding: 'utf8' });
    assert.equal(stderr, '');
    return stdout;
  }
  const unlimited = { 'memory.max': 'max\n', 'cpu.max': 'max 100000\n', 'cpuset.cpus': '\n', 'io.max': '' };
  const at = (path: string, files: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(Object.entries(files).map(([name, text]) => [`${path}/${name}`, text]));

  it('finds none where neither the group nor one above has a limit', () => {
    assert.equal(problemOf({ ...at('a', unlimited), ...at('a/b', unlimited) }, '/a/b'), '');
    assert.equal(problemOf({}, '/a/b c'), '');
  });

  it('finds a limit of the group or of one above', () => {
    assert.match(
      problemOf({ ...at('a', unlimited), ...at('a/b', { ...unlimited, 'memory.high': '1073741824\n' }) }, '/a/b'),
      /memory\.high/,
    );
    assert.match(
      problemOf({ ...at('a', { ...unlimited, 'cpu.max': '200000 100000\n' }), ...at('a/b', unlimited) }, '/a/b'),
      /^\/a has a limit \(cpu\.max\)/,
    );
    assert.match(problemOf(at('a', { 'cpuset.cpus': '0-3\n' }), '/a'), /cpuset/);
    assert.match(problemOf(at('a', { 'io.max': '8:0 rbps=1048576 wbps=max\n' }), '/a'), /io\.max/);
  });
});
