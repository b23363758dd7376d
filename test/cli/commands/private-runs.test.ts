import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { openSqliteStore } from '../../../src/accounting/sqlite/sqlite-store';
import { parseJobArguments } from '../../../src/cli/job/find-job';
import { ownStorePath } from '../../../src/cli/stores/stores';
import { jobName, jobTaskName, privateWorld } from '../../../src/record/job-name';
import { ordinary, selfReported } from '../../report/sample-records';
import { COMMAND, NOBODY, notRoot, qmemacct, runCommand, type Answer } from '../../support/qmemacct';
import { temporaryDirectory } from '../../support/temporary-directory';

interface User {
  /** Runs a command as a process of its own. */
  readonly start: (...words: readonly string[]) => ReturnType<typeof qmemacct>;
  /** Runs a command in this process. */
  readonly show: (...words: readonly string[]) => Promise<Answer>;
}

function userOf(home: string, config: string): User {
  const env = { HOME: home, COLUMNS: '120', LANG: 'C.UTF-8', PATH: process.env.PATH };
  return {
    start: (...words) => qmemacct(['--config', config, ...words], { env }),
    show: (...words) => runCommand(['--config', config, ...words], { env, columns: 120, now: () => new Date() }),
  };
}

/** A site that knows a job 1, and a user who has no private runs yet. */
async function newUser(): Promise<User> {
  const directory = temporaryDirectory();
  const config = join(directory, 'qmemacct.toml');
  writeFileSync(config, `accounting = "${directory}/site.db"\nrun_dir = "${directory}/none"\nlistener = false\n`);
  const site = openSqliteStore(join(directory, 'site.db'), 0o600);
  await site.merge([{ ...ordinary, job_id: 1, job_name: 'of_the_cluster' }]);
  await site.close();
  return userOf(directory, config);
}

describe('a private run', () => {
  it('is called run-1, which "job" and "jobs" tell apart from job 1', async () => {
    const user = await newUser();
    const run = user.start('run', '--', 'sleep', '0.3');
    assert.equal(run.status, 0, run.stderr);
    assert.match(run.stderr, /\brun-1\b/);
    const cluster = await user.show('job', '1');
    assert.equal(cluster.status, 0, cluster.warnings);
    assert.match(cluster.output, /of_the_cluster/);
    assert.doesNotMatch(cluster.output, /sleep|had this number|run-1/);
    const own = await user.show('job', 'run-1');
    assert.equal(own.status, 0, own.warnings);
    assert.match(own.output, /run-1[^]*sleep/);
    assert.doesNotMatch(own.output, /of_the_cluster/);
    const list = (await user.show('jobs', '--since', '2020-01-01')).output;
    assert.match(list, /^run-1 .*sleep/m);
    assert.match(list, /^1 .*of_the_cluster/m);
    assert.match((await user.show('jobs', '--since', '1d')).output, /^Jobs +1 job\n[^]*CPU .* slot·s/);
    const none = await user.show('job', 'run-2');
    assert.equal(none.status, 1);
    assert.match(none.warnings, /job run-2: nothing known/);
  });

  it('has its exit status, and a record in the DB, though its sampler was killed', async () => {
    const user = await newUser();
    const run = user.start('run', '--', 'sh', '-c', 'pkill -KILL -P $PPID -f [s]ampler/main; exit 7');
    assert.equal(run.status, 7, run.stderr);
    const shown = await user.show('job', 'last');
    assert.match(shown.output, /^Job run-1 +sh .*exit status 7/m);
  });
});

describe('a private run under a limit of file sizes', () => {
  /** Runs a command that exits with status 7 privately, under a file size limit (KiB). */
  function runUnder(limit: number): { readonly status: number | null; readonly stderr: string } {
    const words = [process.execPath, COMMAND, 'run', '--', 'sh', '-c', 'exit 7'];
    const env = { PATH: process.env.PATH, HOME: temporaryDirectory(), SGE_ROOT: '/nonexistent' };
    return spawnSync('bash', ['-c', `ulimit -f ${limit}; exec "$@"`, 'bash', ...words], { encoding: 'utf8', env });
  }

  it('is not started where nothing can be written, and one line says what to do', () => {
    const { status, stderr } = runUnder(0);
    assert.equal(status, 3);
    assert.match(stderr, /^qmemacct: \S+: EFBIG: .*; nothing was run: make room there, or .*\n$/);
  });

  it('ends with the status of its command where only its figures are lost', () => {
    const { status, stderr } = runUnder(8);
    assert.equal(status, 7);
    assert.match(stderr, /^qmemacct: no figures: .*\n$/);
  });
});

describe('sums and exports', () => {
  /** A site with one job, and a user whose own store has two private runs and a job of an imported accounting file. */
  async function siteWithOwnStore(): Promise<(...words: readonly string[]) => Promise<string>> {
    const directory = temporaryDirectory();
    const config = join(directory, 'qmemacct.toml');
    writeFileSync(config, `accounting = "${directory}/site.db"\nrun_dir = "${directory}/none"\nlistener = false\n`);
    const own = ownStorePath({ HOME: directory });
    mkdirSync(dirname(own), { recursive: true });
    const run = { ...selfReported, cluster: '(run)', job_name: 'mine' };
    for (const [path, records] of [
      [join(directory, 'site.db'), [{ ...ordinary, job_id: 1, cluster: 'site' }]],
      [own, [run, { ...run, job_id: 2 }, { ...ordinary, job_id: 3, cluster: 'imported' }]],
    ] as const) {
      const store = openSqliteStore(path, 0o600);
      await store.merge(records);
      await store.close();
    }
    const user = userOf(directory, config);
    return async (...words) => {
      const { output, warnings } = await user.show(...words, '--since', '2020-01-01');
      assert.equal(warnings, '');
      return output;
    };
  }

  it('leave private runs out beside the jobs of a cluster', async () => {
    const command = await siteWithOwnStore();
    assert.match(await command('top', 'names'), /^Top names by unused memory +2 jobs and array tasks\n(?![^]*mine)/);
    assert.match(await command('report'), /^Memory report of imported, site +2 jobs and array tasks\n(?![^]*mine)/);
    const exported = await command('export', 'records', '--columns', 'cluster');
    assert.deepEqual(exported.trimEnd().split('\n'), ['cluster', 'site', 'imported']);
    assert.match(await command('replay'), /: 2 jobs,/);
    const list = await command('jobs');
    assert.match(
      list,
      /^Jobs +2 jobs and array tasks\n[^]*mine[^]*\n2 self-reported by the owner: not in the site's sums\n$/,
    );
    assert.doesNotMatch(list, /records shown/);
    assert.match(await command('jobs', '--limit', '2'), /^Jobs +2 jobs and array tasks\n[^]*\n2 of 4 records shown/);
    assert.match(await command('jobs', '--sort', 'peak'), /^Jobs +2 jobs and array tasks\n[^]*mine/);
  });

  it('count private runs where these are chosen, or nothing else matches', async () => {
    const command = await siteWithOwnStore();
    for (const words of [
      ['--cluster', '(run)'],
      ['--name', 'mine'],
    ]) {
      assert.match(await command('jobs', ...words), /^Jobs: .* +2 jobs and array tasks\n/);
      assert.match(await command('top', 'names', '--by', 'jobs', ...words), / 2 jobs and array tasks\n[^]*mine/);
      assert.match(
        await command('export', 'records', '--columns', 'cluster', ...words),
        /^cluster\n\(run\)\n\(run\)\n$/,
      );
    }
    assert.match(await command('report', '--cluster', '(run)'), /^Memory report of \(run\) +2 jobs and array tasks\n/);
  });
});

describe('a user whom no name service knows', { skip: notRoot }, () => {
  it('is named by uid in "owner", and "run", "job last" and "advise" work', () => {
    const uid = 1_999_900_001;
    const directory = temporaryDirectory(0o755);
    const home = join(directory, 'home');
    mkdirSync(home);
    chownSync(home, uid, uid);
    const config = join(directory, 'qmemacct.toml');
    writeFileSync(config, `accounting = "${directory}/site.db"\nrun_dir = "${directory}/none"\nlistener = false\n`);
    const user = (...words: readonly string[]): ReturnType<typeof qmemacct> =>
      qmemacct(['--config', config, ...words], { uid, env: { HOME: home } });
    const run = user('run', '--', 'sleep', '0.2');
    assert.equal(run.status, 0, run.stderr);
    const own = user('owner', '--csv');
    assert.match(own.stdout, /1999900001/, own.stderr);
    assert.equal(user('job', 'last').status, 0);
    assert.match(user('job', 'other').stderr, /no job named other of 1999900001 is known/);
    for (const words of [
      ['--name', 'sim'],
      ['--name', 'sim', '--owner', 'bob'],
      ['--', '-b', 'y', 'sim'],
    ])
      assert.doesNotMatch(user('advise', ...words).stderr, /bug/);
  });
});

describe("an accounting DB of the user's own that the user can't open", { skip: notRoot }, () => {
  it('is reported with the chmod that opens it, or the advice to ask an admin', async () => {
    const home = temporaryDirectory(0o755);
    const directory = join(home, 'state', 'qmemacct');
    const path = join(directory, 'accounting.db');
    mkdirSync(directory, { recursive: true });
    await openSqliteStore(path, 0o600).close();
    for (const own of [directory, path]) chownSync(own, NOBODY, NOBODY);
    const jobsError = (): string =>
      qmemacct(['jobs', '--accounting', path], { uid: NOBODY, env: { HOME: home } }).stderr.trimEnd();
    chmodSync(path, 0);
    assert.match(jobsError(), new RegExp(`user "nobody" may not read it; chmod u\\+rw ${path}$`));
    chmodSync(directory, 0o600);
    assert.match(jobsError(), new RegExp(`user "nobody" may not enter ${directory}; chmod u\\+x ${directory}$`));
    chownSync(directory, 0, 0);
    assert.match(jobsError(), /may not enter .*; ask an admin to start "qmemacct serve"/);
  });
});

describe('qmemacct run', () => {
  it('keeps nothing of a command that did not start, and says why', async () => {
    const user = await newUser();
    for (const [command, status, why] of [
      ['/nowhere/program', 127, 'no such file'],
      ['no_such_program', 127, 'no such command; give its path'],
      ['/etc', 126, 'not a program, or not allowed to be run by you'],
    ] as const) {
      const run = await user.show('run', '--', command);
      assert.deepEqual([run.status, run.warnings], [status, `qmemacct: ${command} was not started: ${why}\n`]);
    }
    assert.match((await user.show('jobs', '--since', '2020-01-01')).output, /^Jobs +1 job\n/);
  });

  it('says what to do where nothing can be created in the home directory', () => {
    const directory = temporaryDirectory();
    const home = join(directory, 'file');
    writeFileSync(home, '');
    const { status, stderr } = qmemacct(['run', '--', 'true'], { env: { HOME: home } });
    assert.equal(status, 3);
    assert.match(
      stderr,
      /^qmemacct: can't make .*: ENOTDIR: .*; set XDG_STATE_HOME to a directory that you may write to\n$/,
    );
  });

  it('shows no queue wait and no limit, and refuses a --h-vmem that is no size', async () => {
    const user = await newUser();
    const run = user.start('run', '--', 'sleep', '0.2');
    assert.match(run.stderr, /^Requested memory +no limit$/m);
    assert.doesNotMatch(run.stderr, /queue wait/i);
    for (const size of ['0', '-5', '0G']) {
      const { status, warnings } = await user.show('run', `--h-vmem=${size}`, '--', 'true');
      assert.deepEqual([status, warnings.includes(`--h-vmem "${size}": write it as`)], [2, true], warnings);
    }
  });

  it('says before the command runs that --report cannot be written, or at the end where that fails then', async () => {
    const user = await newUser();
    const directory = temporaryDirectory();
    const mark = join(directory, 'mark');
    const refused = await user.show('run', '--report', join(directory, 'none', 'x'), '--', 'touch', mark);
    assert.equal(refused.status, 2, refused.warnings);
    assert.match(
      refused.warnings,
      /^qmemacct: --report .*none\/x: can't be written \(ENOENT.*\); give another file\n$/,
    );
    assert.ok(!existsSync(mark));
    const lost = user.start('run', '--report', join(directory, 'x'), '--', 'sh', '-c', `mkdir ${directory}/x; exit 7`);
    assert.equal(lost.status, 7, lost.stderr);
    assert.match(lost.stderr, /^qmemacct: --report .*: can't be written \(EISDIR.*\n$/);
  });

  it('does not let root follow a link of a user to the file of --report', { skip: notRoot }, async () => {
    const user = await newUser();
    const [file, link] = [join(temporaryDirectory(), 'file'), join(temporaryDirectory(), 'link')];
    writeFileSync(file, 'kept');
    symlinkSync(file, link);
    chownSync(dirname(link), NOBODY, NOBODY);
    const { status, warnings } = await user.show('run', '--report', link, '--', 'true');
    assert.equal(status, 2, warnings);
    assert.match(warnings, /--report .*link: can't be written \(.*it is a link, and .* belongs to uid \d+/);
    assert.equal(readFileSync(file, 'utf8'), 'kept');
  });

  it('accepts only whole numbers for --slots and --pid', async () => {
    const runWith = async (...words: readonly string[]): Promise<Answer> => runCommand(['run', ...words, '--', 'true']);
    for (const slots of ['1.5', '0', '-1', '1e3', ' ', '65537']) {
      const { status, warnings } = await runWith(`--slots=${slots}`);
      assert.equal(status, 2, slots);
      assert.match(warnings, /--slots ".*": give a whole number of 1 to 65536/);
    }
    const { status, warnings } = await runCommand(['run', '--pid', '2.5']);
    assert.equal(status, 2);
    assert.match(warnings, /--pid "2\.5": give a whole number of 2 to 4194304/);
  });
});

describe('jobName', () => {
  it('is a number for a cluster of any name, else a name that "job" accepts', () => {
    const key = { job_id: 7, task_id: null };
    assert.equal(jobName({ ...key, cluster: 'run' }), '7');
    assert.equal(jobTaskName({ ...key, cluster: 'demo', task_id: 3 }), '7.3');
    assert.equal(privateWorld('(other)'), null);
    assert.deepEqual(parseJobArguments(['7.3']), [{ job_id: 7, task_id: 3 }]);
    for (const cluster of ['(run)', '(demo)'])
      assert.deepEqual(parseJobArguments([jobName({ ...key, cluster })]), [{ job_id: 7, cluster }]);
    for (const text of ['run-0', 'run-', 'run-7.1', 'run-07x'])
      assert.throws(() => parseJobArguments([text]), /is not a job/);
  });
});
