import assert from 'node:assert/strict';
import { spawnSync, type SpawnSyncReturns } from 'node:child_process';
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import fc from 'fast-check';
import { groupBy } from '../../src/base/group-by';
import { packageRoot } from '../../src/base/package-root';
import { SAMPLE_COLUMNS } from '../../src/export/samples';
import { columnsOfRows, type Row, type RowPage, type Table } from '../../src/export/table';
import { writeTableFile } from '../../src/export/write-table';
import { PLAIN_COLUMNS, tableValue, type ColumnFacts, type TableValue } from '../../src/record/plain-columns';
import { arbitraryRecord } from '../accounting/arbitrary-record';
import { job, T0 } from '../accounting/suite/fixture';
import { temporaryDirectory } from '../support/temporary-directory';

type Cell = string | number | bigint;
type Lines = readonly (readonly Cell[])[];

function tableOf(what: Table['what'], columns: readonly ColumnFacts[], pages: readonly (readonly Row[])[]): Table {
  async function* each(): AsyncGenerator<RowPage> {
    for (const rows of pages)
      yield await Promise.resolve({ columns: columnsOfRows(rows, columns), rows: rows.length, done: 0, of: 0 });
  }
  return { what, columns, pages: each };
}

async function written(table: Table): Promise<string> {
  const path = join(temporaryDirectory(), 'x.h5');
  await writeTableFile(table, 'hdf5', path, {});
  return path;
}

/** The library decodes texts as Latin-1, which some versions of Node take as Windows-1252. */
const LATIN = new TextDecoder('latin1').decode(Uint8Array.from({ length: 256 }, (_, byte) => byte));
const decoded = (cell: Cell): Cell =>
  typeof cell === 'string' ? Buffer.from(Array.from(cell, (text) => LATIN.indexOf(text))).toString() : cell;

/** Every table of a file by its path: names of the columns, rows, units. */
async function read(path: string): Promise<Map<string, { columns: string[]; rows: Lines; units: unknown }>> {
  const { File, Dataset, Group, ready } = await import('h5wasm/node');
  await ready;
  const file = new File(path, 'r');
  const found = new Map<string, { columns: string[]; rows: Lines; units: unknown }>();
  for (const name of file.paths()) {
    const entity = file.get(name);
    if (entity instanceof Group) continue;
    assert.ok(entity instanceof Dataset);
    const { metadata } = entity;
    found.set(`/${name}`, {
      columns: metadata.compound_type?.members.map((member) => member.name) ?? [],
      rows: metadata.total_size === 0 ? [] : (entity.value as unknown as Lines).map((row) => row.map(decoded)),
      units: entity.attrs.units?.value,
    });
  }
  file.close();
  return found;
}

const LEAST = -(2n ** 63n);

/** A value as HDF5 gives it back. */
function inHdf5({ type }: ColumnFacts, value: TableValue): Cell {
  if (type === 'integer') return typeof value === 'number' ? BigInt(value) : LEAST;
  if (type === 'boolean') return value === null ? -1 : Number(value);
  if (type === 'text' || type === 'json') return value === null ? '' : String(value);
  return value === null ? NaN : Number(value) / (type === 'time' ? 1000 : 1);
}

const rowOf = (record: Parameters<(typeof PLAIN_COLUMNS)[number]['value']>[0]): Row =>
  PLAIN_COLUMNS.map((column) => tableValue(column, record));

/** A sample of a run; `id` null: of the node. */
const sample = (id: number | null, metric: string, instance: string, at: number, value: number): Row => [
  ...['cell', id, null, null, 'node1', id === null ? null : `run.${id}`, id === null ? null : 'bob'],
  ...[metric, instance, 'bytes', 'gauge', T0 + at, value],
];

const SAMPLES: readonly (readonly Row[])[] = [
  [sample(null, 'loadavg_1min', '', 500, 0.5), sample(null, 'loadavg_5min', '', 500, 0.25)],
  [
    sample(7, 'process_rss_bytes', '', 1000, 4096),
    sample(7, 'process_rss_bytes', '', 2000, 8192),
    sample(7, 'process_swap_bytes', '', 2000, 1),
    sample(7, 'oldname_of_something', 'x', 2000, 3),
  ],
  [sample(7, 'process_rss_bytes', '', 3000, 2048)],
];

describe('HDF5', () => {
  it('holds the values of any record', async () => {
    const rows = fc.sample(arbitraryRecord(), { numRuns: 100, seed: 3 }).map(rowOf);
    const path = await written(tableOf('records', PLAIN_COLUMNS, [rows.slice(0, 60), rows.slice(60)]));
    const tables = await read(path);
    const table = tables.get('/records');
    assert.deepEqual(
      table?.columns,
      PLAIN_COLUMNS.map(({ name }) => name),
    );
    const whole = new Map(
      [...groupBy(tables.get('/long_texts')?.rows ?? [], ([where, row, column]) => `${where} ${row} ${column}`)].map(
        ([place, pieces]) => [place, pieces.map((piece) => piece[4]).join('')],
      ),
    );
    for (const [at, row] of rows.entries())
      assert.deepEqual(
        table.rows[at]?.map((cell, index) => whole.get(`/records ${at} ${index}`) ?? cell),
        PLAIN_COLUMNS.map((column, index) => inHdf5(column, row[index] ?? null)),
      );
  });

  it('keeps a text whole that is longer than the first ones', async () => {
    const columns: readonly ColumnFacts[] = [{ name: 'word', type: 'text', unit: null, help: 'a word' }];
    const long = 'wörter '.repeat(500);
    const tables = await read(await written(tableOf('records', columns, [[['short']], [['other'], [long]]])));
    const rows = tables.get('/records')?.rows ?? [];
    assert.deepEqual(rows.slice(0, 2), [['short'], ['other']]);
    assert.ok(long.startsWith(String(rows[2]?.[0])));
    const pieces = tables.get('/long_texts')?.rows ?? [];
    assert.equal(pieces.map((piece) => piece[4]).join(''), long);
    assert.deepEqual(
      pieces.map((piece) => piece.slice(0, 4)),
      [0n, 1n, 2n, 3n].map((piece) => ['/records', 2n, 0n, piece]),
    );
  });

  it('holds the rows of several chunks, and the unit of each column', async () => {
    const columns: readonly ColumnFacts[] = [
      { name: 'n', type: 'integer', unit: 'bytes', help: 'a number' },
      { name: 'at', type: 'time', unit: null, help: 'a time' },
    ];
    const rows = Array.from({ length: 33_001 }, (_item, index): Row => [index * 2 ** 22, T0 + index]);
    const pages = Array.from({ length: 5 }, (_item, index) => rows.slice(index * 7000, (index + 1) * 7000));
    const table = (await read(await written(tableOf('series', columns, pages)))).get('/series');
    assert.deepEqual(table?.units, ['bytes', 'seconds since the epoch']);
    assert.deepEqual(
      table.rows,
      rows.map((row) => columns.map((column, index) => inHdf5(column, row[index] ?? null))),
    );
  });

  it("has samples in colmet's layout: a group for each job, a table for each source", async () => {
    const tables = await read(await written(tableOf('samples', SAMPLE_COLUMNS, SAMPLES)));
    assert.deepEqual([...tables.keys()].sort(), ['/job_0/loadavg', '/job_7/oldname_of_something', '/job_7/process']);
    const { columns = [], rows = [], units } = tables.get('/job_7/process') ?? {};
    assert.deepEqual(columns.slice(0, 4), ['timestamp', 'hostname', 'job_id', 'metric_backend']);
    const picked = [
      'timestamp',
      'hostname',
      'job_id',
      'metric_backend',
      'owner',
      'process_rss_bytes',
      'process_swap_bytes',
    ];
    assert.deepEqual(
      rows.map((row) => picked.map((name) => row[columns.indexOf(name)])),
      [
        [T0 / 1000 + 1, 'node1', 7n, 'process', 'bob', 4096, NaN],
        [T0 / 1000 + 2, 'node1', 7n, 'process', 'bob', 8192, 1],
        [T0 / 1000 + 3, 'node1', 7n, 'process', 'bob', 2048, NaN],
      ],
    );
    assert.equal((units as readonly string[])[columns.indexOf('process_rss_bytes')], 'bytes');
    assert.deepEqual(tables.get('/job_0/loadavg')?.rows[0]?.slice(0, 4), [T0 / 1000 + 0.5, 'node1', 0n, 'loadavg']);
  });

  it('may be empty', async () => {
    const tables = await read(await written(tableOf('records', PLAIN_COLUMNS, [])));
    assert.deepEqual(tables.get('/records')?.rows, []);
    assert.equal((await read(await written(tableOf('samples', SAMPLE_COLUMNS, [])))).size, 0);
  });

  it('can be read by h5dump', async (t: TestContext) => {
    if (spawnSync('h5dump', ['--version']).error !== undefined) {
      t.skip('h5dump is not installed (Debian: hdf5-tools)');
      return;
    }
    const records = await written(tableOf('records', PLAIN_COLUMNS, [[rowOf(job(4711, T0))]]));
    const { status, stdout, stderr } = spawnSync('h5dump', ['-d', '/records', records], { encoding: 'utf8' });
    assert.deepEqual([status, stderr], [0, '']);
    assert.match(stdout, /"cell",\s+4711,/);
    assert.match(stdout, /ATTRIBUTE "units"[^]*"bytes"/);
    const samples = await written(tableOf('samples', SAMPLE_COLUMNS, SAMPLES));
    const listed = spawnSync('h5dump', ['-n', samples], { encoding: 'utf8' }).stdout;
    assert.match(listed, /dataset\s+\/job_7\/process\n/);
  });

  it('can be read by PyTables', async (t: TestContext) => {
    const records = await written(
      tableOf('records', PLAIN_COLUMNS, [Array.from({ length: 300 }, (_item, index) => rowOf(job(index + 1, T0)))]),
    );
    const samples = await written(tableOf('samples', SAMPLE_COLUMNS, SAMPLES));
    const script = `
import json, sys, tables
records = tables.open_file(sys.argv[1]).root.records
samples = tables.open_file(sys.argv[2])
row = records.read_where('job_id == 250')[0]
process = samples.root.job_7.process
print(json.dumps([type(records).__name__, int(records.nrows), row['owner'].decode(), int(row['peak_rss_lower_bytes']),
  float(row['ended_at']), [float(x) for x in process.cols.process_rss_bytes[:]], [g._v_name for g in samples.walk_groups('/')]]))
`;
    const readBy = (python: string): SpawnSyncReturns<string> | null => {
      const ended = spawnSync(python, ['-c', script, records, samples], { encoding: 'utf8' });
      return ended.error !== undefined || ended.stderr.includes("No module named 'tables'") ? null : ended;
    };
    const ended = readBy('/usr/bin/python3') ?? readBy('python3');
    if (ended === null) {
      t.skip('PyTables is not installed (Debian: python3-tables)');
      return;
    }
    const { status, stdout, stderr } = ended;
    assert.equal(status, 0, stderr);
    assert.deepEqual(JSON.parse(stdout), [
      ...['Table', 300, 'bob', 2 ** 30, T0 / 1000],
      ...[
        [4096, 8192, 2048],
        ['/', 'job_0', 'job_7'],
      ],
    ]);
  });

  it('says in one line which package to install where its library is missing', () => {
    // Another installation: the same program, without that package.
    const place = temporaryDirectory();
    const root = packageRoot();
    for (const name of ['dist', 'sql', 'package.json']) symlinkSync(join(root, name), join(place, name));
    mkdirSync(join(place, 'node_modules'));
    for (const name of readdirSync(join(root, 'node_modules')))
      if (name !== 'h5wasm') symlinkSync(join(root, 'node_modules', name), join(place, 'node_modules', name));
    const script = join(place, 'try.mjs');
    writeFileSync(
      script,
      `import { createRequire } from 'node:module';
const load = createRequire(import.meta.url);
const { writeTableFile } = load('./dist/src/export/write-table.js');
await writeTableFile({ what: 'records', columns: [], pages: [] }, 'hdf5', process.argv[2], {}).catch((error) => console.log(error.message));`,
    );
    const { stdout, stderr } = spawnSync(
      process.execPath,
      ['--preserve-symlinks', '--preserve-symlinks-main', script, join(place, 'x.h5')],
      { encoding: 'utf8' },
    );
    assert.equal(
      stdout,
      `--format hdf5 needs the package h5wasm, which is not installed; run "npm install --no-save h5wasm" in ${place}, or write --format parquet\n`,
      stderr,
    );
    assert.ok(!readdirSync(place).some((name) => name.includes('x.h5')));
  });
});
