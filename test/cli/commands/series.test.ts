import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { openSqliteStore } from '../../../src/accounting/sqlite/sqlite-store';
import { runProgram } from '../../../src/cli/program';
import { SqliteDatabase } from '../../../src/native/sqlite';
import { NodeStore } from '../../../src/sampler/node-store/node-store';
import type { StoredSample } from '../../../src/sampler/node-store/sample-table';
import type { SeriesBatch } from '../../../src/sampler/series/series-buffer';
import { ALL_FACTS } from '../../../src/sampler/figures/job-facts';
import { ordinary, unsampled } from '../../report/sample-records';
import { oneOf } from '../../tries';
import { fakeTerminal } from '../fake-terminal';
import { temporaryDirectory } from '../../support/temporary-directory';
import { runCommand, type Answer } from '../../support/qmemacct';

process.env.TZ = 'Europe/Berlin';

const directory = temporaryDirectory();
const state = join(directory, 'state');
const accounting = join(directory, 'accounting.db');
const config = join(directory, 'qmemacct.toml');
const START = Date.parse(ordinary.started_at ?? '');

const sample = (second: number): StoredSample => ({
  at: second * 1000,
  rss: 1000 + second,
  vmem: 9000,
  swap: 0,
  anonymous: 900,
  cpu: second * 1500,
  processes: 2,
  threads: 4,
  // From then on a process hides its I/O.
  read: second < 50 ? 0 : null,
  written: null,
  largest: [
    { pid: 31_415, start: 5, command: 'samtools', rss: 900 + second, cpu: second * 1400 },
    { pid: 31_416, start: 5, command: 'bash', rss: 100, cpu: 10 },
  ],
  othersRss: 5,
  othersCpu: 5,
});

const load = (second: number): SeriesBatch => [
  {
    source: 'loadavg',
    at: [START + second * 1000],
    columns: [
      { metric: 'loadavg_1min', instance: '', resolution: 100, values: [100 + second] },
      { metric: 'loadavg_threads', instance: '', resolution: 1, values: [800] },
    ],
  },
];

before(async () => {
  mkdirSync(state);
  writeFileSync(config, `accounting = "${accounting}"\nstate_dir = "${state}"\nrun_dir = "${directory}"\n`);
  const store = openSqliteStore(accounting, 0o600);
  await store.merge([ordinary, unsampled]);
  await store.close();
  const node = new NodeStore(state);
  const run = `${ordinary.job_id}.0.${ordinary.run_id}`;
  node.finish(
    run,
    START,
    ordinary,
    Array.from({ length: 100 }, (_, second) => sample(second)),
  );
  for (let second = 0; second < 100; second += 10) node.saveSeries(null, load(second));
  node.close();
});

function run(...words: readonly string[]): Promise<Answer> {
  return runCommand([...words, '--config', config]);
}

const WINDOW = ['--since', '2026-11-20 14:00', '--until', '2026-11-20 15:00'];

interface SeriesJson {
  readonly host?: string;
  readonly jobs?: readonly { readonly job_id: number; readonly cpu_seconds: number }[];
  readonly processes?: readonly { readonly pid: number; readonly command: string; readonly cpu_seconds: number }[];
  readonly series: readonly { readonly metric: string; readonly kind: string; readonly values: readonly number[] }[];
}

describe('qmemacct metrics', () => {
  it('lists every metric as text, JSON, Markdown and CSV', async () => {
    const names = ALL_FACTS.flatMap(({ metrics }) => metrics.map(({ name }) => name));
    const { status, output } = await run('metrics');
    assert.equal(status, 0);
    for (const name of names) assert.ok(output.includes(`  ${name} `), name);
    const { metrics } = JSON.parse((await run('metrics', '--json')).output) as { metrics: { name: string }[] };
    assert.deepEqual(
      metrics.map(({ name }) => name),
      names,
    );
    assert.equal((await run('metrics', '--format', 'markdown')).output.split('\n').length, names.length + 3);
    assert.equal((await run('metrics', '--csv')).output.split('\n').length, names.length + 2);
    assert.equal((await run('metrics', '--format', 'yaml')).status, 2);
  });

  it('gives each metric a name of its own that begins with its source', () => {
    const seen = new Set<string>();
    for (const { name: source, metrics } of ALL_FACTS)
      for (const { name } of metrics) {
        assert.ok(name.startsWith(`${source}_`), name);
        assert.ok(!seen.has(name), name);
        seen.add(name);
      }
  });
});

describe('qmemacct node', () => {
  it('shows the host, its jobs and its busiest processes', async () => {
    const { status, output, warnings } = await run('node', ...WINDOW);
    assert.deepEqual([status, warnings], [0, '']);
    assert.match(output, /Load +loadavg_1min +1\.90 +1\.50 +1\.90\n/);
    assert.match(output, /Jobs +job .*\n +4711 +bob +align_reads +0:02:29 +1\.50 +1\.07 MiB\n/);
    assert.match(output, /Busy +pid .*\n +31415 +samtools +4711 +bob +0:02:19 +1\.40 +999 KiB\n/);
  });

  it('prints chosen metrics as a table, a chart or CSV, and all of them as JSON', async () => {
    assert.match(
      (await run('node', ...WINDOW, '--metric', 'loadavg')).output,
      /^ +latest.*\nloadavg_1min .*\nloadavg_threads +800/,
    );
    assert.match((await run('node', ...WINDOW, '--chart', 'loadavg_1min')).output, /^loadavg_1min\n.*1\.90 ┤/);
    const csv = (await run('node', ...WINDOW, '--metric', 'loadavg_1min', '--csv')).output.trimEnd().split('\n');
    assert.equal(csv.length, 11);
    assert.match(csv[1] ?? '', /,loadavg_1min,,count,gauge,2026-11-20T13:02:11\.000Z,1$/);
    const json = JSON.parse((await run('node', ...WINDOW, '--json')).output) as SeriesJson;
    assert.equal(json.series.length, 2);
    assert.deepEqual([json.jobs?.[0]?.job_id, json.jobs?.[0]?.cpu_seconds], [4711, 148.5]);
    assert.equal(json.processes?.[0]?.command, 'samtools');
  });

  it("writes the latest values for node_exporter's textfile collector, but none that are old", async () => {
    const now = new Date(START + 100_000);
    const write = (...words: readonly string[]): Promise<Answer> =>
      runCommand(['node', '--config', config, ...words], { now: () => now });
    const { status, output } = await write('--prometheus');
    assert.equal(status, 0);
    assert.match(output, /^qmemacct_node_loadavg_1min 1\.9$/m);
    assert.match(output, /^qmemacct_node_outbox_records 1$/m);
    const file = join(directory, 'qmemacct.prom');
    writeFileSync(file, 'old');
    assert.deepEqual(await write('--prometheus', file), { status: 0, output: '', warnings: '' });
    assert.equal(readFileSync(file, 'utf8'), output);
    const missing = await write('--prometheus', join(directory, 'none', 'qmemacct.prom'));
    assert.equal(missing.status, 3);
    assert.match(missing.warnings, /can't be written: .*; name a file in a directory that is there/);
    assert.equal((await write('--prometheus', '--json')).status, 2);
    // After ten minutes the stored values are too old to count as current.
    const later = fakeTerminal({ now: () => new Date(START + 10 * 60_000) });
    await runProgram(['node', '--config', config, '--prometheus'], '1.2.3', later);
    assert.doesNotMatch(later.output(), /loadavg/);
    // A source that is read every ten minutes has a current value for longer.
    const seldom = join(directory, 'seldom.toml');
    writeFileSync(seldom, `${readFileSync(config, 'utf8')}[sources.loadavg]\ninterval = 600\n`);
    const after = async (minutes: number): Promise<string> => {
      const now = (): Date => new Date(START + minutes * 60_000);
      return (await runCommand(['node', '--config', seldom, '--prometheus'], { now })).output;
    };
    assert.match(await after(12), /^qmemacct_node_loadavg_1min 1\.9$/m);
    assert.doesNotMatch(await after(22), /loadavg/);
  });

  it('ends with status 1 where nothing was stored in the period, with 2 for an unknown metric', async () => {
    const nothing = await run('node', '--since', '1h');
    assert.deepEqual([nothing.status, nothing.output], [1, '']);
    assert.match(nothing.warnings, /nothing was stored from 1h on; --since 1d looks further back; "qmemacct/);
    assert.match((await run('node', '--since', '2d', '--until', '30h')).warnings, /from 2d on; "qmemacct doctor"/);
    const unknown = await run('node', '--metric', 'nonsense');
    assert.equal(unknown.status, 2);
    assert.match(unknown.warnings, /"nonsense" is neither a metric nor a source; "qmemacct metrics" lists them\n$/);
  });

  it('ends with status 3 where node.db is missing or empty, and says what will fill it', async () => {
    const other = join(directory, 'other.toml');
    writeFileSync(other, `state_dir = "${directory}/none"\n`);
    const terminal = fakeTerminal();
    assert.equal(await runProgram(['node', '--config', other], '1', terminal), 3);
    assert.match(terminal.warnings(), /none\/node\.db does not exist on .*: it comes with the first job there/);
    mkdirSync(join(directory, 'none'));
    new SqliteDatabase(join(directory, 'none', 'node.db')).exec('PRAGMA user_version = 0').close();
    assert.equal(await runProgram(['node', '--config', other], '1', terminal), 3);
    assert.match(terminal.warnings(), /it is empty; the next job on this host fills it\n$/);
  });
});

describe('qmemacct job --series and --chart', () => {
  it('print values over time as CSV, JSON or a chart', async () => {
    const csv = (await run('job', '4711', '--series', 'process_rss_bytes,process_cpu_seconds')).output;
    const lines = csv.trimEnd().split('\n');
    assert.equal(lines[0], 'job_id,task_id,pe_task_id,host,run_id,metric,instance,unit,kind,at,value');
    assert.equal(lines.length, 201);
    assert.equal(
      lines[2],
      `4711,,,node07,${ordinary.run_id},process_rss_bytes,,bytes,gauge,2026-11-20T13:02:12.000Z,1025024`,
    );
    const json = JSON.parse((await run('job', '4711', '--series', 'process', '--json')).output) as SeriesJson;
    assert.equal(json.series.length, 8);
    const known = json.series.map(({ metric, values }) => [metric, values.length]);
    assert.deepEqual(known.at(-1), ['process_read_bytes', 50], 'what was read of the I/O');
    assert.equal((await run('job', '4711', '--chart', 'process_written_bytes')).status, 1);
    const chart = await run('job', '4711', '--chart', 'process_cpu_seconds');
    assert.match(chart.output, /^process_cpu_seconds\n *1\.50 s\/s ┤/);
  });

  it('name the host that keeps the series; the memory chart of the record is shown on every host', async () => {
    const elsewhere = join(directory, 'elsewhere.toml');
    writeFileSync(elsewhere, `accounting = "${accounting}"\nstate_dir = "${directory}"\nrun_dir = "${directory}"\n`);
    const terminal = fakeTerminal();
    const show = (...words: readonly string[]): Promise<number> =>
      runProgram(['job', '4711', ...words, '--config', elsewhere], '1', terminal);
    assert.equal(await show('--series', 'process'), 3);
    assert.match(
      terminal.warnings(),
      /^qmemacct: job 4711 on node07: no series here; they stay on the host where it ran, for 14 days; there "sudo qmemacct job 4711 --series \.\.\." reads them\n$/,
    );
    assert.equal(await show('--chart', 'process_rss_bytes'), 0);
    assert.match(terminal.output(), /^process_rss_bytes\n *1\.49 GiB ┤/);
  });

  it('exclude each other; status 2 for an unknown metric, 1 where the job has no series of it', async () => {
    assert.equal((await run('job', '4711', '--series', 'process', '--chart', 'process_count')).status, 2);
    assert.equal((await run('job', '4711', '--chart', 'process_count', '--json')).status, 2);
    assert.equal((await run('job', '4711', '--series', 'rss')).status, 2);
    assert.equal((await run('job', '99', '--series', 'process')).status, 1);
    assert.equal((await run('job', '4711', '--series', 'loadavg')).status, 1);
  });
});

describe('qmemacct run', () => {
  it('writes rows to the FILE of --csv FILE, and its report as CSV with --csv alone', async () => {
    const rows = join(directory, 'rows.csv');
    const report = join(directory, 'report');
    const terminal = fakeTerminal({ env: { ...process.env, XDG_STATE_HOME: join(directory, 'own'), JOB_ID: '77' } });
    const program = (...words: readonly string[]): Promise<number> =>
      runProgram(['run', '--report', report, ...words], '1', terminal);
    let lines: readonly string[] = [];
    // A busy machine may leave no time for four rows.
    await oneOf(5, async () => {
      assert.equal(await program('--csv', rows, '--', 'sh', '-c', 'sleep 0.7; exit 9'), 9);
      lines = readFileSync(rows, 'utf8').trimEnd().split('\n');
      assert.ok(lines.length >= 4, lines.join('\n'));
    });
    assert.match(lines[0] ?? '', /^JobID,Type,PID,/);
    assert.match(lines[1] ?? '', /^77,qmemacct\.Sample,\d+,[^,]+,"sh -c sleep 0\.7; exit 9",/);
    assert.match(readFileSync(report, 'utf8'), /^Job run-1 {2}sh /);
    // The command ends before the first sample; several times, since its start may fall between two milliseconds.
    for (let times = 0; times < 5; times++) assert.equal(await program('--csv', '--', 'true'), 0);
    assert.match(readFileSync(report, 'utf8'), /^cluster,job_id,.*\n\(run\),\d+,/);
    // A busy machine may leave no time for a row.
    for (let seconds = 0.3; !terminal.warnings().includes('--jsonl /dev/full: ENOSPC'); seconds *= 3) {
      assert.ok(seconds < 60, terminal.warnings());
      assert.equal(await program('--jsonl', '/dev/full', '--', 'sh', '-c', `sleep ${seconds}; exit 4`), 4);
    }
    assert.equal(await program('--csv', '-', '--jsonl', '-', '--', 'true'), 2);
    assert.equal(await program('--csv', rows), 2);
    assert.ok(readFileSync(rows, 'utf8').length > 0);
  });
});
