import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { removeLiveFile, runningRecords, writeLiveFile } from '../../../src/sampler/node-store/live-records';
import type { JobRecord } from '../../../src/record/record';
import { runDirectoryName, runId, type RunDescription } from '../../../src/sampler/job/run-description';
import { DEFAULT_SETTINGS, type Settings } from '../../../src/record/settings';
import { temporaryDirectory } from '../../support/temporary-directory';
import { recordOf } from '../../support/records';
import { runOf } from '../../support/runs';

const run = (job: number): RunDescription => runOf({ job });
const record = (job: number): JobRecord => recordOf({ job_id: job, run_id: runId(run(job)), status: 'running' });

function settingsIn(): Settings {
  return { ...DEFAULT_SETTINGS, run_dir: join(temporaryDirectory(), 'run') };
}

describe('live files', () => {
  it('are written, replaced and removed', () => {
    const settings = settingsIn();
    assert.deepEqual(runningRecords(settings), []);
    removeLiveFile(settings, runDirectoryName(run(1)));
    writeLiveFile(settings, run(1), record(1), null);
    writeLiveFile(settings, run(2), record(2), null);
    assert.deepEqual(
      runningRecords(settings).map(({ job_id }) => job_id),
      [1, 2],
    );
    writeLiveFile(settings, run(1), { ...record(1), samples: 5 }, null);
    assert.equal(runningRecords(settings)[0]?.samples, 5);
    removeLiveFile(settings, runDirectoryName(run(1)));
    assert.deepEqual(
      runningRecords(settings).map(({ job_id }) => job_id),
      [2],
    );
  });

  it('are ignored where they are not records', () => {
    const settings = settingsIn();
    writeLiveFile(settings, run(1), record(1), null);
    const live = join(settings.run_dir, 'live');
    writeFileSync(join(live, 'x.json'), '{');
    writeFileSync(join(live, 'y.json.new'), '{}');
    mkdirSync(join(live, 'z.json'));
    assert.equal(runningRecords(settings).length, 1);
  });

  it('replace a file that a dead sampler left half written', () => {
    const settings = settingsIn();
    writeLiveFile(settings, run(1), record(1), null);
    const [name = ''] = readdirSync(join(settings.run_dir, 'live'));
    writeFileSync(join(settings.run_dir, 'live', `${name}.new`), '');
    for (let tries = 0; tries < 2; tries++) writeLiveFile(settings, run(1), { ...record(1), samples: 9 }, null);
    assert.equal(runningRecords(settings)[0]?.samples, 9);
  });

  it('are missing, without an error, where they can’t be written', () => {
    const settings = settingsIn();
    writeFileSync(settings.run_dir, '');
    writeLiveFile(settings, run(1), record(1), null);
    assert.deepEqual(runningRecords(settings), []);
  });

  it(
    'can be read by the job’s owner alone, and written by no user, also under a sampler’s umask',
    { skip: process.getuid?.() !== 0 },
    () => {
      const settings = settingsIn();
      const umask = process.umask(0o077);
      writeLiveFile(settings, run(1), record(1), 65534);
      process.umask(umask);
      const live = join(settings.run_dir, 'live');
      const path = join(live, `1.0.${runId(run(1))}.json`);
      for (const directory of [settings.run_dir, live]) assert.equal(statSync(directory).mode & 0o777, 0o755);
      const as = (uid: number, gid: number, ...words: readonly string[]): number | null =>
        spawnSync('/bin/sh', ['-c', words.join(' ')], { uid, gid }).status;
      // The temporary directory around it is private, so the way there is opened first.
      spawnSync('chmod', ['755', join(settings.run_dir, '..')]);
      assert.equal(as(65534, 65534, 'cat', path), 0);
      assert.notEqual(as(65533, 0, 'cat', path), 0);
      assert.notEqual(as(65534, 65534, 'chmod u+w', path), 0);
      assert.notEqual(as(65534, 65534, 'echo >>', path), 0);
      assert.deepEqual(runningRecords(settings), [record(1)]);
    },
  );
});
