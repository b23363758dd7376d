import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { SavedFollower } from '../../../src/sampler/job/surroundings';
import { JobSampler } from '../../../src/sampler/job/job-sampler';
import {
  parseHandedState,
  readResumeState,
  resumableRuns,
  writeResumeState,
} from '../../../src/sampler/job/resume-state';
import { removeResumeState, runDirectoryName, type RunDescription } from '../../../src/sampler/job/run-description';
import { thisMachine } from '../../../src/sampler/peaks/slack';
import { DEFAULT_SETTINGS, type Settings } from '../../../src/record/settings';
import { temporaryDirectory } from '../../support/temporary-directory';
import { runOf } from '../../support/runs';

process.env.QMEMACCT_LOG = 'stderr';

/** The state of a sampler that follows this very process. */
function stateOf(text = 'a "quoted" name'): SavedFollower {
  const sampler = new JobSampler(
    {
      procRoot: '/proc',
      shepherdPid: null,
      group: null,
      uid: () => null,
      notBefore: 0,
      precision: thisMachine(),
      sharesAddressSpace: () => false,
    },
    { left: 0 },
    10,
  );
  sampler.start(process.pid, Date.now() - 1000);
  sampler.listen();
  for (const last of [false, true]) sampler.settle(sampler.tick(Date.now(), false, { last }));
  const state = {
    sampler: sampler.save(),
    clock: 1,
    cpuSeconds: 1.5,
    intervalMs: 1000,
    notes: [text],
    metrics: { perf_cycles: 7 },
    earlier: null,
  };
  sampler.close();
  return state;
}

const STATE = stateOf();

function settingsIn(): Settings {
  return { ...DEFAULT_SETTINGS, run_dir: join(temporaryDirectory(), 'run') };
}

const fileOf = (settings: Settings, run: RunDescription): string =>
  join(settings.run_dir, 'resume', `${runDirectoryName(run)}.json`);

describe('the state that a service leaves for its successor', () => {
  it('can be read, by root alone, until it is removed', () => {
    const settings = settingsIn();
    assert.equal(readResumeState(settings, runOf({ job: 1 })), null);
    assert.deepEqual(resumableRuns(settings), new Set());
    removeResumeState(settings, runDirectoryName(runOf({ job: 1 })));
    writeResumeState(settings, runOf({ job: 1 }), { ...STATE, cpuSeconds: 1 });
    writeResumeState(settings, runOf({ job: 1 }), STATE);
    writeResumeState(settings, runOf({ job: 2 }), STATE);
    assert.deepEqual(readResumeState(settings, runOf({ job: 1 })), { state: STATE, missed: null });
    assert.deepEqual(resumableRuns(settings), new Set([1, 2].map((job) => runDirectoryName(runOf({ job })))));
    assert.equal(statSync(join(settings.run_dir, 'resume')).mode & 0o777, 0o700);
    assert.equal(statSync(fileOf(settings, runOf({ job: 1 }))).mode & 0o777, 0o600);
    assert.equal(readdirSync(join(settings.run_dir, 'resume')).length, 2);
    removeResumeState(settings, runDirectoryName(runOf({ job: 1 })));
    assert.equal(readResumeState(settings, runOf({ job: 1 })), null);
    assert.notEqual(readResumeState(settings, runOf({ job: 2 })), null);
  });

  it('comes with the length of the gap where the listener no longer remembers all of it', () => {
    const settings = settingsIn();
    writeResumeState(settings, runOf({ job: 1 }), STATE);
    const { at: now } = JSON.parse(readFileSync(fileOf(settings, runOf({ job: 1 })), 'utf8')) as {
      readonly at: number;
    };
    assert.equal(readResumeState(settings, runOf({ job: 1 }), now + 44_000)?.missed, null);
    assert.match(readResumeState(settings, runOf({ job: 1 }), now + 90_000)?.missed ?? '', /for about 90 s/);
    // The clock was set back.
    assert.equal(readResumeState(settings, runOf({ job: 1 }), now - 1e6)?.missed, null);
  });

  it('is not read after a reboot', () => {
    const settings = settingsIn();
    const run = runOf({ job: 1 });
    writeResumeState(settings, run, STATE);
    const path = fileOf(settings, run);
    const whole = JSON.parse(readFileSync(path, 'utf8')) as object;
    writeFileSync(path, JSON.stringify({ ...whole, boot: '00000000-1111-2222-3333-444444444444' }));
    assert.equal(readResumeState(settings, run), null);
  });

  it('is refused with the reason where it is malformed or torn, in a file or handed over', () => {
    const settings = settingsIn();
    const run = runOf({ job: 1 });
    writeResumeState(settings, run, STATE);
    const path = fileOf(settings, run);
    const text = readFileSync(path, 'utf8');
    for (const [other, reason] of [
      [text.replace('"rssMark":', '"rss_mark":'), /state\.sampler\.\S*rssMark is not a number/],
      [text.replace(/"samples":\d+/, '"samples":-1'), /state\.sampler\.sampling\.samples is not a number/],
      [text.replace(/"source":"\w+"/, '"source":"hearsay"'), /source is none of/],
      [text.replace('"cpuSeconds":1.5', '"cpuSeconds":null'), /state\.cpuSeconds is not a number/],
      [text.slice(0, text.length / 2), /its file is not JSON/],
      ['', /its file is not JSON/],
      ['null', /its file is not an object/],
      ['[]', /its file is not an object/],
    ] as const) {
      assert.notEqual(other, text);
      writeFileSync(path, other);
      const left = readResumeState(settings, run);
      assert.equal(left?.state, null, other.slice(0, 40));
      assert.match(left.missed, reason);
      assert.match(left.missed, /the job is followed anew/);
    }
    assert.deepEqual(parseHandedState(JSON.stringify(STATE)), { state: STATE, missed: null });
    assert.match(parseHandedState('{"sampler":').missed ?? '', /the state that was handed over is not JSON/);
    assert.match(parseHandedState(JSON.stringify({ ...STATE, notes: 1 })).missed ?? '', /notes is not a list/);
  });

  it('is missing, without an error, where it can’t be written', () => {
    const settings = settingsIn();
    mkdirSync(settings.run_dir);
    writeFileSync(join(settings.run_dir, 'resume'), 'no directory');
    writeResumeState(settings, runOf({ job: 1 }), STATE);
    assert.equal(readResumeState(settings, runOf({ job: 1 })), null);
    assert.deepEqual(resumableRuns(settings), new Set());
    rmSync(join(settings.run_dir, 'resume'));
  });
});
