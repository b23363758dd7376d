import assert from 'node:assert/strict';
import { chmodSync, chownSync, closeSync, existsSync, mkdirSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { openSqliteReader } from '../../../src/accounting/sqlite/sqlite-store';
import { tryLock } from '../../../src/native/libc';
import { SqliteDatabase } from '../../../src/native/sqlite';
import { packageVersion } from '../../../src/base/package-root';
import { privateCluster } from '../../../src/record/job-name';
import { DeliveryLock } from '../../../src/sampler/delivery/delivery-lock';
import { ownStatus, STAMP_FILE } from '../../../src/sampler/delivery/node-status';
import { NodeStore } from '../../../src/sampler/node-store/node-store';
import {
  delivererIdentity,
  deliverOutbox,
  deliverRecord,
  deliverRecords,
} from '../../../src/sampler/delivery/outbox-feeder';
import type { JobRecord } from '../../../src/record/record';
import { DEFAULT_SETTINGS, type Settings } from '../../../src/record/settings';
import { temporaryDirectory } from '../../support/temporary-directory';
import { recordOf } from '../../support/records';

process.env.QMEMACCT_LOG = 'stderr';

const record = (job: number): JobRecord =>
  recordOf({ job_id: job, revision: Date.UTC(2026, 10, 1), owner: 'alice', started_at: '2026-10-31T23:00:00.000Z' });

interface Node {
  readonly settings: Settings;
  readonly store: NodeStore;
}

function newNode(t: TestContext): Node {
  const state = temporaryDirectory();
  mkdirSync(join(state, 'accounting'));
  const store = new NodeStore(state);
  t.after(() => {
    store.close();
  });
  const accounting = join(state, 'accounting', 'accounting.db');
  return {
    settings: { ...DEFAULT_SETTINGS, state_dir: state, accounting, deliver_as: 'root', delivery_jitter_ms: 0 },
    store,
  };
}

function put(store: NodeStore, ...records: readonly unknown[]): void {
  for (const [index, it] of records.entries()) store.finish(`${index}.0.0badcafe.1.2`, 0, it as JobRecord, []);
}

async function jobsIn(path: string, ...jobs: readonly number[]): Promise<readonly number[]> {
  const reader = openSqliteReader(path);
  try {
    const answers = await Promise.all(jobs.map((job) => reader.job({ job_id: job })));
    return answers.flatMap(({ records }) => records.map((found) => found.record.job_id));
  } finally {
    await reader.close();
  }
}

describe('delivererIdentity', () => {
  it('is nobody by default', { skip: process.getuid?.() !== 0 }, () => {
    assert.equal(delivererIdentity('')?.uid, 65534);
    assert.equal(delivererIdentity('daemon')?.uid, 1);
    assert.equal(delivererIdentity('root'), null);
  });

  it('must be a local account', { skip: process.getuid?.() !== 0 }, () => {
    assert.throws(() => delivererIdentity('no-such-user'), /no such user in \/etc\/passwd; set deliver_as/);
  });
});

describe('the delivery lock', () => {
  it('pauses no longer where the clock is set back', { timeout: 20_000 }, async (t) => {
    const lock = DeliveryLock.take(temporaryDirectory());
    let now = Date.now();
    t.mock.method(Date, 'now', () => (now -= 3_600_000));
    await lock?.pause(20);
    lock?.release();
  });
});

describe('deliverOutbox', () => {
  it(
    'names the user and the directory where that user may not write',
    { skip: process.getuid?.() !== 0 },
    async (t) => {
      const { settings, store } = newNode(t);
      put(store, record(1));
      const directory = dirname(settings.accounting);
      chmodSync(settings.state_dir, 0o755);
      const problem = async (): Promise<string> =>
        (await deliverOutbox(store, { ...settings, deliver_as: 'nobody' }, 0)).problem ?? '';
      // As made by an admin who forgets which user delivers.
      chmodSync(directory, 0o750);
      assert.match(
        await problem(),
        new RegExp(`: user "nobody" may not enter ${directory}; chmod a\\+x ${directory}$`),
      );
      chownSync(directory, 65534, 65534);
      chmodSync(directory, 0o000);
      assert.match(await problem(), new RegExp(`may not enter ${directory}; chmod u\\+rwx ${directory}$`));
      chownSync(directory, 0, 0);
      chmodSync(directory, 0o755);
      assert.match(
        await problem(),
        new RegExp(`: user "nobody" may not write ${directory}; chown nobody ${directory}, or set deliver_as`),
      );
      chownSync(directory, 65534, 65534);
      assert.equal(await problem(), '');
    },
  );

  it('delivers nothing from an empty outbox', async (t) => {
    const { settings, store } = newNode(t);
    assert.deepEqual(await deliverOutbox(store, settings, 0), { delivered: 0, refused: 0, left: 0, problem: null });
  });

  it('empties the outbox into the accounting DB', async (t) => {
    const { settings, store } = newNode(t);
    put(store, record(1), record(2), record(3));
    assert.deepEqual(await deliverOutbox(store, settings, 5), { delivered: 3, refused: 0, left: 0, problem: null });
    assert.deepEqual(await jobsIn(settings.accounting, 1, 2, 3), [1, 2, 3]);
    assert.deepEqual(store.outbox(9), []);
  });

  it('delivers the host’s status, in which the records delivered with it do not wait', async (t) => {
    const { settings, store } = newNode(t);
    put(store, record(1), { revision: 5 }, record(3));
    await deliverOutbox(store, settings, 5);
    put(store, record(4), record(5), record(6), record(7));
    await deliverOutbox(store, settings, 5);
    const reader = openSqliteReader(settings.accounting);
    t.after(() => reader.close());
    const [node] = await reader.nodes({ since: 0 });
    assert.deepEqual(
      [node?.cluster, node?.host, node?.version, node?.scope, node?.waiting, node?.waiting_since, node?.refused],
      ['default', hostname(), packageVersion(), 'job', 0, null, 1],
    );
    assert.equal(node?.listener, false);
    assert.deepEqual(ownStatus(store, { ...settings, cluster: privateCluster('run') }), null);
    assert.deepEqual(ownStatus(store, { ...settings, listener: false })?.listener, null);
    // What the installation found in host_aliases.
    writeFileSync(join(settings.state_dir, STAMP_FILE), '{"host":"node2"}\n');
    assert.equal(ownStatus(store, settings)?.host, 'node2');
  });

  it('leaves a status with the number and the first time of the records that wait', (t) => {
    const { settings, store } = newNode(t);
    put(store, record(1), record(2), record(3));
    const [first] = store.outbox(1);
    const { waiting, waiting_since: since } = ownStatus(store, settings, first?.id) ?? assert.fail();
    assert.equal(waiting, 2);
    assert.equal(since, new Date(record(2).revision).toISOString());
  });

  it('sets aside a row that is no record', async (t) => {
    const { settings, store } = newNode(t);
    put(store, record(1), { revision: 5 }, record(3));
    assert.deepEqual(await deliverOutbox(store, settings, 5), { delivered: 2, refused: 1, left: 0, problem: null });
    assert.deepEqual(await jobsIn(settings.accounting, 1, 3), [1, 3]);
  });

  it('sets aside rows that can’t be read, and delivers those after them', async (t) => {
    const { settings, store } = newNode(t);
    put(store, record(1), record(2), record(3));
    const database = new SqliteDatabase(join(settings.state_dir, 'node.db'));
    const spoil = database.prepare<[string, number]>('UPDATE outbox SET record = ? WHERE id = ?');
    const [first, second] = store.outbox(2);
    spoil.run('{"job_id": ', first?.id ?? 0);
    spoil.run(JSON.stringify({ notes: 'x'.repeat(2 ** 21) }), second?.id ?? 0);
    database.close();
    assert.deepEqual(await deliverOutbox(store, settings, 5), { delivered: 1, refused: 2, left: 0, problem: null });
    assert.deepEqual(await jobsIn(settings.accounting, 3), [3]);
    assert.match(store.outboxState(0).reason ?? '', /the line is (not JSON|too long)/);
  });

  it('rejects where node.db is locked, after it has delivered', async (t) => {
    const { settings, store } = newNode(t);
    put(store, record(1), { revision: 5 });
    store.refuse = () => {
      throw new Error('database is locked');
    };
    await assert.rejects(deliverOutbox(store, settings, 5), /database is locked/);
    assert.deepEqual(await jobsIn(settings.accounting, 1), [1]);
  });

  it('loses nothing while the accounting DB can’t be used, and says why', async (t) => {
    const { settings, store } = newNode(t);
    put(store, record(1), record(2));
    writeFileSync(settings.accounting, 'no database at all, and long enough'.repeat(100));
    const outcome = await deliverOutbox(store, settings, 0);
    assert.equal(outcome.delivered, 0);
    assert.equal(outcome.left, 2);
    assert.ok(outcome.problem !== null && outcome.problem !== '');
    rmSync(settings.accounting);
    assert.deepEqual(await deliverOutbox(store, settings, 5), { delivered: 2, refused: 0, left: 0, problem: null });
  });

  it('leaves the outbox to another process that holds the lock', async (t) => {
    const { settings, store } = newNode(t);
    put(store, record(1));
    const lock = openSync(join(settings.state_dir, 'deliver.lock'), 'a');
    assert.equal(tryLock(lock), true);
    assert.deepEqual(await deliverOutbox(store, settings, 5), { delivered: 0, refused: 0, left: 1, problem: null });
    closeSync(lock);
  });
});

describe('deliverOutbox with a changing configuration', () => {
  it('asks for the destination at each try, and keeps the records while none is known', async (t) => {
    const { settings, store } = newNode(t);
    put(store, record(1));
    const moved = { ...settings, accounting: join(settings.state_dir, 'accounting', 'moved.db') };
    let asked = 0;
    const outcome = await deliverOutbox(store, settings, 5, () => {
      if (asked++ === 0) throw new Error('qmemacct.toml: not valid TOML');
      return moved;
    });
    assert.deepEqual([asked, outcome.delivered, outcome.problem], [2, 1, null]);
    assert.deepEqual(await jobsIn(moved.accounting, 1), [1]);
    put(store, record(1), record(2));
    const broken = (): never => {
      throw new Error('qmemacct.toml: not valid TOML');
    };
    const { left, problem } = await deliverOutbox(store, settings, 0, broken);
    assert.deepEqual([left, problem], [1, 'qmemacct.toml: not valid TOML']);
    assert.equal(await deliverRecord(record(3), broken), 'qmemacct.toml: not valid TOML');
    assert.equal(existsSync(settings.accounting), false);
  });
});

describe('deliverRecords', () => {
  it('delivers several records', async (t) => {
    const { settings } = newNode(t);
    const rows = [1, 2, 3].map((job) => JSON.stringify(record(job)));
    assert.equal(await deliverRecords(rows, () => settings), null);
    assert.deepEqual(await jobsIn(settings.accounting, 1, 2, 3), [1, 2, 3]);
  });

  it('says at once why it could not deliver', async (t) => {
    const { settings } = newNode(t);
    const one = JSON.stringify(record(1));
    assert.match((await deliverRecords([one, '{"revision":5}'], () => settings)) ?? '', /cluster is not a string/);
    assert.deepEqual(await jobsIn(settings.accounting, 1), [1]);
    const dead = { ...settings, accounting: join(settings.state_dir, 'missing', 'accounting.db') };
    const began = Date.now();
    assert.match((await deliverRecords([one], () => dead)) ?? '', /missing/);
    assert.ok(Date.now() - began < 45_000);
  });
});

describe('deliverRecord', () => {
  it('delivers without node.db', async (t) => {
    const { settings } = newNode(t);
    assert.equal(await deliverRecord(record(7), () => settings), null);
    assert.deepEqual(await jobsIn(settings.accounting, 7), [7]);
  });

  it('says why it could not deliver', async (t) => {
    const { settings } = newNode(t);
    const problem = await deliverRecord(record(7), () => ({ ...settings, deliver_as: 'no-such-user' }));
    if (process.getuid?.() === 0) assert.match(problem ?? '', /no such user/);
  });

  it('gives up on what is no record', async (t) => {
    const { settings } = newNode(t);
    assert.equal(await deliverRecord({ revision: 1 } as unknown as JobRecord, () => settings), null);
  });
});
