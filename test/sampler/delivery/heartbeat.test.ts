import assert from 'node:assert/strict';
import { closeSync, existsSync, mkdirSync, openSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { StoredRecord } from '../../../src/record/merge';
import { openSqliteReader } from '../../../src/accounting/sqlite/sqlite-store';
import { tryLock } from '../../../src/native/libc';
import { Heartbeat } from '../../../src/sampler/delivery/heartbeat';
import { NodeStore } from '../../../src/sampler/node-store/node-store';
import type { JobRecord } from '../../../src/record/record';
import { DEFAULT_SETTINGS, type Settings } from '../../../src/record/settings';
import { accountingRecord, heldJob, newSite, quiet, runningAt, shepherdObstacle, startJob } from '../fake-shepherd';
import { temporaryDirectory } from '../../support/temporary-directory';
import { until } from '../../support/until';
import { recordOf } from '../../support/records';

process.env.QMEMACCT_LOG = 'stderr';

const NOW = Date.UTC(2026, 10, 1);
const INTERVAL = 60_000;

function record(job: number, revision = NOW): JobRecord {
  const series = { start: new Date(NOW - 1000).toISOString(), step_seconds: 5, rss_bytes: [1000 * job], others: {} };
  const run_id = `0badcafe.${job}.2`;
  return recordOf({ job_id: job, run_id, status: 'running', revision, owner: 'alice', cpu_seconds: 1, series });
}

interface Node {
  readonly settings: Settings;
  readonly store: NodeStore;
  /** Sets when the next heartbeat is due. */
  readonly setDue: (atMs: number) => void;
  readonly dueMs: () => number;
  readonly heartbeatOf: () => Promise<readonly StoredRecord[]>;
}

function newNode(t: TestContext): Node {
  const state = temporaryDirectory();
  mkdirSync(join(state, 'accounting'));
  const accounting = join(state, 'accounting', 'accounting.db');
  const store = new NodeStore(state);
  t.after(() => {
    store.close();
  });
  const file = join(state, 'heartbeat');
  return {
    settings: { ...DEFAULT_SETTINGS, state_dir: state, accounting, deliver_as: 'root', heartbeat: INTERVAL / 1000 },
    store,
    setDue: (atMs) => {
      writeFileSync(file, '');
      utimesSync(file, atMs / 1000, atMs / 1000);
    },
    dueMs: () => statSync(file).mtimeMs,
    heartbeatOf: async () => {
      const reader = openSqliteReader(accounting);
      try {
        return await reader.running({ since: 0 });
      } finally {
        await reader.close();
      }
    },
  };
}

function save(store: NodeStore, ...records: readonly JobRecord[]): void {
  for (const one of records) store.saveProgress(`${one.job_id}.0.${one.run_id}`, NOW, one, []);
}

const jobsOf = (found: readonly StoredRecord[]): readonly number[] => found.map((one) => one.record.job_id);

describe('a heartbeat', () => {
  it('delivers every running job of the host, and the host’s own status', async (t) => {
    const { settings, store, setDue, heartbeatOf } = newNode(t);
    save(store, record(1), record(2, NOW - 2 * INTERVAL), record(3));
    store.finish('4.0.x', NOW, { ...record(4), status: 'finished' }, []);
    setDue(NOW);
    assert.equal(await new Heartbeat(settings).beat(store, NOW), 'delivered');
    const found = await heartbeatOf();
    assert.deepEqual(jobsOf(found), [1, 2, 3]);
    assert.deepEqual(found[0]?.record, record(1));
    const reader = openSqliteReader(settings.accounting);
    t.after(() => reader.close());
    const [node] = await reader.nodes({ since: 0 });
    assert.deepEqual([node?.host, node?.waiting, node?.last_job_at], [hostname(), 1, new Date(NOW).toISOString()]);
  });

  it('is delivered once per interval, whichever process asks', async (t) => {
    const { settings, store, setDue, dueMs } = newNode(t);
    save(store, record(1));
    setDue(NOW);
    const [first, second] = [new Heartbeat(settings), new Heartbeat(settings)];
    assert.equal(await second.beat(store, NOW - 1), 'not due');
    assert.equal(await first.beat(store, NOW), 'delivered');
    assert.ok(dueMs() >= NOW + 0.8 * INTERVAL - 1 && dueMs() <= NOW + 1.2 * INTERVAL + 1, String(dueMs() - NOW));
    assert.equal(await second.beat(store, NOW + 5000), 'not due');
    const later = Math.ceil(dueMs());
    save(store, record(1, later));
    assert.equal(await second.beat(store, later), 'delivered');
  });

  it('is first due within one interval', async (t) => {
    const { settings, store, dueMs } = newNode(t);
    save(store, record(1));
    assert.equal(await new Heartbeat(settings).beat(store, NOW), 'not due');
    assert.ok(dueMs() >= NOW - 1 && dueMs() <= NOW + INTERVAL + 1);
  });

  it('is delivered though the clock was set back', async (t) => {
    const { settings, store, setDue } = newNode(t);
    save(store, record(1));
    setDue(NOW + 86_400_000);
    assert.equal(await new Heartbeat(settings).beat(store, NOW), 'delivered');
  });

  it('is left to another process that holds the lock', async (t) => {
    const { settings, store, setDue } = newNode(t);
    save(store, record(1));
    setDue(NOW);
    const lock = openSync(join(settings.state_dir, 'heartbeat.lock'), 'a');
    assert.equal(tryLock(lock), true);
    const heart = new Heartbeat(settings);
    assert.equal(await heart.beat(store, NOW), 'elsewhere');
    closeSync(lock);
    assert.equal(await heart.beat(store, NOW), 'delivered');
  });

  it('holds the lock until it is delivered', async (t) => {
    const { settings, store, setDue } = newNode(t);
    save(store, record(1));
    setDue(NOW);
    const heart = new Heartbeat(settings);
    const delivery = heart.beat(store, NOW);
    const lock = openSync(join(settings.state_dir, 'heartbeat.lock'), 'a');
    t.after(() => {
      closeSync(lock);
    });
    assert.equal(tryLock(lock), false);
    await heart.idle();
    assert.equal(tryLock(lock), true);
    assert.equal(await delivery, 'delivered');
  });

  it('is not delivered without a recently saved job, or where it is switched off', async (t) => {
    const { settings, store, setDue } = newNode(t);
    save(store, record(1, NOW - 2 * INTERVAL - 1));
    setDue(NOW);
    assert.equal(await new Heartbeat(settings).beat(store, NOW), 'nothing');
    save(store, record(2));
    setDue(NOW);
    assert.equal(await new Heartbeat({ ...settings, heartbeat: 0 }).beat(store, NOW), 'not due');
    assert.equal(existsSync(settings.accounting), false);
  });

  it('fails without an exception, and is delivered later', async (t) => {
    const { settings, store, setDue, heartbeatOf } = newNode(t);
    save(store, record(1));
    writeFileSync(settings.accounting, 'no database at all, and long enough'.repeat(100));
    const heart = new Heartbeat(settings);
    setDue(NOW);
    assert.equal(await heart.beat(store, NOW), 'failed');
    rmSync(settings.accounting);
    setDue(NOW);
    assert.equal(await heart.beat(store, NOW), 'delivered');
    assert.deepEqual(jobsOf(await heartbeatOf()), [1]);
    const nowhere = new Heartbeat({ ...settings, state_dir: join(settings.state_dir, 'missing') });
    assert.equal(await nowhere.beat(store, NOW), 'failed');
  });

  it('goes to the accounting DB configured now, and fails where the configuration can’t be read', async (t) => {
    const { settings, store, setDue } = newNode(t);
    save(store, record(1));
    const moved = { ...settings, accounting: join(settings.state_dir, 'accounting', 'moved.db') };
    let asked = 0;
    const heart = new Heartbeat(settings, () => {
      if (asked++ === 0) throw new Error('qmemacct.toml: not valid TOML');
      return moved;
    });
    setDue(NOW);
    assert.equal(await heart.beat(store, NOW), 'failed');
    setDue(NOW);
    assert.equal(await heart.beat(store, NOW), 'delivered');
    assert.deepEqual([existsSync(settings.accounting), existsSync(moved.accounting)], [false, true]);
  });

  it('never replaces an end that was delivered meanwhile', async (t) => {
    const { settings, store, setDue, heartbeatOf } = newNode(t);
    save(store, record(1));
    setDue(NOW);
    const heart = new Heartbeat(settings);
    const delivery = heart.beat(store, NOW);
    const { deliverRecord } = await import('../../../src/sampler/delivery/outbox-feeder.js');
    const end = { ...record(1, NOW + 10), status: 'finished', cpu_seconds: 2 } as const;
    assert.equal(await deliverRecord(end, () => settings), null);
    assert.equal(await delivery, 'delivered');
    assert.deepEqual(await heartbeatOf(), []);
    const reader = openSqliteReader(settings.accounting);
    t.after(() => reader.close());
    assert.deepEqual((await reader.job({ job_id: 1 })).records[0]?.record, end);
  });
});

const obstacle = shepherdObstacle();

describe('a sampler of a running job', { skip: obstacle ?? false }, () => {
  it('delivers the running job with its granted hosts, and in its place later the end', async (t) => {
    const site = newSite(t, { settings: ['heartbeat = 1'] });
    const hold = heldJob(site);
    const job = startJob(site, hold.command);
    const records = await until(async () => {
      const found = await runningAt(site).catch(() => []);
      return found.length > 0 && found;
    });
    assert.deepEqual(
      records.map(({ job_id: id, status, granted_hosts: hosts }) => [id, status, hosts]),
      [[job.number, 'running', [{ host: 'node1', slots: 2 }]]],
    );
    hold.letGo();
    await job.ended;
    await quiet(site);
    assert.deepEqual(await runningAt(site), []);
    const end = await accountingRecord(site, job.number);
    assert.deepEqual([end?.status, end?.granted_hosts], ['finished', [{ host: 'node1', slots: 2 }]]);
  });
});
