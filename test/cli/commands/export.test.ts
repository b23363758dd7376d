import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chownSync, lstatSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it, type TestContext } from 'node:test';
import { openSqliteStore } from '../../../src/accounting/sqlite/sqlite-store';
import { exportTable, type ExportOptions } from '../../../src/cli/commands/export';
import { PLAIN_COLUMNS } from '../../../src/record/plain-columns';
import { NodeStore } from '../../../src/sampler/node-store/node-store';
import { job, T0 } from '../../accounting/suite/fixture';
import { memoryReader } from '../../accounting/memory-reader';
import { ordinary } from '../../report/sample-records';
import { temporaryDirectory } from '../../support/temporary-directory';
import { ask } from '../../server/test-site';
import { until } from '../../support/until';
import { fakeTerminal } from '../fake-terminal';
import { COMMAND, startServing, runCommand, type Answer, qmemacct, NOBODY, notRoot } from '../../support/qmemacct';

const directory = temporaryDirectory();
const state = join(directory, 'state');
const config = join(directory, 'qmemacct.toml');
const START = Date.parse(ordinary.started_at ?? '');
const SERIES = {
  start: '2026-10-31T23:00:00.000Z',
  step_seconds: 1800,
  rss_bytes: [4096, 8192],
  others: { cpu_cores: [0.5, 2] },
};

before(async () => {
  mkdirSync(state);
  const accounting = join(directory, 'accounting.db');
  writeFileSync(config, `accounting = "${accounting}"\nstate_dir = "${state}"\nrun_dir = "${directory}"\n`);
  const store = openSqliteStore(accounting, 0o600);
  const records = Array.from({ length: 1200 }, (_item, index) => job(index + 1, T0 + index * 1000));
  await store.merge([...records, job(5000, T0 + 5_000_000, { owner: '=eve', series: SERIES })]);
  await store.close();
  const node = new NodeStore(state);
  const sample = { at: 1000, rss: 4, vmem: 9, swap: 0, anonymous: 2, cpu: 1500, processes: 2, threads: 4 };
  const samples = [1000, 7_200_000].map((at) => ({
    ...{ ...sample, at, read: 0, written: 0, largest: [], othersRss: 0, othersCpu: 0 },
  }));
  node.finish(`${ordinary.job_id}.0.${ordinary.run_id}`, START, { ...ordinary, revision: START + 7_200_000 }, samples);
  const load = { metric: 'loadavg_1min', instance: '', resolution: 100, values: [150] };
  node.saveSeries(null, [{ source: 'loadavg', at: [START], columns: [load] }]);
  node.close();
});

const ALL = ['--since', '2026-01-01', '--until', '2027-01-01'];

function run(...words: readonly string[]): Promise<Answer> {
  return runCommand(['export', ...words, '--config', config]);
}

const lines = (text: string): readonly string[] => text.trimEnd().split('\n');

describe('qmemacct export', () => {
  it('writes every selected record, and a schema of the columns beside the file', async () => {
    const output = join(temporaryDirectory(), 'records.jsonl');
    const found = await run('records', ...ALL, '--owner', 'bob', '--format', 'jsonl', '--output', output);
    assert.deepEqual([found.status, found.output], [0, '']);
    assert.match(found.warnings, /^qmemacct: 1,200 rows in .*records\.jsonl, their columns in /);
    const rows = lines(readFileSync(output, 'utf8')).map((line) => JSON.parse(line) as Record<string, unknown>);
    assert.deepEqual(
      rows.map((row) => row.job_id),
      Array.from({ length: 1200 }, (_item, index) => 1200 - index),
    );
    assert.deepEqual(
      Object.keys(rows[0] ?? {}),
      PLAIN_COLUMNS.map(({ name }) => name),
    );
    assert.equal(rows[0]?.peak_rss_lower_bytes, 2 ** 30);
    const schema = JSON.parse(readFileSync(`${output}.schema.json`, 'utf8')) as Record<string, unknown>;
    assert.deepEqual(
      [schema.what, schema.rows, schema.since],
      ['records', 1200, new Date('2026-01-01T00:00').toISOString()],
    );
    for (const path of [output, `${output}.schema.json`]) assert.equal(lstatSync(path).mode & 0o777, 0o600);
  });

  it('writes chosen columns to the standard output, with formulas made harmless to a spreadsheet', async () => {
    const { status, output, warnings } = await run('records', ...ALL, '--columns', 'owner,job_id,cpu_efficiency');
    assert.deepEqual([status, warnings], [0, '']);
    assert.deepEqual(lines(output).slice(0, 3), ['owner,job_id,cpu_efficiency', "'=eve,5000,0.25", 'bob,1200,0.25']);
    assert.equal(lines(output).length, 1202);
  });

  it('writes the memory of jobs over time', async () => {
    const { output } = await run('series', ...ALL);
    assert.deepEqual(lines(output), [
      'cluster,job_id,task_id,pe_task_id,host,run_id,owner,at,step_seconds,rss_bytes,cpu_cores,swap_bytes,read_bytes_per_second,written_bytes_per_second,gpu_percent,gpu_memory_bytes',
      "cell,5000,,,node1,0badcafe.5000.1,'=eve,2026-10-31T23:30:00.000Z,1800,4096,0.5,,,,,",
      "cell,5000,,,node1,0badcafe.5000.1,'=eve,2026-11-01T00:00:00.000Z,1800,8192,2,,,,,",
    ]);
  });

  it('says that nothing matches, and notes in the schema how formulas are made harmless', async () => {
    const none = await run('series', ...ALL, '--owner', 'nobody');
    assert.deepEqual([none.status, none.warnings], [1, 'qmemacct: no such job in that time has memory over time\n']);
    const output = join(temporaryDirectory(), 'eve.csv');
    assert.match((await run('records', ...ALL, '--owner', '=eve', '--output', output)).warnings, /: 1 row in /);
    assert.match(
      readFileSync(`${output}.schema.json`, 'utf8'),
      /"text": "Text that begins with =, .* has a ' in front/,
    );
  });

  it('writes the samples of this host', async () => {
    const { status, output } = await run(
      'samples',
      ...ALL,
      '--metric',
      'process_rss_bytes,loadavg',
      '--format',
      'jsonl',
    );
    assert.equal(status, 0);
    const rows = lines(output).map((line) => JSON.parse(line) as Record<string, unknown>);
    assert.deepEqual(
      rows.map((row) => [row.job_id, row.owner, row.metric, row.unit, row.at, row.value]),
      [
        [null, null, 'loadavg_1min', 'count', new Date(START).toISOString(), 1.5],
        ...[1000, 7_200_000].map((at) => [
          ...[ordinary.job_id, ordinary.owner, 'process_rss_bytes', 'bytes'],
          ...[new Date(START + at).toISOString(), 4096],
        ]),
      ],
    );
    assert.equal((await run('samples', ...ALL, '--owner', 'bob')).status, 2);
  });

  it('refuses a wrong table, format, column or option', async () => {
    for (const [words, problem] of [
      [['records', '--format', 'xlsx'], /xlsx.*\bjsonl\b/],
      [['everything'], /records, series, samples/],
      [['records', '--format', 'parquet'], /--format parquet needs --output FILE/],
      [['records', '--columns', 'salary'], /"salary" is not a column/],
      [['records', '--json'], /write --format jsonl/],
      [['records', '--metric', 'rss'], /--metric is for samples/],
    ] as const) {
      const { status, warnings } = await run(...words);
      assert.equal(status, 2, words.join(' '));
      assert.match(warnings, problem);
    }
  });

  it("leaves no file behind where it can't write all rows", async (t) => {
    const place = temporaryDirectory();
    writeFileSync(join(place, 'file'), 'as it was');
    symlinkSync('file', join(place, 'link'));
    mkdirSync(join(place, 'taken.csv.schema.json'));
    for (const [output, problem] of [
      ['file/x.csv', /there is no directory .*file; create it or name another\n$/],
      ['x'.repeat(300), /ENAMETOOLONG.*; name another place\n$/],
      ['taken.csv', /taken\.csv\.schema\.json: it is not a regular file; name a file/],
      ['none/x.csv', /there is no directory .*none; create it or name another\n$/],
      ['link', /not a regular file; name a file, or "-" for the standard output\n$/],
      ['.', /not a regular file/],
    ] as const) {
      const { status, warnings } = await run('records', ...ALL, '--output', join(place, output));
      assert.equal(status, 3);
      assert.match(warnings, problem);
      assert.equal(lines(warnings).length, 1);
    }
    if (
      process.geteuid?.() !== 0 ||
      spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=16k', 'tmpfs', place]).status !== 0
    ) {
      t.diagnostic("a full disk is not tried: tmpfs can't be mounted here");
      return;
    }
    t.after(() => spawnSync('umount', [place]));
    for (const format of ['csv', 'parquet', 'hdf5', 'sqlite']) {
      const { status, warnings } = await run('records', ...ALL, '--format', format, '--output', join(place, 'all'));
      assert.equal(status, 3);
      assert.match(
        warnings,
        /^qmemacct: .*all: no room is left there; nothing was kept; make room or name another place\n$/,
      );
      assert.deepEqual(readdirSync(place), []);
    }
  });

  it('does not write through a symbolic link at the name of its temporary file', async () => {
    const place = temporaryDirectory();
    const other = join(place, 'other');
    writeFileSync(other, 'as it was');
    const output = join(place, 'x.csv');
    symlinkSync(other, `${output}.schema.json.${process.pid}.new`);
    assert.equal((await run('records', ...ALL, '--output', output)).status, 0);
    assert.equal(readFileSync(other, 'utf8'), 'as it was');
    assert.ok(lstatSync(`${output}.schema.json`).isFile());
  });

  it('is not made by a library as root where another user could put a link in its way', { skip: notRoot }, async () => {
    const place = temporaryDirectory(0o755);
    chownSync(place, NOBODY, NOBODY);
    for (const format of ['sqlite', 'hdf5']) {
      const { warnings } = await run('records', ...ALL, '--format', format, '--output', join(place, 'x'));
      assert.match(warnings, /belongs to uid \d+, and could lead root elsewhere/);
    }
    assert.deepEqual(readdirSync(place), []);
    assert.equal((await run('records', ...ALL, '--output', join(place, 'x'))).status, 0);
  });

  it('writes a file for each day that is over, and later only the missing ones', async () => {
    const output = temporaryDirectory();
    const time = (hours: number): string => `${new Date(T0 + hours * 3_600_000).toISOString().slice(0, 16)}Z`;
    const words = ['records', '--since', time(-36), '--each-day', '--format', 'jsonl', '--output', output];
    const first = await run(...words, '--until', time(24));
    assert.equal(first.status, 0, first.warnings);
    const day = (ms: number): string => `records-${new Date(ms).toISOString().slice(0, 10)}.jsonl`;
    const files = readdirSync(output).filter((name) => name.endsWith('.jsonl'));
    const rowsOf = (name: string): number => readFileSync(join(output, name), 'utf8').split('\n').length - 1;
    assert.equal(
      files.reduce((rows, name) => rows + rowsOf(name), 0),
      1201,
    );
    assert.ok(files.includes(day(T0)), files.join());
    assert.ok(!files.includes(day(T0 - 36 * 3_600_000)), 'the first day is not whole');
    writeFileSync(join(output, day(T0)), 'as it was\n');
    const again = await run(...words, '--until', time(48));
    assert.deepEqual(lines(again.warnings).length, 1, again.warnings);
    assert.equal(readFileSync(join(output, day(T0)), 'utf8'), 'as it was\n');
    const nothing = await run(...words, '--until', time(48));
    assert.equal(nothing.status, 0);
    assert.match(nothing.warnings, /has a file for every day that ended 6 hours ago or earlier\n$/);
  });

  it('keeps the old file until the new one is complete', async () => {
    const place = temporaryDirectory();
    const output = join(place, 'x.csv');
    writeFileSync(output, 'as it was');
    const store = memoryReader([job(1, T0), job(2, T0)]);
    const options: ExportOptions = {
      ...{ config, color: false, since: '2026-01-01', until: '2027-01-01', format: 'csv', output, accounting: config },
    };
    const broken = {
      ...store,
      async *pages() {
        yield* store.pages({ since: 0, until: Infinity });
        throw new Error('the disk of the store has gone');
      },
    };
    const sources = {
      open: () => Promise.resolve(broken),
      askServer: () => Promise.reject(new Error('there is none')),
      gridEngine: () => Promise.reject(new Error('there is none')),
      running: () => Promise.resolve([]),
    };
    await assert.rejects(exportTable('records', options, fakeTerminal(), sources), /has gone/);
    assert.equal(readFileSync(output, 'utf8'), 'as it was');
    assert.deepEqual(readdirSync(place), ['x.csv']);
    const progress: string[] = [];
    const seen = { isTTY: true, write: (text: string) => void progress.push(text) };
    const whole = { ...sources, open: () => Promise.resolve(store) };
    assert.equal(await exportTable('records', options, fakeTerminal(), whole, seen), 0);
    assert.match(progress.join(''), /export: \d of 2 \(50 %\)/);
    assert.equal(lines(readFileSync(output, 'utf8')).length, 3);
  });

  it('ends without an error when the reader closes the pipe', () => {
    const { status, stdout, stderr } = spawnSync(
      'sh',
      [
        '-c',
        '"$@" | head -n 1; exit 0',
        'sh',
        process.execPath,
        COMMAND,
        'export',
        'records',
        ...ALL,
        '--config',
        config,
      ],
      { encoding: 'utf8' },
    );
    assert.deepEqual([status, stderr], [0, '']);
    assert.match(stdout, /^cluster,job_id,.*\n$/);
  });

  it(
    "writes the jobs of others without owners and names where the site's lists hide these",
    { skip: notRoot },
    async (t: TestContext) => {
      const site = temporaryDirectory(0o755);
      mkdirSync(join(site, 'accounting'), { mode: 0o700 });
      const accounting = join(site, 'accounting', 'accounting.db');
      const toml = join(site, 'qmemacct.toml');
      writeFileSync(
        toml,
        `accounting = "${accounting}"\nserve_socket = "${site}/run/serve.sock"\nserve_port = 0\nserve_names = "anonymous"\n`,
      );
      const store = openSqliteStore(accounting, 0o600);
      await store.merge([ordinary]);
      await store.close();
      const { said } = await startServing(t, toml);
      const socketPath = join(site, 'run', 'serve.sock');
      await until(async () => (await ask({ socketPath }, { path: '/v1/job/4711' })).status !== 503, said);
      const columns = ['--columns', 'job_id,owner,job_name,account,peak_rss_command,notes,host'];
      const words = ['--config', toml, 'export', 'records', ...ALL, ...columns];
      const { status, stdout, stderr } = qmemacct(words, { uid: NOBODY });
      assert.equal(status, 0, stderr);
      assert.match(stderr, /this site shows you the jobs of others without owners and names/);
      assert.equal(lines(stdout)[1], `${ordinary.job_id},anonymous,anonymous,,,,${ordinary.host}`);
    },
  );
});
