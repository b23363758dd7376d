import assert from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { packageRoot } from '../../../src/base/package-root';
import { openSqliteHistory } from '../../../src/accounting/sqlite/sqlite-history';
import { iso, job, lineOf } from '../../accounting/suite/fixture';
import type { JobRecord } from '../../../src/record/record';
import { SqliteDatabase } from '../../../src/native/sqlite';
import { settingsToml } from '../../../src/record/settings';
import { NodeStore } from '../../../src/sampler/node-store/node-store';
import { COMMAND, runCommand, type Answer } from '../../support/qmemacct';
import { temporaryDirectory } from '../../support/temporary-directory';
import { serveOnSocket } from '../../live/snapshot-server';
import { httpServer, sinkSettings, tcpServer, type Asked } from '../../export/push/servers';

const ANALYSE = '/usr/bin/systemd-analyze';
const NOW = Date.now();

/** As much of Elasticsearch as exports use: it keeps each id once. */
class Index {
  readonly documents = new Map<string, Readonly<Record<string, unknown>>>();
  known = 0;

  bulk({ body }: Asked): string {
    const lines = body.trimEnd().split('\n');
    const items: object[] = [];
    for (let at = 0; at < lines.length; at += 2) {
      const { create } = JSON.parse(lines[at] ?? '') as { create: { _id: string } };
      const isNew = !this.documents.has(create._id);
      if (isNew) this.documents.set(create._id, JSON.parse(lines[at + 1] ?? '') as Record<string, unknown>);
      else this.known++;
      items.push({ create: { _id: create._id, status: isNew ? 201 : 409 } });
    }
    return JSON.stringify({ errors: false, items });
  }

  get jobs(): readonly number[] {
    return [...this.documents.values()].map(({ job_id: number }) => Number(number)).sort((a, b) => a - b);
  }
}

interface Place {
  readonly directory: string;
  readonly config: string;
  readonly merge: (records: readonly JobRecord[]) => Promise<void>;
  /** Prunes the records that are older than a year. */
  readonly prune: () => Promise<void>;
}

function placeFor(t: TestContext, ...sinks: Parameters<typeof sinkSettings>[0][number][]): Place {
  const directory = temporaryDirectory();
  const accounting = join(directory, 'accounting.db');
  const store = openSqliteHistory(accounting, 0o640);
  t.after(() => store.close());
  const config = join(directory, 'qmemacct.toml');
  const user = process.geteuid?.() === 0 ? { deliver_as: 'root' } : {};
  const settings = sinkSettings(sinks, {
    accounting,
    ...user,
    export_dir: join(directory, 'export'),
    state_dir: join(directory, 'state'),
  });
  const { export: tables, ...others } = settings;
  const given = { accounting, ...user, export_dir: others.export_dir, state_dir: others.state_dir, export: tables };
  writeFileSync(config, settingsToml(given));
  return {
    directory,
    config,
    merge: async (records) => {
      for (const outcome of await store.merge(records)) assert.ok(outcome.ok);
    },
    prune: async () => {
      await store.rollUp({});
      assert.ok((await store.prune({ records: 365, series: 0, rollups: 0 }, NOW, {})).records > 0);
    },
  };
}

/** Makes a node.db whose outbox can't be read. */
function damagedNodeDb(stateDirectory: string): void {
  mkdirSync(stateDirectory);
  new NodeStore(stateDirectory).close();
  const path = join(stateDirectory, 'node.db');
  const db = new SqliteDatabase(path);
  const size = Number(db.pragma('page_size', { simple: true }));
  const page = Number(db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = 'outbox'").pluck().get());
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.alloc(size, 0xff), 0, size, (page - 1) * size);
  closeSync(file);
}

function start({ config }: Place, ...words: readonly string[]): ChildProcess {
  return spawn(process.execPath, [COMMAND, '--config', config, 'export', 'push', ...words], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** Pushes once, in this process. */
function run({ config }: Place, ...words: readonly string[]): Promise<Answer> {
  return runCommand(['--config', config, 'export', 'push', '--once', ...words]);
}

const SENT: Answer = { status: 0, output: '', warnings: '' };

const elastic = (port: number) =>
  ({ kind: 'elasticsearch', address: `http://127.0.0.1:${port}/qmemacct`, what: 'records' }) as const;

/** The record of an ended job, with its accounting line: whole. */
const whole = (id: number, endedAt = NOW): readonly JobRecord[] => [job(id, endedAt), lineOf(job(id, endedAt))];
const numbers = (from: number, to: number): readonly number[] =>
  Array.from({ length: to - from + 1 }, (_item, index) => from + index);

describe('qmemacct export push', { timeout: 2_000_000 }, () => {
  it('sends each record once, as soon as it is whole', async (t) => {
    const index = new Index();
    const { port, asked } = await httpServer(t, (one, response) => void response.end(index.bulk(one)));
    const place = placeFor(t, elastic(port));
    const alone = lineOf(job(3, NOW));
    const running = job(4, NOW, { status: 'running', ended_at: null, revision: NOW });
    const lost = job(7, NOW, { status: 'lost', started_at: iso(NOW - 5 * 3_600_000), ended_at: null });
    await place.merge([...whole(1), job(2, NOW), alone, running, lineOf(job(5, NOW - 5 * 3_600_000)), lost]);
    assert.deepEqual(await run(place), SENT);
    assert.deepEqual(index.jobs, [1, 5]);
    const lineOfLost = lineOf({ ...lost, ended_at: iso(NOW) });
    await place.merge([lineOf(job(2, NOW)), job(3, NOW), job(4, NOW), lineOf(job(4, NOW)), ...whole(6), lineOfLost]);
    assert.deepEqual(await run(place), SENT);
    assert.deepEqual(index.jobs, [1, 2, 3, 4, 5, 6, 7]);
    assert.ok([...index.documents.values()].every(({ ended_at: end }) => end !== null));
    const [three] = [...index.documents.values()].filter(({ job_id: number }) => number === 3);
    assert.deepEqual([three?.peak_rss_lower_bytes, three?.failed], [2 ** 30, 0]);
    const before = asked.length;
    assert.deepEqual(await run(place), SENT);
    assert.equal(asked.length, before);
    assert.equal(index.known, 0);
  });

  it('loses nothing while the sink is away, and says that nothing is sent', async (t) => {
    const index = new Index();
    let isAway = true;
    const { port } = await httpServer(t, (one, response) => {
      if (isAway) response.writeHead(503).end('maintenance');
      else response.end(index.bulk(one));
    });
    const place = placeFor(t, elastic(port));
    await place.merge(numbers(1, 3).flatMap((id) => whole(id)));
    const { status, warnings } = await run(place);
    assert.equal(status, 3);
    assert.equal(warnings, 'qmemacct: export "elasticsearch": nothing is sent: status 503: maintenance\n');
    await place.merge(numbers(4, 6).flatMap((id) => whole(id)));
    isAway = false;
    assert.deepEqual(await run(place), SENT);
    assert.deepEqual(index.jobs, numbers(1, 6));
  });

  it('loses nothing where it is killed between pages, and makes no document twice', async (t) => {
    const index = new Index();
    let hold: (() => void) | null = null;
    const { port } = await httpServer(t, (one, response) => {
      const text = index.bulk(one);
      // The second page is in the index, but the export never hears so.
      if (index.documents.size > 500 && hold !== null) hold();
      else response.end(text);
    });
    const place = placeFor(t, elastic(port));
    await place.merge(numbers(1, 1700).flatMap((id) => whole(id)));
    const isHeld = new Promise<void>((resolve) => (hold = resolve));
    const child = start(place);
    const ended = once(child, 'close');
    await Promise.race([isHeld, ended.then(() => assert.fail('it ended'))]);
    child.kill('SIGKILL');
    await ended;
    assert.equal(index.documents.size, 1000);
    hold = null;
    assert.deepEqual(await run(place), SENT);
    assert.deepEqual(index.jobs, numbers(1, 1700));
    // The page that was sent, but not noted as sent.
    assert.equal(index.known, 500);
  });

  it('runs until it is terminated, as the only process for its sink', async (t) => {
    const index = new Index();
    let heard: (() => void) | null = null;
    const { port } = await httpServer(t, (one, response) => {
      response.end(index.bulk(one));
      heard?.();
    });
    const place = placeFor(t, { ...elastic(port), interval: 1 });
    await place.merge(whole(1));
    const first = new Promise<void>((resolve) => (heard = resolve));
    const child = start(place);
    await Promise.race([first, once(child, 'close').then(() => assert.fail('it ended'))]);
    const second = await run(place);
    assert.deepEqual(
      [second.status, second.warnings],
      [3, 'qmemacct: export "elasticsearch": another "qmemacct export push" sends there already\n'],
    );
    const later = new Promise<void>((resolve) => (heard = resolve));
    await place.merge(whole(2));
    await later;
    assert.deepEqual(index.jobs, [1, 2]);
    child.kill('SIGTERM');
    assert.deepEqual(await once(child, 'close'), [0, null]);
  });

  it('sends all records again where the accounting DB is another one, or an earlier state', async (t) => {
    const index = new Index();
    const { port } = await httpServer(t, (one, response) => void response.end(index.bulk(one)));
    const place = placeFor(t, elastic(port));
    await place.merge(numbers(1, 20).flatMap((id) => whole(id)));
    const file = join(place.directory, 'export', 'elasticsearch', 'state.json');
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, '{"store":"other","position":15,"last":"","open":[3,7],"dropped":2,"refused":0}');
    const anew = /the accounting DB is another one, or an earlier state of it: all of its records are sent/;
    const other = await run(place);
    assert.equal(other.status, 0);
    assert.match(other.warnings, anew);
    assert.deepEqual(index.jobs, numbers(1, 20));
    const state = JSON.parse(readFileSync(file, 'utf8')) as { position: number; dropped: number };
    assert.equal(state.dropped, 2);
    writeFileSync(file, JSON.stringify({ ...state, position: state.position + 1 }));
    assert.match((await run(place)).warnings, anew);
    assert.equal(index.known, 20);
  });

  it('sends what a restored accounting DB has had since under the numbers of lost records', async (t) => {
    const index = new Index();
    const { port } = await httpServer(t, (one, response) => void response.end(index.bulk(one)));
    const place = placeFor(t, elastic(port));
    await place.merge(numbers(1, 3).flatMap((id) => whole(id)));
    const restored = join(place.directory, 'restored.db');
    copyFileSync(join(place.directory, 'accounting.db'), restored);
    await place.merge(numbers(4, 5).flatMap((id) => whole(id)));
    assert.deepEqual(await run(place), SENT);
    const store = openSqliteHistory(restored, 0o640);
    t.after(() => store.close());
    await store.merge(numbers(6, 8).flatMap((id) => whole(id)));
    writeFileSync(place.config, readFileSync(place.config, 'utf8').replace('/accounting.db', '/restored.db'));
    assert.equal((await run(place)).status, 0);
    assert.deepEqual(index.jobs, numbers(1, 8));
  });

  it('sends nothing again where the newest records were pruned', async (t) => {
    const index = new Index();
    const { port, asked } = await httpServer(t, (one, response) => void response.end(index.bulk(one)));
    const place = placeFor(t, elastic(port));
    await place.merge(whole(1));
    await place.merge(whole(2, NOW - 900 * 86_400_000));
    assert.deepEqual(await run(place), SENT);
    await place.prune();
    const before = asked.length;
    assert.deepEqual(await run(place), SENT);
    assert.equal(asked.length, before);
    await place.merge(whole(3));
    assert.deepEqual(await run(place), SENT);
    assert.deepEqual([index.jobs, index.known], [[1, 2, 3], 0]);
  });

  it('sends the metrics of the server', async (t) => {
    const text =
      '# TYPE qmemacct_running_jobs gauge\nqmemacct_running_jobs 7\nqmemacct_host_up{host="n1"} 1\nother 3\n';
    const socket = await serveOnSocket(
      t,
      (asked, response) => void response.writeHead(asked.url === '/metrics' ? 200 : 404).end(text),
    );
    const lines: string[] = [];
    const port = await tcpServer(t, (one) => {
      one.on('data', (piece) => lines.push(String(piece)));
      one.on('end', () => one.end());
    });
    const place = placeFor(t, { kind: 'graphite', address: `tcp://127.0.0.1:${port}`, what: 'cluster' });
    writeFileSync(place.config, `serve_socket = "${socket}"\n${readFileSync(place.config, 'utf8')}`);
    const { status, warnings } = await run(place);
    assert.deepEqual([status, warnings], [0, '']);
    assert.match(lines.join(''), /^qmemacct\.running_jobs 7 \d+\nqmemacct\.host_up\.n1 1 \d+\n$/);
  });

  it('reads metrics at each interval, also while the sink is slow', async (t) => {
    let value = 0;
    let heardTwice = (): void => undefined;
    const twice = new Promise<void>((resolve) => (heardTwice = resolve));
    const socket = await serveOnSocket(t, (_asked, response) => {
      response.writeHead(200).end(`# TYPE qmemacct_running_jobs gauge\nqmemacct_running_jobs ${++value}\n`);
      if (value === 2) heardTwice();
    });
    const { port, asked } = await httpServer(t, (_one, response) => void twice.then(() => response.end()));
    const place = placeFor(t, { kind: 'influx', address: `http://127.0.0.1:${port}/`, what: 'cluster', interval: 1 });
    writeFileSync(place.config, `serve_socket = "${socket}"\n${readFileSync(place.config, 'utf8')}`);
    const child = start(place);
    const tooLate = setTimeout(() => child.kill('SIGKILL'), 20_000);
    await Promise.race([twice, once(child, 'close').then(() => assert.fail('no metrics while the sink was slow'))]);
    clearTimeout(tooLate);
    child.kill('SIGTERM');
    assert.deepEqual(await once(child, 'close'), [0, null]);
    assert.match(asked[0]?.body ?? '', /^qmemacct_running_jobs value=1 /);
  });

  it('goes on with the other sinks where node.db is damaged', async (t) => {
    const index = new Index();
    const { port } = await httpServer(t, (one, response) => void response.end(index.bulk(one)));
    const place = placeFor(t, { kind: 'influx', address: 'http://127.0.0.1:1/write', what: 'node' }, elastic(port));
    await place.merge(whole(1));
    const state = join(place.directory, 'state');
    damagedNodeDb(state);
    const { status, warnings } = await run(place);
    assert.deepEqual([status, index.jobs], [3, [1]]);
    assert.equal(
      warnings,
      `qmemacct: export "influx": ${state}/node.db can't be read: database disk image is malformed; "qmemacct doctor" says what helps\n`,
    );
  });

  it('says in one line why it cannot push', async (t) => {
    const place = placeFor(t, elastic(1), { kind: 'influx', address: 'http://127.0.0.1:1/write', what: 'node' });
    const node = await run(place, 'influx');
    assert.equal(node.status, 3);
    assert.match(node.warnings, /^qmemacct: export "influx": .*node\.db does not exist on .*\n$/);
    const unknown = await run(place, 'kafka');
    assert.deepEqual(unknown, {
      status: 2,
      output: '',
      warnings: 'qmemacct: "kafka" is the name of no [[export]]; these are: elasticsearch, influx\n',
    });
    assert.deepEqual(await run(place, '--since', '2d'), {
      status: 2,
      output: '',
      warnings: 'qmemacct: --since: export push has no such option; see --help\n',
    });
    writeFileSync(place.config, '');
    assert.match((await run(place)).warnings, /has no \[\[export\]\]; docs\/settings\.md says how/);
  });

  it('has a unit that systemd accepts', { skip: !existsSync(ANALYSE) && 'no systemd-analyze' }, () => {
    const example = readFileSync(join(packageRoot(), 'docs', 'examples', 'qmemacct-export.service'), 'utf8');
    const unit = join(temporaryDirectory(), 'qmemacct-export.service');
    writeFileSync(unit, example.replace('/usr/local/bin/qmemacct', '/bin/true'));
    const { status, stderr } = spawnSync(ANALYSE, ['verify', unit], { encoding: 'utf8' });
    const about = stderr.split('\n').filter((line) => line.includes('qmemacct-export'));
    assert.deepEqual([status, about], [0, []], stderr);
  });
});
