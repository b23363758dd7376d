import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { openSqliteStore } from '../../src/accounting/sqlite/sqlite-store';
import { isChange } from '../../src/cli/program';
import { arrayOfTwenty, firstRun, killedAtLimit, ordinary } from '../report/sample-records';
import { temporaryDirectory } from '../support/temporary-directory';
import { runCommand, type Answer } from '../support/qmemacct';

process.env.TZ = 'Europe/Berlin';

const directory = temporaryDirectory();
const database = join(directory, 'accounting.db');

before(async () => {
  const store = openSqliteStore(database, 0o600);
  const outcomes = await store.merge([firstRun, ordinary, killedAtLimit, ...arrayOfTwenty]);
  assert.ok(outcomes.every(({ ok }) => ok));
  await store.close();
});

const withStore = (...words: readonly string[]): Promise<Answer> => runCommand([...words, '--accounting', database]);

interface Json {
  readonly schema: number;
  readonly records: readonly { readonly job_id: number; readonly task_id: number | null; readonly attempt: number }[];
}

describe('isChange', () => {
  it('is true of the commands that go on when nobody reads their output', () => {
    for (const words of [
      ['install', '--node'],
      ['--config', 'jobs', 'uninstall'],
      ['import', 'a'],
      ['--json', 'prune'],
    ])
      assert.equal(isChange(words), true, words.join(' '));
    for (const words of [['job', '1'], ['--config', 'install', 'jobs'], ['help', 'owner'], []])
      assert.equal(isChange(words), false, words.join(' '));
  });
});

describe('qmemacct', () => {
  it('prints its version, and a help with one line for each command', async () => {
    assert.deepEqual(await runCommand(['--version']), { status: 0, output: '1.2.3\n', warnings: '' });
    const help = await runCommand(['--help']);
    assert.equal(help.status, 0);
    assert.match(help.output, /\nYour jobs:\n {2}job +what a job [^]*\nAdministration:\n {2}install /);
    const list = help.output.slice(help.output.indexOf('Your jobs:')).trimEnd().split('\n');
    assert.deepEqual(
      list.filter((line) => line.length > 80 || !/^(?: {2}[a-z]+ +\S.*|[A-Z][A-Za-z ]+:|)$/.test(line)),
      [],
      'one line for each',
    );
  });

  it('prints the help of a command by --help and by help', async () => {
    for (const words of [
      ['job', '--help'],
      ['help', 'job'],
    ]) {
      const { status, output } = await runCommand(words);
      assert.equal(status, 0);
      assert.match(output, /^Usage: qmemacct job \[options\] \[job\.\.\.\]\n[^]*--all-hosts/);
    }
  });

  it('ends with 2 on a usage error, which it explains in one line', async () => {
    for (const words of [
      ['nonsense'],
      ['job', '0'],
      ['job', '1', '--full', '--brief'],
      ['job', '1', '--jso'],
      ['install', '--json'],
      ['job', '1', '--json', '--csv'],
      ['owner', 'bob', '--since', 'never'],
      ['owner', 'bob', '--sort', 'toString'],
      ['owner', 'bob', '--limit', '0'],
      ['report', '--by', 'nobody'],
      ['report', '--format', 'x'],
      ['metrics', '--format', 'x'],
      ['job', '1', '--at', 'noon'],
      ['job', '1', '--retry', '--tasks'],
      ['job', '1', '--retry', '--worst', '3'],
      ...[['owner'], ['project'], ['queue'], ['host'], ['top'], ['job'], ['advise']].map((words) => [...words, '']),
      ...['owner', 'name', 'cluster', 'queue'].map((option) => ['jobs', `--${option}`, '']),
      ...[
        ['report', '--owner'],
        ['report', '--cluster'],
        ['owner', '--cluster'],
      ].map((words) => [...words, '']),
      ['advise', '--owner', '', '--name', 'sim'],
      ['--config', '', 'jobs'],
    ]) {
      const { status, output, warnings } = await runCommand(words);
      assert.deepEqual([status, output], [2, ''], words.join(' '));
      assert.match(warnings, /^qmemacct: .+\n$/);
    }
  });

  it('ends with 2 on a configuration with an unknown key', async () => {
    const config = join(directory, 'bad.toml');
    writeFileSync(config, 'intervall = 1\n');
    const { status, warnings } = await runCommand(['job', '1', '--config', config]);
    assert.equal(status, 2);
    assert.match(warnings, /^qmemacct: .*bad\.toml: unknown key "intervall"; did you mean interval\?\n$/);
  });

  it('ends with 2 where the file of --config is missing, but not for uninstall', async () => {
    const config = join(directory, 'missing.toml');
    const line = `qmemacct: ${config}: there is no such file; give the path of a configuration\n`;
    for (const words of [
      ['--config', config, 'jobs'],
      ['--config', config, 'run', '--', 'true'],
      ['run', '--config', config, '--', 'true'],
      ['doctor', '--config', config],
    ])
      assert.deepEqual(await runCommand(words), { status: 2, output: '', warnings: line }, words.join(' '));
    const removal = await runCommand(['uninstall', '--node', '--dry-run', '--prefix', directory, '--config', config]);
    assert.equal(removal.status, process.getuid?.() === 0 ? 0 : 3, removal.warnings);
  });

  it('ends with 3 where no accounting DB can be read', async () => {
    const config = join(directory, 'good.toml');
    writeFileSync(config, `accounting = "${directory}/nothing.db"\nrun_dir = "${directory}"\n`);
    const missing = await runCommand(['job', '1', '--config', config]);
    assert.equal(missing.status, 3);
    assert.match(missing.warnings, /^qmemacct: there is no accounting DB yet: none of .*\n$/);
    const broken = join(directory, 'broken.db');
    writeFileSync(broken, 'no database at all');
    const corrupt = await runCommand(['owner', 'bob', '--accounting', broken]);
    assert.equal(corrupt.status, 3);
    assert.match(corrupt.warnings, /^qmemacct: the accounting DB .*broken\.db can't be read: .*\n$/);
  });

  it('shows a stack trace only with --debug', async () => {
    assert.doesNotMatch((await runCommand(['job', '0'])).warnings, /at .*\.js/);
    assert.match((await runCommand(['job', '0', '--debug'])).warnings, /at .*\.js/);
  });
});

describe('qmemacct job', () => {
  it('shows one job, also in full', async () => {
    const { status, output, warnings } = await withStore('job', '4711');
    assert.deepEqual([status, warnings], [0, '']);
    assert.match(output, /^Job 4711 {2}align_reads /);
    assert.match(output, /More: --full/);
    assert.ok(output.endsWith('\n'));
    assert.match((await withStore('job', '4711', '--full')).output, /Runs {6}run/);
  });

  it('warns that --worst and --failed are left out for a job that is not an array', async () => {
    const whole = await withStore('job', '4711');
    const { status, output, warnings } = await withStore('job', '4711', '--worst', '3', '--failed');
    assert.deepEqual([status, warnings], [0, 'qmemacct: job 4711 is not an array: --worst and --failed left out\n']);
    assert.equal(output, whole.output);
    assert.equal((await withStore('job', '4720', '--worst', '3', '--failed')).warnings, '');
  });

  it('lists several jobs, one per line', async () => {
    const { status, output } = await withStore('job', '4711,4712', '4720');
    assert.equal(status, 0);
    assert.deepEqual(
      output
        .trimEnd()
        .split('\n')
        .map((line) => line.trim().split(' ')[0]),
      ['job', '4711', '4712', '4720'],
    );
  });

  it("finds the caller's newest job, or the newest of a given name", async () => {
    const mine = join(directory, 'mine.db');
    const store = openSqliteStore(mine, 0o600);
    const owner = userInfo().username;
    const later = { ...killedAtLimit, started_at: '2026-11-20T14:30:00.000Z', ended_at: '2026-11-20T15:00:00.000Z' };
    await store.merge([
      { ...ordinary, owner },
      { ...later, owner },
      { ...firstRun, job_id: 9, owner: 'somebody' },
    ]);
    await store.close();
    const job = (...words: readonly string[]): Promise<Answer> => runCommand(['job', ...words, '--accounting', mine]);
    assert.match((await job()).output, /^Job 4712 /);
    assert.match((await job('last')).output, /^Job 4712 /);
    assert.match((await job('align_reads')).output, /^Job 4711 /);
    const none = await job('no_such_name');
    assert.equal(none.status, 1);
    assert.match(none.warnings, /no job named no_such_name of .* is known/);
    const listed = await runCommand(['owner', '--since', '2026-11-20', '--until', '2026-11-21', '--accounting', mine]);
    assert.match(listed.output, /^Jobs of /);
  });

  it('shows one array task', async () => {
    const { output } = await withStore('job', '4720.7');
    assert.match(output, /^Job 4720\.7 {2}sweep +killed by SIGKILL\n/);
  });

  it('ends with 1 where the job is not known', async () => {
    const { status, output, warnings } = await withStore('job', '99');
    assert.deepEqual([status, output], [1, '']);
    assert.match(warnings, /^qmemacct: job 99: nothing known in .*accounting\.db; /);
    assert.equal((await withStore('job', '99', '--json')).output, '{"schema":1,"records":[]}\n');
  });

  it('ends with 0 where one of several jobs is known', async () => {
    const { status, output, warnings } = await withStore('job', '99', '4712');
    assert.equal(status, 0);
    assert.match(output, /^Job 4712 /);
    assert.match(warnings, /job 99: nothing known/);
  });

  it('finds only a job that had the number at the time of --at', async () => {
    assert.equal((await withStore('job', '4711', '--at', '2026-11-20')).status, 1);
    assert.equal((await withStore('job', '4711', '--at', '2026-11-21')).status, 0);
  });

  it('prints every record as JSON and CSV', async () => {
    const json = JSON.parse((await withStore('job', '4711', '4720', '--json')).output) as Json;
    assert.equal(json.schema, 1);
    assert.deepEqual(
      json.records.slice(0, 3).map((record) => [record.job_id, record.task_id, record.attempt]),
      [
        [4711, null, 1],
        [4711, null, 2],
        [4720, 1, 1],
      ],
    );
    const csv = (await withStore('--csv', 'job', '4720')).output;
    assert.equal(csv.trimEnd().split('\n').length, 21);
  });
});

describe('qmemacct owner', () => {
  const days = ['--since', '2026-11-20', '--until', '2026-11-21'];

  it('lists the jobs of a period, with --tasks one record per line', async () => {
    const { status, output } = await withStore('owner', 'bob', ...days);
    assert.equal(status, 0);
    assert.match(
      output,
      /^Jobs of bob +22 jobs and array tasks, 23 records\n2026-11-20 00:00 → 2026-11-21 00:00 UTC\+01:00\n/,
    );
    assert.equal(output.match(/^\d/gm)?.length, 1 + 3);
    assert.equal((await withStore('owner', 'bob', ...days, '--tasks')).output.match(/^\d/gm)?.length, 1 + 23);
  });

  it('limits and sorts the list, and groups runs and array tasks', async () => {
    const { output } = await withStore('owner', 'bob', ...days, '--tasks', '--limit', '2', '--sort', 'waste');
    assert.deepEqual(output.match(/^4\d+/gm), ['4711', '4711']);
    assert.match(output, /2 of 23 records shown/);
    const grouped = await withStore('owner', 'bob', ...days, '--sort', 'unused');
    assert.deepEqual(grouped.output.match(/^4\d+ +\S+/gm), ['4711 (2', '4720 ×20', '4712           assemble']);
  });

  it('prints every record with its attempt as JSON and CSV', async () => {
    const json = JSON.parse((await withStore('owner', 'bob', ...days, '--json')).output) as Json;
    assert.equal(json.records.length, 23);
    assert.deepEqual(
      json.records.filter((record) => record.job_id === 4711).map(({ attempt }) => attempt),
      [2, 1],
    );
    assert.equal((await withStore('owner', 'bob', ...days, '--csv')).output.trimEnd().split('\n').length, 24);
  });

  it('ends with 1 where the user has no job', async () => {
    const { status, output, warnings } = await withStore('owner', 'nobody');
    assert.deepEqual([status, output], [1, '']);
    assert.match(warnings, /^qmemacct: nobody: no job /);
  });
});

describe('qmemacct jobs, host and top', () => {
  const days = ['--since', '2026-11-20', '--until', '2026-11-21'];

  it('select, sort and sum the records of a store', async () => {
    const failed = await withStore('jobs', '--failed', '--limit-below', '4G', '--sort', 'peak', ...days);
    assert.equal(failed.status, 0);
    assert.match(failed.output, /^Jobs: failed, limit at most 4\.00 GiB +2 jobs and array tasks\n/);
    assert.deepEqual(failed.output.match(/^4\d+(?:\.\d+)?/gm), ['4712', '4720.7']);
    const onHost = await withStore('host', 'node08', ...days, '--json');
    const { records } = JSON.parse(onHost.output) as Json;
    assert.ok(records.length > 0 && records.length < 23);
    const top = await withStore('top', 'names', '--by', 'jobs', ...days);
    assert.match(top.output, /^Top names by jobs +22 jobs and array tasks\n[^]*\nsweep +20 [^]*\nalign_reads +1 /);
  });
});
