import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { SavedFollower } from '../../../src/sampler/job/job-follower';
import {
  readResumeState,
  removeResumeState,
  resumableRuns,
  writeResumeState,
} from '../../../src/sampler/job/resume-state';
import { parseRunDescription, runDirectoryName, type RunDescription } from '../../../src/sampler/job/run-description';
import { DEFAULT_SETTINGS, type Settings } from '../../../src/record/settings';
import { temporaryDirectory } from '../temporary-directory';

process.env.QMEMACCT_LOG = 'stderr';

function runOf(job: number): RunDescription {
  const text = `version=1\njob=${job}\ntask=0\nspool=/s\nshepherd_pid=7\nshepherd_start=8\nboot=0badcafe-1\nhooks=root\nmemory=full\nuptime=1\nend=1\n`;
  const run = parseRunDescription(text);
  assert.ok(run !== null);
  return run;
}

const STATE: SavedFollower = {
  sampler: { peaks: [1, 2, { three: 3 }], text: 'a "quoted" name' },
  cpuSeconds: 1.5,
  intervalMs: 1000,
  notes: ['one'],
  metrics: { perf_cycles: 7 },
};

function settingsIn(t: TestContext): Settings {
  return { ...DEFAULT_SETTINGS, run_dir: join(temporaryDirectory(t), 'run') };
}

const fileOf = (settings: Settings, run: RunDescription): string =>
  join(settings.run_dir, 'resume', `${runDirectoryName(run)}.json`);

describe('what a service leaves for its successor', () => {
  it('is there again, for root alone, until it is removed', (t) => {
    const settings = settingsIn(t);
    assert.equal(readResumeState(settings, runOf(1)), null);
    assert.deepEqual(resumableRuns(settings), new Set());
    removeResumeState(settings, runOf(1));
    writeResumeState(settings, runOf(1), { ...STATE, cpuSeconds: 1 });
    writeResumeState(settings, runOf(1), STATE);
    writeResumeState(settings, runOf(2), STATE);
    assert.deepEqual(readResumeState(settings, runOf(1)), { state: STATE });
    assert.deepEqual(resumableRuns(settings), new Set([1, 2].map((job) => runDirectoryName(runOf(job)))));
    assert.equal(statSync(join(settings.run_dir, 'resume')).mode & 0o777, 0o700);
    assert.equal(statSync(fileOf(settings, runOf(1))).mode & 0o777, 0o600);
    assert.equal(readdirSync(join(settings.run_dir, 'resume')).length, 2);
    removeResumeState(settings, runOf(1));
    assert.equal(readResumeState(settings, runOf(1)), null);
    assert.notEqual(readResumeState(settings, runOf(2)), null);
  });

  it('says how long nobody looked, where the listener has forgotten that time', (t) => {
    const settings = settingsIn(t);
    writeResumeState(settings, runOf(1), STATE);
    const now = Date.now();
    assert.equal(readResumeState(settings, runOf(1), now + 44_000)?.missed, undefined);
    assert.match(readResumeState(settings, runOf(1), now + 90_000)?.missed ?? '', /for about (89|90) s/);
    // The clock was set back.
    assert.equal(readResumeState(settings, runOf(1), now - 1e6)?.missed, undefined);
  });

  it('is of no use to another boot or version, or when it is torn', (t) => {
    const settings = settingsIn(t);
    const run = runOf(1);
    writeResumeState(settings, run, STATE);
    const path = fileOf(settings, run);
    const text = readFileSync(path, 'utf8');
    const whole = JSON.parse(text) as object;
    for (const other of [
      JSON.stringify({ ...whole, boot: '00000000-1111-2222-3333-444444444444' }),
      JSON.stringify({ ...whole, version: '0' }),
      text.slice(0, text.length / 2),
      '',
      'null',
      '[]',
    ]) {
      writeFileSync(path, other);
      assert.equal(readResumeState(settings, run), null, other.slice(0, 40));
    }
  });

  it('costs nobody a job where it can be written nowhere', (t) => {
    const settings = settingsIn(t);
    mkdirSync(settings.run_dir);
    writeFileSync(join(settings.run_dir, 'resume'), 'no directory');
    writeResumeState(settings, runOf(1), STATE);
    assert.equal(readResumeState(settings, runOf(1)), null);
    assert.deepEqual(resumableRuns(settings), new Set());
    rmSync(join(settings.run_dir, 'resume'));
  });
});
