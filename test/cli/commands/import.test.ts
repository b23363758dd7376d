import assert from 'node:assert/strict';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { after, before, describe, it } from 'node:test';
import { spawn, spawnSync } from 'node:child_process';
import { failedLine, sampleLine, sampleLines } from '../../accounting/import/sample-lines';
import { noPostgres, startServer, type Server } from '../../accounting/postgres/server';
import { SETTINGS_FILE } from '../../../src/record/settings';
import { fakeTerminal } from '../fake-terminal';
import { temporaryDirectory } from '../../support/temporary-directory';
import { until } from '../../support/until';
import { COMMAND, runCommand, type Answer, NOBODY, notRoot, qmemacct } from '../../support/qmemacct';

interface Site {
  readonly directory: string;
  readonly file: string;
  readonly config: string;
  readonly run: (...words: readonly string[]) => Promise<Answer>;
}

const configured = existsSync(SETTINGS_FILE) && `there is a ${SETTINGS_FILE}`;

/** A site whose accounting file is `file`, and whose accounting DB belongs to the user who runs the test. */
function site(settings = '', store?: string): Site {
  const directory = temporaryDirectory();
  const file = join(directory, 'accounting');
  const config = join(directory, 'qmemacct.toml');
  const own = process.getuid?.() === 0 ? 'deliver_as = "root"\n' : '';
  const files = `accounting_files = ["${file}"]\n`;
  writeFileSync(
    config,
    `accounting = "${store ?? join(directory, 'a.db')}"\ncluster = "cell"\n${own}${files}${settings}`,
  );
  return {
    directory,
    file,
    config,
    run: (...words): Promise<Answer> => runCommand([...words, '--config', config]),
  };
}

/** Asserts that jobs that never started, whose lines have no end, get that of the job before them, else of the next. */
async function datesNeverStarted({ file, run }: Site): Promise<void> {
  const start = Math.floor(fakeTerminal().now().getTime() / 1000) - 3700;
  const began = `${failedLine(900)}${sampleLine(1, { start })}`;
  writeFileSync(file, began);
  assert.equal((await run('import')).status, 0);
  // The job before 901 was read by the first import.
  appendFileSync(file, `${failedLine(901)}${failedLine(901)}${sampleLine(2, { start: start + 60 })}${failedLine(902)}`);
  assert.equal((await run('import')).status, 0);
  const endsOf = async (...words: readonly string[]): Promise<readonly (readonly [number, string | null])[]> => {
    const { output, warnings } = await run(...words, '--since', '1d', '--json');
    const { records } = JSON.parse(output) as { records: { job_id: number; ended_at: string | null }[] };
    assert.equal(warnings, '');
    return records.map(({ job_id: job, ended_at: ended }) => [job, ended] as const).toSorted(([a], [b]) => a - b);
  };
  const [first, second] = [60, 120].map((after) => new Date((start + after) * 1000).toISOString());
  const never = [
    [900, first],
    [901, first],
    [901, first],
    [902, second],
  ];
  assert.deepEqual(await endsOf('jobs', '--failed'), never);
  assert.deepEqual(await endsOf('owner', 'alice'), [[1, first], [2, second], ...never]);
  const top = await run('top', 'owners', '--by', 'failed', '--since', '1d', '--json');
  const { groups } = JSON.parse(top.output) as {
    groups: { key: string; totals: { failed: number; records: number } }[];
  };
  assert.deepEqual(
    groups.map(({ key, totals }) => [key, totals.failed, totals.records]),
    [['alice', 4, 6]],
  );
  assert.equal((await run('rollup')).status, 0);
  const report = await run('report', '--since', '1d');
  assert.match(report.output, /5 jobs and array tasks, 6 records[^]*4 records ended badly/);
  const job = await run('job', '901');
  assert.match(job.output, /never started/);
}

/** Asserts that an imported file is refused under another name of the cluster, or none, until --cluster says so. */
async function refusesOtherCluster({ directory, file, config, run }: Site): Promise<void> {
  const setCluster = (cluster: string): void =>
    writeFileSync(config, readFileSync(config, 'utf8').replace(/^cluster = .*$/m, `cluster = "${cluster}"`));
  const importNow = async (...words: readonly string[]): Promise<readonly unknown[]> => {
    const { status, output, warnings } = await run('import', ...words);
    return [status, output.split('\n')[0], warnings];
  };
  writeFileSync(file, sampleLines(1, 40));
  assert.equal((await run('import')).status, 0);
  appendFileSync(file, sampleLine(41));
  const refusal = (cluster: string): string =>
    `qmemacct: ${file}: its jobs are in the accounting DB as those of cluster cell, and would count again as those of ${cluster}; set cluster = "cell" in qmemacct.toml, or, if ${cluster} is its name from now on, say so once: "qmemacct import --cluster ${cluster}" continues after what is there\n`;
  for (const place of ['report_dir', 'digest_dir']) appendFileSync(config, `${place} = "${join(directory, place)}"\n`);
  setCluster('');
  const { warnings } = await run('nightly', '--no-mail');
  assert.ok(warnings.includes('its jobs are in the accounting DB as those of cluster cell'), warnings);
  setCluster('new');
  for (const more of [[], ['--dry-run'], ['--follow']])
    assert.deepEqual(await importNow(...more), [2, '', refusal('new')]);
  const added = '1 line, 1 record added, 0 joined with records that were there';
  assert.deepEqual(await importNow('--cluster', 'new'), [0, added, '']);
  appendFileSync(file, sampleLine(42));
  assert.deepEqual(await importNow(), [0, added, '']);
  setCluster('cell');
  assert.equal((await importNow())[0], 2);
}

/** Asserts that --follow imports what is appended, also around a rotation, until SIGTERM. */
async function followsRotation({ file, config, run }: Site, named: readonly string[] = []): Promise<void> {
  writeFileSync(file, sampleLines(1, 40));
  const words = ['import', ...named, '--follow', '--config', config];
  const child = spawn(process.execPath, [COMMAND, ...words], { stdio: 'pipe' });
  const ended = new Promise<number | null>((resolve) => child.once('exit', resolve));
  let said = '';
  child.stdout.on('data', (text: Buffer) => (said += text.toString()));
  child.stderr.on('data', (text: Buffer) => (said += text.toString()));
  const hear = (pattern: RegExp): Promise<true> =>
    until(() => {
      assert.equal(child.exitCode, null, said);
      return pattern.test(said);
    });
  await hear(/40 records added/);
  appendFileSync(file, sampleLine(41));
  await hear(/1 line, 1 record added/);
  // Written after the last look, and rotated away before the next.
  appendFileSync(file, sampleLine(72));
  renameSync(file, `${file}.0`);
  writeFileSync(file, sampleLines(42, 30));
  await hear(/31 records added/);
  child.kill('SIGTERM');
  assert.equal(await ended, 0, said);
  assert.match((await run('import')).output, /^nothing new/);
}

describe('qmemacct import', () => {
  it('accepts for --cluster the names that the settings accept', async () => {
    const { run, file } = site();
    writeFileSync(file, sampleLine(1));
    for (const name of ['a b', '(run)', 'x/y']) {
      const { status, warnings } = await run('import', '--cluster', name, file);
      assert.deepEqual([status, warnings.split(':')[1]], [2, ` --cluster "${name}"`]);
    }
    assert.equal((await run('import', '--cluster', 'b-1.x_Y', file)).status, 0);
  });

  it('imports each line once, and says what was added and what is unreadable', async () => {
    const { directory, file, run } = site();
    writeFileSync(file, `# a comment\n${sampleLines(1, 3)}gar\u001bbage\n`);
    const dry = await run('import', '--dry-run');
    assert.deepEqual([dry.status, dry.output], [0, '5 new lines with 3 records, nothing was written\n']);
    assert.equal(existsSync(join(directory, 'a.db')), false);
    const first = await run('import');
    assert.equal(first.status, 0, first.warnings);
    assert.match(first.output, /^5 lines, 3 records added, 0 joined .*, 1 line unreadable \("qmemacct import --unread/);
    assert.match(first.warnings, /the first that is unreadable: .*accounting, byte \d+: 1 fields/);
    const again = await run('import');
    assert.deepEqual([again.status, again.output], [1, 'nothing new\n']);
    const kept = await run('import', '--unreadable');
    assert.equal(kept.status, 0);
    assert.match(kept.output, /accounting: byte \d+: 1 fields, a record has at least 43: gar.*bage/);
    assert.equal(kept.output.includes('\u001b'), false);
    const job = await run('job', '2');
    assert.match(job.output, /The figures are Grid Engine's own/);
  });

  it('prints unreadable lines as JSON without control characters', async () => {
    const { file, run } = site();
    writeFileSync(file, Buffer.from(`${sampleLine(1)}gar\u009b2Jbage\n`, 'latin1'));
    assert.equal((await run('import')).status, 0);
    const { output } = await run('import', '--unreadable', '--json');
    assert.match(output, /gar\\u009b2Jbage/);
    const { lines } = JSON.parse(output) as { lines: readonly { text: string }[] };
    assert.deepEqual(
      lines.map(({ text }) => text),
      ['gar\u009b2Jbage'],
    );
  });

  it('says that a last line without its newline waits', async () => {
    const { file, run } = site();
    writeFileSync(file, sampleLine(1).trimEnd());
    const waits = `qmemacct: ${file}: the last line is incomplete (no newline): the next import reads it\n`;
    assert.deepEqual(await run('import'), { status: 1, output: 'nothing new\n', warnings: waits });
    writeFileSync(file, sampleLines(1, 3).trimEnd());
    assert.equal((await run('import')).warnings, waits);
    appendFileSync(file, '\n');
    const { output, warnings } = await run('import');
    assert.deepEqual([output.split(',')[0], warnings], ['1 line', '']);
  });

  it("names a file that can't be read, and imports the others", async () => {
    const { file, directory, run } = site();
    writeFileSync(file, sampleLines(1, 3));
    const { status, output, warnings } = await run('import', '--json', join(directory, 'gone'), file);
    assert.equal(status, 3);
    assert.match(warnings, /gone can't be read: it does not exist; check the name/);
    const { added, problems } = JSON.parse(output) as { added: number; problems: readonly string[] };
    assert.deepEqual([added, problems.length], [3, 1]);
  });

  it(
    "names the user for whom a file or a directory can't be read",
    { skip: process.getuid?.() !== 0 && 'needs root' },
    () => {
      const { directory, file, config } = site();
      const common = join(directory, 'cell', 'default', 'common');
      const store = join(directory, 'store');
      mkdirSync(common, { recursive: true });
      writeFileSync(join(common, 'bootstrap'), '');
      const set = (more: string): void =>
        writeFileSync(config, `accounting = "${join(store, 'a.db')}"\ndeliver_as = "nobody"\n${more}`);
      const run = (): string => {
        const env = { PATH: '/usr/bin:/bin', SGE_ROOT: join(directory, 'cell'), SGE_CELL: 'default' };
        const words = [COMMAND, 'import', '--config', config];
        return spawnSync(process.execPath, words, { encoding: 'utf8', env }).stderr;
      };
      const denied = /can't be read: permission denied for user "nobody"; let that user read it .*"deliver_as"/;
      writeFileSync(file, sampleLines(1, 3), { mode: 0o600 });
      for (const path of [directory, join(directory, 'cell'), join(directory, 'cell', 'default')])
        chmodSync(path, 0o755);
      mkdirSync(store);
      chownSync(store, 65_534, 65_534);
      set(`accounting_files = ["${file}"]\n`);
      assert.match(run(), denied);
      // A directory that root may list, but not the user who imports.
      chmodSync(common, 0o700);
      set('');
      assert.match(run(), denied);
    },
  );

  it(
    "fills the caller's own accounting DB where nothing is configured, for report, top, owner and advise",
    { skip: configured },
    () => {
      const home = temporaryDirectory();
      const file = join(home, 'accounting');
      const start = Math.floor(Date.now() / 1000) - 3 * 86_400;
      const ownerOf = (job: number): string => (job < 40 ? 'alice' : 'bob');
      const lines = Array.from({ length: 60 }, (_, job) =>
        sampleLine(job + 1, { owner: ownerOf(job), start: start + job }),
      );
      writeFileSync(file, lines.join(''));
      chmodSync(file, 0o644);
      const uid = notRoot === false ? NOBODY : null;
      if (uid !== null) chownSync(home, uid, uid);
      const run = (...words: readonly string[]): string => {
        const env = { PATH: '/usr/bin:/bin', HOME: home, TZ: 'UTC' };
        const { status, stdout, stderr } = qmemacct(words, { uid, env });
        assert.equal(status, 0, stderr);
        return stdout;
      };
      const [done, period, waste, next = ''] = run('import', file).split('\n');
      assert.match(done ?? '', /^60 lines, 60 records added/);
      assert.match(period ?? '', /^2\S+ \S+ → 2\S+ \S+ in the accounting DB: 60 jobs and array tasks of 2 owners$/);
      assert.equal(waste, "Largest waste: alice, ~477 of 683 MiB·h requested, by Grid Engine's figure (maxvmem)");
      assert.match(next, /^Next: qmemacct report --since 2\S+ --until 2\S+$/);
      assert.ok(existsSync(join(home, '.local/state/qmemacct/accounting.db')));
      const interval = next.split(' ').slice(3);
      assert.match(run('report', ...interval), /60 records by Grid Engine's figure [^]*alice +40 .* ~[^]*bob +20 /);
      assert.match(run('top', 'owners', ...interval), /alice +~[^]*bob +~/);
      assert.match(run('owner', 'alice', ...interval), /40 records by Grid Engine's figure/);
      assert.match(run('advise', '--owner', 'alice', '--name', 'run.sh'), /h_vmem=/);
    },
  );

  it('reads the rest of a configured file after its rotation, and says where the file is gone', async () => {
    const { directory, file, run } = site();
    writeFileSync(file, sampleLines(1, 3));
    assert.match((await run('import')).output, /^3 lines/);
    // Written after the last import, and rotated away before the next.
    appendFileSync(file, sampleLine(4));
    renameSync(file, `${file}.1`);
    writeFileSync(file, sampleLine(5));
    writeFileSync(join(directory, 'others.1'), sampleLine(6));
    assert.match((await run('import')).output, /^2 lines, 2 records added/);
    writeFileSync(`${file}-20261121.gz`, gzipSync(readFileSync(`${file}.1`)));
    rmSync(`${file}.1`);
    rmSync(file);
    const { status, warnings } = await run('import');
    assert.equal(status, 3);
    assert.match(warnings, /accounting can't be read: it does not exist; check the name$/m);
  });

  it('refuses --follow with --dry-run, and --csv', async () => {
    const { status, warnings } = await site().run('import', '--follow', '--dry-run');
    assert.equal(status, 2);
    assert.match(warnings, /--follow and --dry-run exclude each other/);
    assert.equal((await site().run('import', '--csv')).status, 2);
  });

  it('follows a configured file through a rotation with --follow, until SIGTERM', () => followsRotation(site()));

  it('follows a file that is named in the command, too', () => {
    const place = site();
    return followsRotation(place, [place.file]);
  });

  it('refuses to count a file again for another cluster', () => refusesOtherCluster(site()));

  it('dates jobs that never started by the lines around them', () => datesNeverStarted(site()));
});

describe('qmemacct import into PostgreSQL', { skip: noPostgres }, () => {
  let server: Server;
  before(async () => void (server = await startServer()));
  after(() => server.remove());

  it('refuses to count a file again for another cluster', async () => {
    await refusesOtherCluster(site('', server.url(await server.database())));
  });

  it('dates jobs that never started by the lines around them', async () => {
    await datesNeverStarted(site('', server.url(await server.database())));
  });

  it('follows a configured file through a rotation with --follow', async () => {
    const name = await server.database();
    await followsRotation(site('', server.url(name)));
    const [row] = await server.run(name, 'SELECT count(*) AS records FROM qmemacct.record');
    assert.deepEqual(row, { records: 72 });
  });
});
