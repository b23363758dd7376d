import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { watchSpools, type SpoolEntry, type SpoolWatch } from '../../../src/sampler/service/spool-watch';
import { temporaryDirectory } from '../../support/temporary-directory';
import { until } from '../../support/until';

interface Spools {
  readonly directory: string;
  readonly heard: SpoolEntry[];
  readonly watch: SpoolWatch;
  /** How often a directory was reported. */
  readonly times: (path: string) => number;
  readonly reported: (path: string, more?: number) => Promise<SpoolEntry>;
}

function watchSome(t: TestContext, before: (directory: string) => void = () => undefined): Spools {
  const directory = join(temporaryDirectory(), 'active_jobs');
  mkdirSync(directory);
  before(directory);
  const heard: SpoolEntry[] = [];
  const watch = watchSpools(directory, (entry) => heard.push(entry));
  t.after(() => watch.close());
  const times = (path: string): number => heard.filter((entry) => entry.path === join(directory, path)).length;
  return {
    directory,
    heard,
    watch,
    times,
    reported: async (path, more = 0) => {
      await until(() => times(path) > more, `a report of ${path}`);
      return heard.findLast((entry) => entry.path === join(directory, path)) as SpoolEntry;
    },
  };
}

describe('the watch on active_jobs', () => {
  it('reports the directories of jobs and tasks that exist, and no others', (t) => {
    const { directory, heard } = watchSome(t, (top) => {
      for (const path of ['12.1', '12.7', '13.1/1.ge2', '13.1/2.ge2', '0.1', '12', '12.0', 'x.1', '-1.1', '14.1x'])
        mkdirSync(join(top, path), { recursive: true });
      writeFileSync(join(top, '15.1'), 'no directory');
      symlinkSync('12.1', join(top, '16.1'));
      mkdirSync(join(top, '13.1', 'x.ge2'));
      symlinkSync('../12.1', join(top, '13.1', '3.ge2'));
    });
    assert.deepEqual(
      heard
        .map(({ path, ...rest }) => ({ path: path.slice(directory.length + 1), ...rest }))
        .sort((a, b) => (a.path < b.path ? -1 : 1)),
      [
        { path: '12.1', job: 12, task: 1, peTask: null },
        { path: '12.7', job: 12, task: 7, peTask: null },
        { path: '13.1', job: 13, task: 1, peTask: null },
        { path: '13.1/1.ge2', job: 13, task: 1, peTask: '1.ge2' },
        { path: '13.1/2.ge2', job: 13, task: 1, peTask: '2.ge2' },
      ],
    );
  });

  it('reports new jobs, changes in them, and their tasks', async (t) => {
    const { directory, reported, times } = watchSome(t);
    mkdirSync(join(directory, '20.3'));
    assert.deepEqual(await reported('20.3'), { path: join(directory, '20.3'), job: 20, task: 3, peTask: null });
    const before = times('20.3');
    writeFileSync(join(directory, '20.3', 'pid'), '7\n');
    await reported('20.3', before);
    mkdirSync(join(directory, '20.3', '1.node-1.site'));
    assert.equal((await reported('20.3/1.node-1.site')).peTask, '1.node-1.site');
    const earlier = times('20.3/1.node-1.site');
    writeFileSync(join(directory, '20.3', '1.node-1.site', 'config'), '');
    await reported('20.3/1.node-1.site', earlier);
  });

  it('reports tasks that were made together with their job or right after it', async (t) => {
    const { directory, reported } = watchSome(t);
    for (let job = 30; job < 60; job++) {
      mkdirSync(join(directory, `${job}.1`, '1.ge1'), { recursive: true });
      mkdirSync(join(directory, `${job}.1`, '2.ge1'));
    }
    for (let job = 30; job < 60; job++) for (const task of ['1.ge1', '2.ge1']) await reported(`${job}.1/${task}`);
  });

  it('goes on with a directory that is removed and made anew under its name', async (t) => {
    const { directory, reported, times } = watchSome(t);
    for (const path of ['70.1', '70.1/1.ge1']) {
      mkdirSync(join(directory, path));
      await reported(path);
      for (let round = 0; round < 3; round++) {
        rmSync(join(directory, path), { recursive: true });
        mkdirSync(join(directory, path));
        await delay(60);
        const before = times(path);
        writeFileSync(join(directory, path, 'job_pid'), '1\n');
        await reported(path, before);
      }
    }
  });

  it('ignores what the job’s owner writes to trace, error and exit_status', async (t) => {
    const { directory, reported, times } = watchSome(t);
    mkdirSync(join(directory, '80.1'));
    await reported('80.1');
    await delay(50);
    const before = times('80.1');
    for (const name of ['trace', 'error', 'exit_status']) writeFileSync(join(directory, '80.1', name), 'noise');
    await delay(100);
    assert.equal(times('80.1'), before);
  });

  it('reports every directory that exists on a rescan', async (t) => {
    const { directory, reported, times, watch, heard } = watchSome(t);
    // A directory that is moved in brings its tasks along without events of their own.
    mkdirSync(join(directory, '..', '90.1', '1.ge1'), { recursive: true });
    renameSync(join(directory, '..', '90.1'), join(directory, '90.1'));
    await reported('90.1/1.ge1');
    heard.length = 0;
    watch.rescan();
    assert.deepEqual([times('90.1'), times('90.1/1.ge1')], [1, 1]);
    rmSync(join(directory, '90.1'), { recursive: true });
    heard.length = 0;
    watch.rescan();
    assert.deepEqual(heard, []);
  });

  it('goes on after active_jobs was removed and made anew', async (t) => {
    const { directory, reported, watch, heard } = watchSome(t);
    rmSync(directory, { recursive: true });
    await delay(50);
    watch.rescan();
    assert.deepEqual(heard, []);
    mkdirSync(directory);
    watch.rescan();
    mkdirSync(join(directory, '95.1'));
    await reported('95.1');
  });

  it(
    'goes on after active_jobs could not be read for a while',
    { skip: process.getuid?.() === 0 ? 'root reads everything' : false },
    (t) => {
      const { directory, watch, heard } = watchSome(t, (top) => mkdirSync(join(top, '96.1')));
      chmodSync(directory, 0);
      heard.length = 0;
      watch.rescan();
      chmodSync(directory, 0o755);
      watch.rescan();
      assert.equal(heard.length, 1);
    },
  );

  it('reports a change in one of 500 jobs', async (t) => {
    const { directory, reported, heard, watch } = watchSome(t, (top) => {
      for (let job = 1; job <= 500; job++) mkdirSync(join(top, `${job}.1`));
    });
    assert.equal(heard.length, 500);
    writeFileSync(join(directory, '377.1', 'usage'), '');
    await reported('377.1', 1);
    for (let job = 1; job <= 500; job++) rmSync(join(directory, `${job}.1`), { recursive: true });
    await delay(100);
    heard.length = 0;
    watch.rescan();
    assert.deepEqual(heard, []);
  });

  it('reports nothing after close', async (t) => {
    const { directory, heard, watch } = watchSome(t, (top) => mkdirSync(join(top, '97.1')));
    watch.close();
    heard.length = 0;
    mkdirSync(join(directory, '98.1'));
    writeFileSync(join(directory, '97.1', 'pid'), '');
    await delay(100);
    assert.deepEqual(heard, []);
  });
});
