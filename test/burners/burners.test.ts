import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';

import { burner, burnerNames, burnersObstacle, readTruth, type Burner, type Truth } from './build.js';
import { runWatched, type Run } from './watched.js';
import { oneOf } from '../tries.js';
import { temporaryDirectory } from '../support/temporary-directory';
import { until } from '../support/until';

const MiB = 1024 * 1024;

/** Counters in status and ru_maxrss are off by batches per CPU: three kinds of page, 32 pages or 2 per CPU a batch. */
const cpus = readFileSync('/proc/stat', 'utf8').match(/^cpu\d/gm)?.length ?? 1;
const counterSlack = 3 * cpus * Math.max(32, 2 * cpus) * 4096;

function assertWithin(what: string, value: number, low: number, high: number): void {
  assert.ok(value >= low && value <= high, `${what}: ${value} is not in [${low}, ${high}]`);
}

function footprintOf(truth: Truth): number {
  assert.ok(truth.footprint !== null);
  return truth.footprint;
}

/** Asserts that the watcher saw the sums of the truth; `seen`: which of its sums apply to this burner. */
function assertSeen({ truth, watched }: Run, seen: 'all' | 'execed'): void {
  const rss = seen === 'all' ? watched.all_rss : watched.execed_rss;
  const vmsize = seen === 'all' ? watched.all_vmsize : watched.execed_vmsize;
  assertWithin('rss seen', rss, truth.rssSum - counterSlack, truth.rssSum + truth.uncertainty + counterSlack);
  assertWithin('vmem seen', vmsize, truth.vmemSum, truth.vmemSum + truth.uncertainty);
  assertWithin('VmPeak seen', watched.vmpeak, truth.processVmem, truth.processVmem);
  assert.ok(watched.all_rss <= truth.pidRssSum + truth.uncertainty + counterSlack + 2 * MiB, 'rss of all pids');
}

/** For a burner of one process at a time: asserts that the kernel's ru_maxrss is its largest image. */
function assertLargestImage({ truth, watched }: Run): void {
  const largest = Math.max(...truth.processes.map((process) => process.rss));
  assertWithin('ru_maxrss', watched.maxrss, largest - counterSlack, largest + truth.uncertainty + counterSlack);
}

/** N MiB of the burner's own, plus what `images` small images of it may need. */
function assertAbout(what: string, bytes: number, mib: number, images: number): void {
  assertWithin(what, bytes, mib * MiB, (mib + 3 * images) * MiB);
}

describe('the truth that a burner writes', { skip: burnersObstacle() ?? false }, () => {
  for (const [name, options, mib] of [
    ['steady', ['--mib=32', '--hold=250'], 32],
    ['spike', ['--mib=32', '--base=8', '--length=250', '--before=50', '--after=50'], 40],
    ['growing', ['--mib=32', '--over=300', '--hold=250'], 32],
    ['threads', ['--mib=32', '--threads=8', '--hold=250'], 32],
    ['leader-exits', ['--mib=32', '--threads=3', '--grow=100', '--hold=250'], 32],
    ['shrink-by-exec', ['--mib=32', '--hold=250', '--after=50'], 32],
    ['daemon', ['--mib=32', '--hold=250'], 32],
  ] as const) {
    it(`is the peak of ${name}`, async () => {
      const run = await runWatched(name, options);
      assertSeen(run, 'all');
      assertLargestImage(run);
      assertAbout('rss', run.truth.rssSum, mib, 1);
      assertAbout('footprint', footprintOf(run.truth), mib, 1);
      assert.equal(run.truth.pidRssSum, run.truth.rssSum);
      assert.equal(run.truth.walked, true);
    });
  }

  it('is the peak of a spike that is too short to be seen, with its length', () =>
    oneOf(5, async () => {
      const run = await runWatched(
        'spike',
        ['--mib=96', '--base=4', '--length=1', '--before=20', '--after=20'],
        Infinity,
      );
      assertAbout('rss', run.truth.rssSum, 100, 1);
      assertWithin('length', run.truth.extra.length_ms ?? -1, 1, 100);
      assertLargestImage(run);
    }));

  it('counts a daemon and its waiting parent', async () => {
    const run = await runWatched('daemon', ['--mib=32', '--hold=250', '--wait=1', '--execs=1']);
    assertSeen(run, 'execed');
    assertLargestImage(run);
    assert.deepEqual(
      run.truth.processes.map((process) => process.role),
      ['daemon', 'parent'],
    );
    assert.equal(run.watched.orphans, 1);
  });

  it('counts the helper of fork-large-parent, not the image before its exec', async () => {
    const run = await runWatched('fork-large-parent', ['--mib=32', '--delay=200', '--hold=200', '--helper=4']);
    assertSeen(run, 'execed');
    assertAbout('rss', run.truth.rssSum, 36, 2);
    assertWithin('rss of all pids seen', run.watched.all_rss, run.truth.pidRssSum - counterSlack, 76 * MiB);
    assertAbout('rss of all pids', run.truth.pidRssSum, 64, 2);
  });

  it('counts a copy in fork-large-parent that stays, its shared pages once in the footprint', async () => {
    const run = await runWatched('fork-large-parent', ['--mib=32', '--execs=0', '--dirty=16', '--hold=200']);
    assertSeen(run, 'all');
    assertAbout('rss', run.truth.rssSum, 64, 2);
    assertAbout('footprint', footprintOf(run.truth), 48, 2);
  });

  for (const how of ['vfork', 'spawn'] as const) {
    it(`counts one address space for the two pids of vfork (${how})`, async () => {
      const options = ['--mib=32', `--how=${how}`, '--delay=200', '--hold=200', '--helper=4'];
      const run = await runWatched('vfork', options);
      assertSeen(run, 'execed');
      assertAbout('rss', run.truth.rssSum, 36, 2);
      if (how === 'vfork') assertAbout('rss of all pids seen', run.watched.all_rss, 64, 2);
    });
  }

  for (const execs of [0, 1]) {
    it(`counts N MiB once for handover (execs=${execs}), where two processes hold them in turn`, async () => {
      const run = await runWatched('handover', ['--mib=32', '--rounds=2', '--hold=150', `--execs=${execs}`], 150);
      assertSeen(run, 'all');
      assertAbout('rss', run.truth.rssSum, 32, 3);
      const marks = run.truth.processes.map((process) => process.hwm).sort((a, b) => b - a);
      assert.ok((marks[0] ?? 0) + (marks[1] ?? 0) > 61 * MiB, 'both marks reach N');
    });
  }

  for (const how of ['first', 'child', 'orphan'] as const) {
    it(`is the largest image of exec-chain (${how})`, async () => {
      const options = ['--mib=32', '--images=4', '--peak=1', '--hold=200', `--how=${how}`, '--thread=1'];
      const run = await runWatched('exec-chain', options);
      assertSeen(run, how === 'first' ? 'all' : 'execed');
      assertAbout('rss', run.truth.rssSum, 32, 2);
      assert.equal(run.truth.extra.images, 4);
      assert.equal(run.watched.orphans, how === 'orphan' ? 1 : 0);
    });
  }

  for (const execs of [0, 1]) {
    it(`counts the whole tree of fork-tree (execs=${execs})`, async () => {
      const run = await runWatched('fork-tree', [
        '--depth=2',
        '--fanout=3',
        '--mib=8',
        `--execs=${execs}`,
        '--hold=300',
      ]);
      assertSeen(run, 'all');
      assertAbout('rss', run.truth.rssSum, execs === 1 ? 13 * 8 : 8 + 3 * 16 + 9 * 24, 13);
      assert.equal(run.truth.children, 12);
    });
  }

  it('counts the map of shared-map in RSS once for each process, in the footprint once', async () => {
    const run = await runWatched('shared-map', ['--mib=16', '--processes=4', '--hold=250']);
    assertSeen(run, 'all');
    assertAbout('rss', run.truth.rssSum, 64, 5);
    assertAbout('footprint', footprintOf(run.truth), 16, 1);
    assert.equal(run.truth.shmem, 64 * MiB);
  });

  for (const execs of [0, 1]) {
    it(`is the fullest wave of many-children (execs=${execs})`, async () => {
      const options = ['--children=10', '--concurrency=4', '--mib=16', '--life=150', `--execs=${execs}`];
      const run = await runWatched('many-children', options, 150);
      assertSeen(run, 'all');
      assertAbout('rss', run.truth.rssSum, 64, 5);
      assert.equal(run.truth.children, 10);
      assert.equal(run.truth.extra.waves, 3);
      assert.equal(run.truth.processes.length, 5);
    });
  }

  it('has the CPU time that was asked of cpu, in threads and processes', () =>
    // A virtual machine that loses its CPU for a while counts that as used.
    oneOf(5, async () => {
      const options = ['--seconds=0.4', '--threads=2', '--processes=2', '--system=0.3'];
      // The threads keep the watcher from the CPU; the memory is the same from the first moment to the last.
      const run = await runWatched('cpu', options, 800);
      assertWithin('cpu', run.truth.cpuSeconds, 0.4, 0.45);
      assertWithin('cpu seen', run.watched.cpu_s, run.truth.cpuSeconds, run.truth.cpuSeconds + 0.02);
      assertSeen(run, 'all');
    }));

  it('has the bytes that were asked of io', async () => {
    const { truth, watched } = await runWatched('io', ['--mib=8', '--hold=50'], Infinity);
    assert.equal(truth.extra.io_written, 8 * MiB);
    assert.equal(truth.extra.io_read, 8 * MiB);
    assertWithin('wchar', truth.extra.wchar ?? -1, 8 * MiB, 8 * MiB + 8192);
    assertWithin('written to the device', watched.oublock * 512, truth.extra.write_bytes ?? -1, 9 * MiB);
  });
});

describe('a burner', { skip: burnersObstacle() ?? false }, () => {
  it('refuses an unknown option or a bad number, and names it', () => {
    for (const wrong of ['--nonsense=1', '--mib=many', '64']) {
      const { status, stderr } = spawnSync(burner('steady'), [wrong], { encoding: 'utf8' });
      assert.equal(status, 2);
      assert.ok(stderr.includes(wrong), stderr);
    }
  });

  it('leaves no process behind when it is killed', async () => {
    for (const name of ['fork-large-parent', 'vfork', 'many-children'] as const satisfies readonly Burner[]) {
      const options = ['--mib=8', name === 'many-children' ? '--life=900000' : '--hold=900000'];
      const victim = spawn(burner(name), options, { stdio: 'ignore' });
      const children = await until(() => {
        const found = childrenOf(victim.pid ?? -1);
        return found.length > 0 && found;
      }, `a child of ${name}`);
      victim.kill('SIGKILL');
      await once(victim, 'exit');
      // Without the kill the children would outlive this wait.
      await until(() => !children.some(isAlive), `the end of the children of ${name}`);
    }
  });
});

describe('burner()', { skip: burnersObstacle() ?? false }, () => {
  it('compiles programs that every user can run, and truths of several runs go into one file', () => {
    for (const name of burnerNames()) {
      assert.equal(statSync(burner(name)).mode & 0o777, 0o755);
      assert.equal(statSync(dirname(burner(name))).mode & 0o777, 0o755);
    }
    const directory = temporaryDirectory();
    chmodSync(directory, 0o777);

    const file = join(directory, 'truth');
    const nobody = process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : {};
    for (const mib of [1, 2]) execFileSync(burner('steady'), [`--mib=${mib}`, '--hold=0', `--truth=${file}`], nobody);
    assert.equal(readTruth(file).length, 2);
  });

  it('leaves one program where several processes compile it at the same time', async () => {
    const directory = temporaryDirectory();

    const script = `process.stdout.write(require(${JSON.stringify(join(__dirname, 'build.js'))}).burner('io'))`;
    const env = { ...process.env, TMPDIR: directory };
    const builders = Array.from({ length: 4 }, () => spawn(process.execPath, ['-e', script], { env, stdio: 'ignore' }));
    for (const [status] of await Promise.all(builders.map((builder) => once(builder, 'exit')))) assert.equal(status, 0);
    const cache = join(directory, readdirSync(directory)[0] ?? '');
    assert.equal(readdirSync(cache).length, 1, 'one result, no scratch left');
  });
});

function statOf(pid: string): string[] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}

function childrenOf(pid: number): string[] {
  return readdirSync('/proc').filter((entry) => /^\d+$/.test(entry) && statOf(entry)[1] === String(pid));
}

function isAlive(pid: string): boolean {
  const [state] = statOf(pid);
  return state !== undefined && state !== 'Z' && state !== 'X';
}
