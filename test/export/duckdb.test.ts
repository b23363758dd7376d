import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it, type TestContext } from 'node:test';
import fc from 'fast-check';
import { openSqliteHistory } from '../../src/accounting/sqlite/sqlite-history';
import { openSqliteStore } from '../../src/accounting/sqlite/sqlite-store';
import { packageRoot } from '../../src/base/package-root';
import { runProgram } from '../../src/cli/program';
import { NodeStore } from '../../src/sampler/node-store/node-store';
import { arbitraryRecord } from '../accounting/arbitrary-record';
import { iso, job, T0 } from '../accounting/suite/fixture';
import { questionsSuite } from '../accounting/suite/questions-suite';
import { fakeTerminal } from '../cli/fake-terminal';
import { ordinary } from '../report/sample-records';
import { temporaryDirectory } from '../support/temporary-directory';

type Values = Readonly<Record<string, unknown>>;

interface DuckDBConnection {
  runAndReadAll(sql: string): Promise<{ getRowObjectsJS(): readonly Values[] }>;
  run(sql: string): Promise<unknown>;
  closeSync(): void;
}

interface DuckDB {
  readonly DuckDBInstance: {
    create(path: string): Promise<{ connect(): Promise<DuckDBConnection>; closeSync(): void }>;
  };
}

/** 70 MB, so it is no dependency. */
const PACKAGE = ['@duckdb', 'node-api'].join('/');

const isThere = existsSync(join(packageRoot(), 'node_modules', PACKAGE));
const skip = isThere ? false : `no ${PACKAGE}: npm install --no-save ${PACKAGE}`;

const EVER = ['--since', '1970-01-02', '--until', '9999-01-01'];

/** A site with a store and the state of a node, and its exports. */
class Site {
  readonly directory = temporaryDirectory();
  readonly accounting = join(this.directory, 'accounting.db');
  readonly state = join(this.directory, 'state');
  private readonly config = join(this.directory, 'qmemacct.toml');

  constructor() {
    mkdirSync(this.state);
    const { accounting, state } = this;
    writeFileSync(this.config, `accounting = "${accounting}"\nstate_dir = "${state}"\nrun_dir = "${this.directory}"\n`);
  }

  async export(what: string, format: string): Promise<string> {
    const output = join(this.directory, `${what}.${format}`);
    const terminal = fakeTerminal();
    const words = ['export', what, ...EVER, '--format', format, '--output', output, '--config', this.config];
    assert.equal(await runProgram(words, '1.2.3', terminal), 0, terminal.warnings());
    return output;
  }
}

async function connect(t: TestContext): Promise<DuckDBConnection> {
  const { DuckDBInstance } = (await import(PACKAGE)) as DuckDB;
  const instance = await DuckDBInstance.create(':memory:');
  const connection = await instance.connect();
  t.after(() => {
    connection.closeSync();
    instance.closeSync();
  });
  return connection;
}

const ask = async (connection: DuckDBConnection, sql: string): Promise<readonly Values[]> =>
  (await connection.runAndReadAll(sql)).getRowObjectsJS();

/** A value as JSON has it. */
function plain(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  return value instanceof Date ? value.toISOString() : value;
}

interface Schema {
  readonly columns: readonly { readonly name: string; readonly type: string }[];
}

describe('Parquet in DuckDB', { skip }, () => {
  const site = new Site();

  before(async () => {
    const store = openSqliteStore(site.accounting, 0o600);
    const series = { start: iso(T0), step_seconds: 0.5, rss_bytes: [4096, 2 ** 40], others: {} };
    await store.merge([
      ...fc.sample(arbitraryRecord(), { numRuns: 200, seed: 5 }),
      ...Array.from({ length: 11_000 }, (_item, index) => job(index + 1, T0 + index, index < 3 ? { series } : {})),
    ]);
    await store.close();
    const node = new NodeStore(site.state);
    const sample = { at: 1000, rss: 4, vmem: 9, swap: 0, anonymous: 2, cpu: 1500, processes: 2, threads: 4 };
    node.finish(`${ordinary.job_id}.0.${ordinary.run_id}`, T0, ordinary, [
      { ...sample, read: 0, written: 0, largest: [], othersRss: 0, othersCpu: 0 },
    ]);
    const load = { metric: 'loadavg_1min', instance: '', resolution: 100, values: [150] };
    node.saveSeries(null, [{ source: 'loadavg', at: [T0], columns: [load] }]);
    node.close();
  });

  for (const what of ['records', 'series', 'samples'])
    it(`has the same ${what} as JSON Lines`, async (t) => {
      const parquet = await site.export(what, 'parquet');
      const lines = readFileSync(await site.export(what, 'jsonl'), 'utf8')
        .trimEnd()
        .split('\n');
      const { columns } = JSON.parse(readFileSync(`${parquet}.schema.json`, 'utf8')) as Schema;
      const json = columns.flatMap(({ name, type }) => (type === 'json' ? [name] : []));
      const rows = await ask(await connect(t), `SELECT * FROM read_parquet('${parquet}')`);
      const found = rows.map((row) =>
        Object.fromEntries(
          Object.entries(row).map(([name, value]): [string, unknown] => [
            name,
            json.includes(name) && typeof value === 'string' ? JSON.parse(value) : plain(value),
          ]),
        ),
      );
      assert.ok(found.length > 1);
      assert.deepEqual(
        found,
        lines.map((line) => JSON.parse(line) as unknown),
      );
    });
});

describe('exported records in DuckDB', { skip }, () => {
  questionsSuite(
    (t) => {
      const site = new Site();
      const store = openSqliteHistory(site.accounting, 0o640);
      t.after(() => store.close());
      const views = readFileSync(join(packageRoot(), 'docs', 'examples', 'duckdb.sql'), 'utf8');
      let connection: DuckDBConnection | null = null;
      const opened = async (): Promise<DuckDBConnection> => {
        const made = await connect(t);
        await site.export('records', 'parquet');
        await made.run(views.replace("'records*.parquet'", `'${site.directory}/records*.parquet'`));
        return made;
      };
      return Promise.resolve({
        store,
        ask: async (sql) => {
          connection ??= await opened();
          return (await ask(connection, sql)).map((row) =>
            Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plain(value)])),
          );
        },
      });
    },
    ['daily'],
  );
});
