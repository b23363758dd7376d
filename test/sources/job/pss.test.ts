import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { pss } from '../../../src/sources/job/pss';
import { isUnavailable, type OpenProcessSource, type Place, type Reading } from '../../../src/sources/source';
import { burner, burnersObstacle, type Burner } from '../../burners/build';
import { temporaryDirectory } from '../../support/temporary-directory';
import { oneOf } from '../../tries';
import { placeOf, pssFixture } from './fixtures';
import { until } from '../../support/until';

const KIB = 1024;
const MIB = 1024 * KIB;

function opened(t: TestContext, place: Partial<Place> = {}): OpenProcessSource {
  const source = pss.open(placeOf(pss, place));
  assert.ok(!isUnavailable(source));
  t.after(source.close);
  return source;
}

function readAll(source: OpenProcessSource, pids: readonly number[]): readonly Reading[] {
  const readings = source.read(pids);
  assert.ok(!isUnavailable(readings), JSON.stringify(readings));
  return readings;
}

const valueOf = (readings: readonly Reading[], metric: string, pid?: number): number | undefined =>
  readings.find((reading) => reading.metric === metric && reading.pid === pid)?.value;

const sumOf = (readings: readonly Reading[], metric: string): number =>
  readings.reduce((sum, reading) => sum + (reading.metric === metric ? reading.value : 0), 0);

describe('pss', () => {
  it('gives every process its own readings, and none to a zombie or a process that has gone', (t) => {
    const source = opened(t, { proc: pssFixture('linux-6.1') });
    const asked: number[] = [];
    const readings = source.read([4243, 4242, 4250, 99], (pid) => asked.push(pid));
    assert.ok(!isUnavailable(readings));
    // The largest process is read first.
    assert.deepEqual(asked, [4242, 4243]);
    assert.equal(valueOf(readings, 'pss_bytes', 4242), 61_000 * KIB);
    assert.equal(valueOf(readings, 'pss_bytes', 4243), 36_000 * KIB);
    assert.equal(valueOf(readings, 'pss_anon_bytes', 4242), 46_000 * KIB);
    assert.equal(valueOf(readings, 'pss_file_bytes', 4242), 15_000 * KIB);
    assert.equal(valueOf(readings, 'pss_shmem_bytes', 4242), 0);
    assert.equal(valueOf(readings, 'pss_swap_bytes', 4243), 32 * KIB);
    assert.equal(valueOf(readings, 'pss_uss_bytes', 4242), 48_000 * KIB);
    assert.equal(valueOf(readings, 'pss_shared_bytes', 4242), 32_000 * KIB);
    assert.equal(valueOf(readings, 'pss_footprint_bytes', 4243), 28_032 * KIB);
    assert.equal(valueOf(readings, 'pss_skipped_processes'), 0);
    for (const { metric } of readings)
      assert.ok(
        pss.metrics.some(({ name }) => name === metric),
        metric,
      );
  });

  it('reads smaps, which have no swap, on Linux 3.10', (t) => {
    const readings = readAll(opened(t, { proc: pssFixture('linux-3.10') }), [4242]);
    assert.equal(valueOf(readings, 'pss_bytes', 4242), 100_509 * KIB);
    assert.equal(valueOf(readings, 'pss_swap_bytes', 4242), undefined);
    assert.equal(valueOf(readings, 'pss_footprint_bytes', 4242), (94_476 + 5760) * KIB);
  });

  it('has no memory of files on Linux 4.18, whose rollup has no split', (t) => {
    const readings = readAll(opened(t, { proc: pssFixture('linux-4.18') }), [4242]);
    assert.equal(valueOf(readings, 'pss_anon_bytes', 4242), 862_192 * KIB);
    assert.equal(valueOf(readings, 'pss_file_bytes', 4242), undefined);
    assert.equal(valueOf(readings, 'pss_footprint_bytes', 4242), 862_192 * KIB);
  });

  it('reads Linux 5.14 with 4 and 64 KiB pages', (t) => {
    const readings = readAll(opened(t, { proc: pssFixture('linux-5.14') }), [4242]);
    assert.equal(valueOf(readings, 'pss_footprint_bytes', 4242), (4_818_000 + 130_000 + 1_000_000) * KIB);
    assert.equal(valueOf(readings, 'pss_hugetlb_bytes', 4242), 2560 * 1024 * KIB);
    const arm = readAll(opened(t, { proc: pssFixture('linux-5.14-arm64-64k') }), [4242]);
    assert.equal(valueOf(arm, 'pss_anon_huge_bytes', 4242), 2560 * MIB);
  });

  function copyOf(name: string): string {
    const proc = join(temporaryDirectory(), 'proc');
    cpSync(pssFixture(name), proc, { recursive: true });
    return proc;
  }

  it('does not count memory that a process has freed before the last process was read', (t) => {
    const proc = copyOf('linux-6.1');
    const status = join(proc, '4242', 'status');
    writeFileSync(status, readFileSync(status, 'utf8').replace(/RssAnon:.*/, 'RssAnon:\t   1000 kB'));
    const readings = readAll(opened(t, { proc }), [4242, 4243]);
    assert.equal(valueOf(readings, 'pss_bytes', 4242), 61_000 * KIB);
    assert.equal(valueOf(readings, 'pss_footprint_bytes', 4242), 1000 * KIB);
    assert.equal(valueOf(readings, 'pss_footprint_bytes', 4243), 28_032 * KIB);
  });

  it('reads a process whose first thread has exited through another thread', (t) => {
    const proc = copyOf('linux-6.1');
    const task = join(proc, '4250', 'task');
    mkdirSync(task);
    cpSync(join(proc, '4250', 'statm'), join(task, '4250', 'statm'));
    cpSync(join(proc, '4243'), join(task, '4251'), { recursive: true });
    const readings = readAll(opened(t, { proc }), [4250]);
    assert.equal(valueOf(readings, 'pss_footprint_bytes', 4250), 28_032 * KIB);
  });

  it('skips a process that would take too long to read, and counts it as skipped', (t) => {
    const source = opened(t, {
      proc: pssFixture('linux-5.14'),
      options: { most_seconds: 0.1 },
    });
    const readings = readAll(source, [4242]);
    assert.equal(valueOf(readings, 'pss_bytes', 4242), undefined);
    assert.equal(valueOf(readings, 'pss_skipped_processes'), 1);
  });

  it('goes by the time that a process took before: huge pages cost next to nothing', (t) =>
    oneOf(5, () => {
      const proc = copyOf('linux-5.14');
      const source = opened(t, { proc, options: { most_seconds: 0.2 } });
      assert.equal(valueOf(readAll(source, [4242]), 'pss_skipped_processes'), 0);
      writeFileSync(join(proc, '4242', 'statm'), '99000000 40000000 1 1 0 1 0\n');
      assert.equal(valueOf(readAll(source, [4242]), 'pss_skipped_processes'), 0);
      assert.equal(
        valueOf(readAll(opened(t, { proc, options: { most_seconds: 0.2 } }), [4242]), 'pss_skipped_processes'),
        1,
      );
    }));

  it('skips smaps with too many mappings, and tries again after ten minutes', (t) => {
    const proc = copyOf('linux-3.10');
    let now = 0;
    const source = opened(t, { proc, options: { most_maps: 12 }, now: () => now });
    const asked: number[] = [];
    const skippedAt = (ms: number): number | undefined => {
      now = ms;
      const readings = source.read([4242], (pid) => asked.push(pid));
      return isUnavailable(readings) ? undefined : valueOf(readings, 'pss_skipped_processes');
    };
    assert.equal(skippedAt(0), 1);
    assert.equal(skippedAt(600_000), 1);
    assert.deepEqual(asked, [4242]);
    assert.equal(skippedAt(600_001), 1);
    assert.deepEqual(asked, [4242, 4242]);
    assert.equal(valueOf(readAll(opened(t, { proc, options: { most_maps: 13 } }), [4242]), 'pss_skipped_processes'), 0);
  });

  it('is unavailable on a kernel that has neither file', () => {
    const source = pss.open(placeOf(pss, { proc: temporaryDirectory() }));
    assert.ok(isUnavailable(source));
    assert.match(source.unavailable, /CONFIG_PROC_PAGE_MONITOR/);
  });

  it('is unavailable without the right to read, and skips one process that it may not read', (t) => {
    const proc = copyOf('linux-6.18');
    const file = join(proc, '4242', 'smaps_rollup');
    // A directory, since root can read every plain file.
    rmSync(file);
    mkdirSync(file);
    const source = opened(t, { proc });
    const readings = source.read([4242]);
    assert.ok(isUnavailable(readings));
    assert.match(readings.unavailable, /permission denied/);
    cpSync(join(proc, 'self'), join(proc, '4243'), { recursive: true });
    for (const name of ['statm', 'status']) cpSync(join(proc, '4242', name), join(proc, '4243', name));
    const both = readAll(source, [4242, 4243]);
    assert.equal(valueOf(both, 'pss_skipped_processes'), 1);
    assert.equal(valueOf(both, 'pss_bytes', 4243), 358 * KIB);
  });
});

describe('pss of real processes', { skip: burnersObstacle() ?? false }, () => {
  async function running(t: TestContext, name: Burner, options: readonly string[]): Promise<number> {
    const child = spawn(burner(name), options, { stdio: 'ignore' });
    t.after(async () => {
      child.kill('SIGKILL');
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    });
    await once(child, 'spawn');
    return child.pid ?? 0;
  }

  const childrenOf = (pid: number): readonly number[] =>
    readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim().split(' ').filter(Boolean).map(Number);

  function readUntil(
    source: OpenProcessSource,
    pids: () => readonly number[],
    enough: (readings: readonly Reading[]) => boolean,
  ): Promise<readonly Reading[]> {
    return until(() => {
      const readings = readAll(source, pids());
      return enough(readings) && readings;
    });
  }

  it('divides a shared map among the processes that touch it', async (t) => {
    const pid = await running(t, 'shared-map', ['--mib=64', '--processes=4', '--hold=120000']);
    const source = opened(t);
    const readings = await readUntil(
      source,
      () => [pid, ...childrenOf(pid)],
      (all) =>
        sumOf(all, 'pss_shmem_bytes') > 63.9 * MIB &&
        childrenOf(pid).length === 4 &&
        childrenOf(pid).every((child) => (valueOf(all, 'pss_shmem_bytes', child) ?? 0) < 16.1 * MIB),
    );
    for (const child of childrenOf(pid)) {
      const shmem = valueOf(readings, 'pss_shmem_bytes', child) ?? 0;
      assert.ok(Math.abs(shmem - 16 * MIB) < 0.1 * MIB, `${shmem}`);
      assert.ok((valueOf(readings, 'pss_shared_bytes', child) ?? 0) >= 64 * MIB);
    }
    const footprint = sumOf(readings, 'pss_footprint_bytes');
    assert.ok(footprint > 64 * MIB && footprint < 67 * MIB, `${footprint}`);
    assert.equal(valueOf(readings, 'pss_skipped_processes'), 0);
  });

  it('agrees with the full smaps', async (t) => {
    const pid = await running(t, 'steady', ['--mib=64', '--hold=120000']);
    const rollup = await readUntil(
      opened(t),
      () => [pid],
      (all) => (valueOf(all, 'pss_anon_bytes', pid) ?? 0) > 64 * MIB,
    );
    // A copy of the same files of /proc without the rollup.
    const proc = join(temporaryDirectory(), 'proc');
    for (const name of ['self', String(pid)]) {
      mkdirSync(join(proc, name), { recursive: true });
      for (const file of ['smaps', 'statm', 'status'])
        writeFileSync(join(proc, name, file), readFileSync(`/proc/${pid}/${file}`));
    }
    const full = readAll(opened(t, { proc }), [pid]);
    const names = ['pss_bytes', 'pss_anon_bytes', 'pss_uss_bytes', 'pss_shared_bytes', 'pss_footprint_bytes'];
    for (const metric of names) {
      const [one = 0, other = 0] = [valueOf(rollup, metric, pid), valueOf(full, metric, pid)];
      // Each mapping is rounded down to 1 KiB; libc's pages are shared with processes that come and go.
      assert.ok(Math.abs(one - other) < 0.5 * MIB, `${metric}: ${one} against ${other}`);
    }
  });

  it('sees a process whose first thread has exited', async (t) => {
    const pid = await running(t, 'leader-exits', ['--mib=32', '--threads=3', '--grow=10', '--hold=120000']);
    const readings = await readUntil(
      opened(t),
      () => [pid, ...childrenOf(pid)],
      (all) => sumOf(all, 'pss_footprint_bytes') > 32 * MIB,
    );
    assert.equal(valueOf(readings, 'pss_skipped_processes'), 0);
  });
});
