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

/** Why no group can be made on this machine; null if one can. */
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

describe('a cgroup of the job’s own (v1, live)', { skip: obstacle ?? false, concurrency: 2 }, () => {
  after(() => {
    for (const name of HIERARCHIES)
      try {
        rmdirSync(join(ROOT, name, JOBS_GROUP));
      } catch {
        // Not there, or in use by jobs of this machine.
      }
  });
  const own = { conf: { cgroup: 'own' }, settings: ['cgroup = "own"'] };

  it('holds the job from its first moment, and neither hooks nor sampler', async (t) => {
    const site = newSite(t, own);
    const before = pathIn(process.pid, 'memory');
    // Until it is killed, below.
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
    // Of this job only: others that run beside it have run directories elsewhere.
    removeJobCgroup(job.key, null);
    assert.deepEqual(groupsOf(job.key), []);
    assert.ok(isUnavailable(group.read()));
    group.close();
  });

  it('says what a job held that ended before its sampler looked', async (t) => {
    const site = newSite(t, { conf: { cgroup: 'own' }, settings: ['cgroup = "own"', 'listener = false'], armWait: 0 });
    // Holds the last 8 MiB that it read, for a moment.
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

  it('is removed when the sampler was killed; what outlives the job goes back, alive', async (t) => {
    const site = newSite(t, own);
    // It says who it is once the session is its own: the shepherd kills what is still in the job's process group.
    const stays = `setsid /bin/sh -c 'echo $$ >"${site.directory}/left"; exec sleep 300' &`;
    const hold = heldJob(site, 'exit 0', stays);
    const job = startJob(site, hold.command);
    cleanUp(t, job);
    await job.step('start');
    const left = await until(
      () =>
        existsSync(join(site.directory, 'left'))
          ? Number(readFileSync(join(site.directory, 'left'), 'utf8')) || null
          : null,
      'the process that stays',
    );
    t.after(() => {
      // The clean-up of the site may have met it.
      if (existsSync(`/proc/${left}`)) process.kill(left, 'SIGKILL');
    });
    assert.match(pathIn(left, 'memory') ?? '', /qmemacct-jobs/);
    process.kill(await until(() => job.sampler(), 'the sampler'), 'SIGKILL');
    hold.letGo();
    const steps = await job.ended;
    assert.equal(steps.epilog?.status, 0);
    await quiet(site);
    assert.deepEqual(groupsOf(job.key), []);
    assert.equal(pathIn(left, 'memory'), pathIn(process.pid, 'memory'));
    // The kernel went on counting.
    const { metrics, peak_footprint: footprint } = nodeRecord(site, job.key);
    assert.ok((metrics.cgroup_peak_bytes ?? 0) > 0);
    assert.deepEqual([footprint?.proved, footprint?.open], [true, []]);
    assert.ok((footprint?.upper_bytes ?? 0) >= (metrics.cgroup_peak_bytes ?? Infinity));
  });

  it('is removed by the next job when sampler and shepherd were killed', async (t) => {
    const site = newSite(t, own);
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
      'its run directory is there: not a stray',
    );
    const next = startJob(site, ['/bin/true']);
    cleanUp(t, next);
    await next.ended;
    await quiet(site);
    assert.deepEqual(groupsOf(job.key), []);
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // The shepherd's death has ended it.
    }
  });

  it('without a run directory is a stray, and is removed as such', () => {
    const key = `9.0.00000000.${process.pid}.1`;
    for (const name of HIERARCHIES) {
      const top = join(ROOT, name, JOBS_GROUP);
      if (existsSync(top)) mkdirSync(join(top, key));
    }
    const places = { directories: [temporaryDirectory()] };
    assert.ok(strayCgroups(places).includes(key));
    removeStrayCgroups(places);
    assert.ok(groupsOf(key).length > 0, 'not in its first minute');
    assert.equal(removeJobCgroup(key, null), 'removed');
    assert.deepEqual(groupsOf(key), []);
  });

  it('costs the prolog some milliseconds', (t) =>
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

  it('is not made where Grid Engine makes one, or where nobody asked', async (t) => {
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

describe('the group in other worlds', { skip: shepherdObstacle() ?? false, concurrency: 2 }, () => {
  /** A v2 tree of plain files, which take whatever is written to them. */
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
    'v2: controllers that only count are switched on, cpu is not',
    async (t) => {
      const root = v2Tree({});
      const { job, note } = await runIn(t, root);
      assert.equal(note?.problem, null);
      assert.equal(note.origins.get('unified'), unifiedPath);
      assert.equal(readFileSync(join(root, JOBS_GROUP, job.key, 'cgroup.procs'), 'utf8'), `${job.shepherd}\n`);
      // Plain files keep the last word only: each was written alone.
      assert.equal(readFileSync(join(root, JOBS_GROUP, 'cgroup.subtree_control'), 'utf8'), '+io\n');
    },
    noV2,
  );

  it(
    'v2: a scheduler that divides by groups keeps io off',
    async (t) => {
      const root = v2Tree({ 'sys/block/sda/queue/scheduler': 'mq-deadline kyber [bfq] none\n' });
      const { note } = await runIn(t, root);
      assert.equal(note?.problem, null);
      assert.equal(readFileSync(join(root, JOBS_GROUP, 'cgroup.subtree_control'), 'utf8'), '+pids\n');
    },
    noV2,
  );

  it(
    'v2: a shepherd at the top stays there where cpu is divided',
    async (t) => {
      const root = v2Tree({ 'cgroup.subtree_control': 'cpu memory\n' });
      const { note } = await runIn(t, root);
      assert.match(note?.problem ?? '', /at the top/);
      assert.deepEqual(existsSync(join(root, JOBS_GROUP)) ? readdirSync(join(root, JOBS_GROUP)) : [], []);
    },
    unifiedPath !== '/',
  );

  it('no hierarchy that counts memory: said, and no harm', async (t) => {
    const { note } = await runIn(t, temporaryDirectory());
    assert.match(note?.problem ?? '', /counts memory/);
  });

  it('a root that is not there: said, and no harm', async (t) => {
    const { note } = await runIn(t, '/no/such/cgroup');
    assert.match(note?.problem ?? '', /counts memory/);
  });

  it('v1: a memory limit above the shepherd keeps it where it is', async (t) => {
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

describe('limits of v2 that a shepherd would leave', () => {
  /** Runs the shell functions on a tree of files, without a job. */
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
  const free = { 'memory.max': 'max\n', 'cpu.max': 'max 100000\n', 'cpuset.cpus': '\n', 'io.max': '' };
  const at = (path: string, files: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(Object.entries(files).map(([name, text]) => [`${path}/${name}`, text]));

  it('none: goes', () => {
    assert.equal(problemOf({ ...at('a', free), ...at('a/b', free) }, '/a/b'), '');
    assert.equal(problemOf({}, '/a/b c'), '');
  });

  it('its own or one above: stays', () => {
    assert.match(
      problemOf({ ...at('a', free), ...at('a/b', { ...free, 'memory.high': '1073741824\n' }) }, '/a/b'),
      /memory\.high/,
    );
    assert.match(
      problemOf({ ...at('a', { ...free, 'cpu.max': '200000 100000\n' }), ...at('a/b', free) }, '/a/b'),
      /^\/a has a limit \(cpu\.max\)/,
    );
    assert.match(problemOf(at('a', { 'cpuset.cpus': '0-3\n' }), '/a'), /cpuset/);
    assert.match(problemOf(at('a', { 'io.max': '8:0 rbps=1048576 wbps=max\n' }), '/a'), /io\.max/);
  });
});
