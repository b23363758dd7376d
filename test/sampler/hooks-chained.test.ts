import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { appendFileSync, chownSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { packageRoot } from '../../src/base/package-root';
import { newSite, quiet, shepherdObstacle, startJob, type JobOptions, type Site } from './fake-shepherd';
import { temporaryDirectory } from '../support/temporary-directory';
import { until } from '../support/until';

const SHELLS = ['/bin/dash', '/bin/bash'].filter((shell) => existsSync(shell));
const NOBODY = 65534;
/** An account that every Linux has: here it is Grid Engine's admin user. */
const ADMIN = { uid: 1, name: 'daemon' };

interface Outcome {
  readonly prolog: number | undefined;
  readonly epilog: number | undefined;
  /** What the site's hook saw: its uid, then its environment; null: it did not run. */
  readonly seen: string | null;
  readonly log: () => string;
}

interface Case extends JobOptions {
  /** Owner of the spool directory. */
  readonly spoolOwner?: number;
  /** The user that the site configures for its hook (USER@PATH). */
  readonly user?: string;
  /** Permission of the site's hook. */
  readonly mode?: number;
}

let nextNumber = 7000;

/** An empty file that every user can write to. */
function worldWritable(site: Site, name: string): string {
  const path = join(site.directory, name);
  writeFileSync(path, '', { mode: 0o666 });
  spawnSync('chmod', ['666', path]);
  return path;
}

/** Runs a job with a hook of the site's own behind ours; the log's lines are kept in a file. */
async function runChained(t: TestContext, shell: string, options: Case): Promise<Outcome> {
  const { spoolOwner = 0, user, mode = 0o755, ...jobOptions } = options;
  const site = newSite(t, { armWait: 0 });
  const seen = worldWritable(site, 'seen');
  const log = worldWritable(site, 'log');
  appendFileSync(join(site.hooks, 'common.sh'), `logger() { echo "$*" >>'${log}'; }\n`);
  const hook = join(site.directory, 'own.sh');
  writeFileSync(hook, `#!/bin/sh\n{ id -u; env; } >>'${seen}'\n`, { mode });
  const job = nextNumber++;
  const spool = join(site.directory, 'active_jobs', `${job}.1`);
  mkdirSync(spool, { recursive: true, mode: 0o755 });
  chownSync(spool, spoolOwner, spoolOwner);
  const chained = [user === undefined ? hook : `${user}@${hook}`];
  const steps = await startJob(site, ['/bin/true'], { ...jobOptions, job, shell, chained }).ended;
  await quiet(site);
  const text = readFileSync(seen, 'utf8');
  return {
    prolog: steps.prolog?.status,
    epilog: steps.epilog?.status,
    seen: text === '' ? null : text,
    log: () => readFileSync(log, 'utf8'),
  };
}

/** Asserts that the prolog put the job into the error state, that the epilog succeeded, and that the log says why. */
async function assertRefused(outcome: Outcome): Promise<void> {
  assert.equal(outcome.seen, null, 'the hook ran');
  assert.equal(outcome.prolog, 100);
  assert.equal(outcome.epilog, 0);
  const lines = await until(() => (outcome.log().split('\n').length > 2 ? outcome.log() : null), 'the log');
  assert.match(lines, /job \d+\.1: the site's prolog\.sh was not started/);
  assert.match(lines, /epilog\.sh was not started/);
  assert.match(lines, /USER@\//);
}

describe("the user of a site's own hook", { skip: shepherdObstacle() ?? false, concurrency: 3 }, () => {
  for (const shell of SHELLS) {
    it(`is the job's owner, with the job's environment (${shell})`, async (t) => {
      const outcome = await runChained(t, shell, { owner: NOBODY, config: { job_owner: 'nobody' } });
      assert.equal(outcome.prolog, 0);
      assert.equal(outcome.epilog, 0);
      assert.match(outcome.seen ?? '', new RegExp(`^${NOBODY}$`, 'm'));
      assert.match(outcome.seen ?? '', /^LD_PRELOAD=/m);
      assert.equal(outcome.log(), '');
    });

    it(`is refused where root owns the spool's files (${shell})`, async (t) => {
      for (const name of ['nobody', 'root'])
        await assertRefused(await runChained(t, shell, { owner: 0, config: { job_owner: name } }));
    });

    it(`is refused where Grid Engine's admin user owns the spool's files (${shell})`, async (t) => {
      for (const name of ['nobody', ADMIN.name]) {
        const options = { owner: ADMIN.uid, spoolOwner: ADMIN.uid, config: { job_owner: name } };
        await assertRefused(await runChained(t, shell, options));
      }
    });

    it(`is refused where the spool's config contradicts it or is forged (${shell})`, async (t) => {
      const forged = { stdout_path: '/dev/null\njob_owner=nobody\nnjob_args=0', job_owner: ADMIN.name };
      for (const config of [{ job_owner: ADMIN.name }, { job_owner: 'no-such-user' }, { job_owner: null }, forged])
        await assertRefused(await runChained(t, shell, { owner: NOBODY, config }));
    });

    it(`is the one that the site configured, whoever owns the spool's files (${shell})`, async (t) => {
      const outcome = await runChained(t, shell, { owner: 0, user: 'nobody' });
      assert.deepEqual([outcome.prolog, outcome.epilog], [0, 0]);
      assert.match(outcome.seen ?? '', new RegExp(`^${NOBODY}$`, 'm'));
    });

    it(`who can't start an epilog leaves a line in the log, no job to run again (${shell})`, async (t) => {
      const job = { owner: NOBODY, config: { job_owner: 'nobody' } };
      const cases: readonly Case[] = [
        { ...job, user: 'no-such-user' },
        { ...job, mode: 0o644 },
        { ...job, mode: 0o644, user: 'root' },
        { ...job, mode: 0o700 },
      ];
      for (const options of cases) {
        const outcome = await runChained(t, shell, options);
        assert.equal(outcome.epilog, 0);
        assert.notEqual(outcome.prolog, 0);
        const reason = /epilog\.sh was not started: (there is no user|it can't be executed)/;
        await until(() => reason.test(outcome.log()), 'the log');
      }
    });

    it(`gets no variable of the dynamic loader where it is root, named by number (${shell})`, async (t) => {
      const outcome = await runChained(t, shell, { owner: NOBODY, user: '0' });
      assert.match(outcome.seen ?? '', /^0$/m);
      assert.match(outcome.seen ?? '', /^GREETING=two$/m);
      assert.doesNotMatch(outcome.seen ?? '', /LD_PRELOAD/);
    });
  }
});

describe('variables that a privileged hook does not get', () => {
  const dropped = [
    'LD_AUDIT=/x',
    '_RLD_LIST=/x',
    'TERMINFO_DIRS=/x',
    'TMPDIR=/x',
    'ENVIRONMENT=BATCH',
    'BASH_FUNC_cd%%=() { :; }',
    'LANG=../../tmp/x',
    'LANG=',
    'LANGUAGE=de:en',
    'LANGUAGE=%n',
    'LINGUAS=/tmp/x',
    'LC_ALL=/tmp/x',
    'LC_ALL=x y',
    'LC_MESSAGES=1',
    'LC_X2=C',
    'LANG=C\\nX',
  ];
  const kept = [
    'PATH=/usr/bin',
    'LANG=C.UTF-8',
    'LANG=de_DE.UTF-8@euro',
    'LANGUAGE=de',
    'LINGUAS=de,en',
    'LC_ALL=C',
    'LC_CTYPE=en_GB.ISO8859-1',
    'ALANG=/x',
    'TZ=:/x',
  ];
  for (const shell of SHELLS)
    it(`are the ones that Grid Engine 8.1.9 drops (${shell})`, () => {
      const script = '. "$1"; shift; for one in "$@"; do qm_dangerous "$one" && printf "%s\\n" "$one"; done; :';
      const common = join(packageRoot(), 'hooks', 'common.sh');
      const { stdout, status } = spawnSync(shell, ['-c', script, 'sh', common, ...dropped, ...kept], {
        encoding: 'utf8',
        env: { PATH: '/usr/bin:/bin' },
      });
      assert.equal(status, 0);
      assert.deepEqual(stdout.trimEnd().split('\n'), dropped);
    });
});

describe('the environment of a chained hook', () => {
  const SPOOL = {
    config: 'stdout_path=/o ut\ncwd=/c\nnjob_args=1\njob_arg0=x\nstdin_path=/forged\ninherit_env=0\n',
    usage: 'exit_status=7\n',
    environment:
      'A=one\\ntwo\\\\nthree\nB=*\n=x\nword\nLD_PRELOAD=/x\nC=c\u0001LD_AUDIT=/x\nD=d\u0002LD_AUDIT=/x\nLAST=\\\\',
  };

  /** The variables of a chained `env`, sorted. */
  function environment(shell: string, files: Partial<typeof SPOOL>, privileged: boolean): string[] {
    const spool = temporaryDirectory();
    for (const [name, text] of Object.entries({ ...SPOOL, ...files })) writeFileSync(join(spool, name), text);
    const script = '. "$1"; qm_spool=$2 qm_uid=0 qm_gid=0 qm_privileged=$3; qm_start_chained env -0';
    const common = join(packageRoot(), 'hooks', 'common.sh');
    const words = ['-c', script, 'sh', common, spool, privileged ? '1' : ''];
    const { stdout, status } = spawnSync(shell, words, { encoding: 'utf8', env: { PATH: '/usr/bin:/bin' } });
    assert.equal(status, 0);
    return stdout.split('\0').slice(0, -1).sort();
  }

  for (const shell of SHELLS) {
    it(`has the job's variables, paths and exit status, and none that a job argument forges (${shell})`, () => {
      const ofJob = ['A=one\ntwo\\nthree', 'B=*', 'LAST=\\', 'LD_PRELOAD=/x'];
      const ofRun = ['SGE_CWD_PATH=/c', 'SGE_JOBEXIT_STAT=7', 'SGE_STDOUT_PATH=/o ut'];
      assert.deepEqual(environment(shell, {}, false), [...ofJob, ...ofRun]);
      assert.deepEqual(environment(shell, {}, true), [...ofJob.slice(0, -1), ...ofRun]);
    });

    it(`is complete within 20 s with 10,000 variables and 50,000 backslashes (${shell})`, () => {
      const variables = Array.from({ length: 10_000 }, (_, index) => `V${index}=x\n`).join('');
      const begin = performance.now();
      const found = environment(shell, { environment: `${variables}B=${'\\\\'.repeat(50_000)}\n` }, true);
      assert.equal(found.length, 10_004);
      assert.ok(found.includes(`B=${'\\'.repeat(50_000)}`));
      assert.ok(performance.now() - begin < 20_000);
    });
  }
});
