import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { openSqliteReader } from '../../../src/accounting/sqlite/sqlite-store';
import { DAY_MS } from '../../../src/base/units';
import { SqliteDatabase } from '../../../src/native/sqlite';
import { ownUpkeep } from '../../../src/sampler/job/own-upkeep';
import { NodeStore } from '../../../src/sampler/node-store/node-store';
import type { JobRecord } from '../../../src/record/record';
import { runDirectoryName, runId, type RunDescription } from '../../../src/sampler/job/run-description';
import { DEFAULT_SETTINGS, type Settings } from '../../../src/record/settings';
import { chooseStorage, tidyNode, type Storage, type Upkeep } from '../../../src/sampler/node-store/storage';
import { temporaryDirectory } from '../../support/temporary-directory';
import { recordOf, sampleOf } from '../../support/records';
import { runOf } from '../../support/runs';

process.env.QMEMACCT_LOG = 'stderr';

const RUN = runOf({ job: 5 });
const running = recordOf({
  ...{ job_id: 5, run_id: runId(RUN), status: 'running', revision: 1000 },
  started_at: '2026-11-01T00:00:00.000Z',
});
const finished: JobRecord = { ...running, status: 'finished', revision: 2000 };

interface Place {
  readonly settings: Settings;
  readonly directory: string;
  readonly choose: (more?: {
    readonly run?: RunDescription;
    readonly fileSizeLimit?: number;
    readonly directory?: string | null;
  }) => Storage;
}

function newPlace(): Place {
  const state = temporaryDirectory();
  const directory = join(state, 'run', runDirectoryName(RUN));
  mkdirSync(directory, { recursive: true });
  mkdirSync(join(state, 'accounting'));
  const accounting = join(state, 'accounting', 'accounting.db');
  const settings = {
    ...DEFAULT_SETTINGS,
    state_dir: state,
    run_dir: join(state, 'tmpfs'),
    accounting,
    deliver_as: 'root',
    delivery_jitter_ms: 0,
  };
  return {
    settings,
    directory,
    choose: (more = {}) =>
      chooseStorage({
        run: RUN,
        directory,
        settings,
        fileSizeLimit: Infinity,
        startedMs: () => 500,
        deliver: true,
        destination: () => settings,
        upkeep: upkeepOf(settings),
        ...more,
      }),
  };
}

const upkeepOf = (settings: Settings, delivers = true): Upkeep => ownUpkeep(settings, () => settings, delivers);

function samplesOf({ settings }: Place): unknown {
  const database = new SqliteDatabase(join(settings.state_dir, 'node.db'), { readonly: true });
  try {
    return database.prepare('SELECT count(*) FROM sample').pluck().get();
  } finally {
    database.close();
  }
}

describe('storage in node.db', () => {
  it('saves progress, finishes on the disk, delivers and cleans up', async (t) => {
    const { settings, choose, directory } = newPlace();
    const storage = choose();
    storage.saveProgress(running, [sampleOf(0)]);
    const store = new NodeStore(settings.state_dir);
    t.after(() => {
      store.close();
    });
    assert.equal(store.job(runDirectoryName(RUN))?.finished, false);
    assert.equal(storage.finish(finished, [sampleOf(100)]), 'disk');
    assert.equal(storage.keepsDirectory(), false);
    assert.equal(store.job(runDirectoryName(RUN))?.finished, true);
    assert.equal(store.outbox(9).length, 1);
    await storage.afterwards(() => {
      rmSync(directory, { recursive: true });
    });
    assert.equal(store.outbox(9).length, 0);
    assert.ok(existsSync(settings.accounting));
  });

  it('delivers the running jobs when a heartbeat is due', async (t) => {
    const { settings, choose } = newPlace();
    const storage = choose();
    const now = Date.now();
    writeFileSync(join(settings.state_dir, 'heartbeat'), '');
    storage.saveProgress({ ...running, revision: now }, [sampleOf(0)]);
    const end = { ...finished, revision: now + 1 };
    await storage.afterwards(() => undefined);
    const reader = openSqliteReader(settings.accounting);
    t.after(() => reader.close());
    assert.deepEqual(
      (await reader.running({ since: 0 })).map(({ record }) => record),
      [{ ...running, revision: now }],
    );
    const later = choose();
    assert.equal(later.finish(end, []), 'disk');
    await later.afterwards(() => undefined);
    assert.deepEqual(await reader.running({ since: 0 }), []);
  });

  it('prunes now and then while its job runs, unless it does not deliver', (t) => {
    for (const [deliver, left] of [
      [false, 1],
      [true, 0],
    ] as const) {
      const place = newPlace();
      const settings = { ...place.settings, heartbeat: 0 };
      const conditions = { run: RUN, directory: null, settings, fileSizeLimit: Infinity, startedMs: () => 500 };
      const storage = chooseStorage({
        ...conditions,
        deliver,
        destination: () => settings,
        upkeep: upkeepOf(settings, deliver),
      });
      t.mock.method(Math, 'random', () => 0.9);
      storage.saveProgress(running, [sampleOf(0)]);
      assert.equal(samplesOf(place), 1);
      t.mock.method(Math, 'random', () => 0);
      storage.saveProgress(running, []);
      assert.equal(samplesOf(place), left);
      t.mock.restoreAll();
    }
  });

  it('keeps a record that can’t be written in memory, and delivers it', async () => {
    const { settings } = newPlace();
    const bad = { ...settings, state_dir: join(settings.state_dir, 'missing') };
    const storage = chooseStorage({
      run: RUN,
      directory: null,
      settings: bad,
      fileSizeLimit: Infinity,
      startedMs: () => 500,
      deliver: true,
      destination: () => bad,
      upkeep: upkeepOf(bad),
    });
    storage.saveProgress(running, [sampleOf(0)]);
    assert.equal(storage.finish(finished, []), 'memory');
    let cleaned = false;
    await storage.afterwards(() => {
      cleaned = true;
    });
    assert.equal(cleaned, true);
    assert.ok(existsSync(settings.accounting));
  });

  it('goes on trying when the clock is set two days forward', async (t) => {
    const { settings } = newPlace();
    const missing = { ...settings, state_dir: join(settings.state_dir, 'missing') };
    let tries = 0;
    const storage = chooseStorage({
      ...{ run: RUN, directory: null, fileSizeLimit: Infinity, startedMs: () => 500, deliver: true },
      upkeep: upkeepOf(missing),
      settings: missing,
      destination: () => {
        if (tries++ > 0) return settings;
        t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 2 * DAY_MS });
        throw new Error('not yet');
      },
    });
    t.mock.method(Math, 'random', () => 0);
    assert.equal(storage.finish(finished, []), 'memory');
    await storage.afterwards(() => assert.equal(storage.keepsDirectory(), false));
    assert.equal(tries, 2);
  });

  it('leaves the run directory where it gives up delivering', async (t) => {
    const { settings } = newPlace();
    const missing = { ...settings, state_dir: join(settings.state_dir, 'missing') };
    const storage = chooseStorage({
      ...{ run: RUN, directory: null, fileSizeLimit: Infinity, startedMs: () => 500, deliver: true },
      upkeep: upkeepOf(missing),
      settings: missing,
      destination: () => {
        const later = process.hrtime.bigint() + BigInt(2 * DAY_MS) * 1_000_000n;
        t.mock.method(process.hrtime, 'bigint', () => later);
        throw new Error('never');
      },
    });
    t.mock.method(Math, 'random', () => 0);
    assert.equal(storage.finish(finished, []), 'memory');
    await storage.afterwards(() => assert.equal(storage.keepsDirectory(), true));
  });

  it('makes node.db anew where it was moved away', async (t) => {
    const { settings, choose } = newPlace();
    const storage = choose();
    storage.saveProgress(running, [sampleOf(0)]);
    renameSync(join(settings.state_dir, 'node.db'), join(settings.state_dir, 'aside.db'));
    assert.equal(storage.finish(finished, []), 'disk');
    const store = new NodeStore(settings.state_dir);
    t.after(() => store.close());
    assert.equal(store.outbox(9).length, 1);
    await storage.afterwards(() => undefined);
    assert.equal(store.outbox(9).length, 0);
  });

  it('writes what it could not write before once that is possible', (t) => {
    const { settings } = newPlace();
    const late = { ...settings, state_dir: join(settings.state_dir, 'late') };
    const storage = chooseStorage({
      run: RUN,
      directory: null,
      settings: late,
      fileSizeLimit: Infinity,
      startedMs: () => 500,
      deliver: true,
      destination: () => late,
      upkeep: upkeepOf(late),
    });
    for (let at = 0; at < 50; at++) storage.saveProgress(running, [sampleOf(at)]);
    mkdirSync(late.state_dir);
    assert.equal(storage.finish(finished, [sampleOf(50)]), 'disk');
    const store = new NodeStore(late.state_dir);
    t.after(() => {
      store.close();
    });
    assert.deepEqual(JSON.parse(store.job(runDirectoryName(RUN))?.record ?? ''), finished);
  });
});

describe('storage under a file size limit', () => {
  it('writes record.json, which stays for a later delivery', async () => {
    const { settings, directory, choose } = newPlace();
    const storage = choose({ fileSizeLimit: 65536 });
    storage.saveProgress(running, [sampleOf(0)]);
    const path = join(directory, 'record.json');
    assert.equal((JSON.parse(readFileSync(path, 'utf8')) as JobRecord).status, 'lost');
    assert.equal(storage.finish(finished, []), 'disk');
    assert.equal(storage.keepsDirectory(), true);
    const written = JSON.parse(readFileSync(path, 'utf8')) as JobRecord;
    assert.equal(written.status, 'finished');
    assert.match(written.notes.join(), /file size limit/);
    await storage.afterwards(() => undefined);
    assert.equal(existsSync(join(settings.state_dir, 'node.db')), false);
    assert.equal(existsSync(settings.accounting), false);
  });

  it('delivers directly where record.json can’t be written', async () => {
    const { settings, directory, choose } = newPlace();
    rmSync(directory, { recursive: true });
    const storage = choose({ fileSizeLimit: 65536 });
    assert.equal(storage.finish(finished, []), 'memory');
    await storage.afterwards(() => assert.equal(storage.keepsDirectory(), false));
    assert.ok(existsSync(settings.accounting));
  });

  it('leaves the run directory where it can neither write nor deliver', async () => {
    const { settings, directory, choose } = newPlace();
    rmSync(directory, { recursive: true });
    rmSync(dirname(settings.accounting), { recursive: true });
    const storage = choose({ fileSizeLimit: 65536 });
    assert.equal(storage.finish(finished, []), 'memory');
    await storage.afterwards(() => assert.equal(storage.keepsDirectory(), true));
  });
});

describe('storage of hooks without root', () => {
  it('hands over the final record only, without the series where it is too large', async () => {
    const { settings, choose } = newPlace();
    const outbox = join(settings.state_dir, 'outbox');
    mkdirSync(outbox);
    const storage = choose({ run: runOf({ job: 5, hooks: 'plain' }) });
    storage.saveProgress(running, [sampleOf(0)]);
    assert.deepEqual(readdirSync(outbox), []);
    const series = {
      start: '2026-11-01T00:00:00.000Z',
      step_seconds: 1,
      rss_bytes: Array.from({ length: 120 }, () => 2 ** 40),
      others: {},
    };
    assert.equal(storage.finish({ ...finished, series, notes: ['x'.repeat(59_000)] }, []), 'disk');
    const [name = '', ...others] = readdirSync(outbox);
    assert.deepEqual(others, []);
    assert.match(name, /^5\.0\.\d+\.[0-9a-z]+$/);
    assert.equal(statSync(join(outbox, name)).mode & 0o777, 0o600);
    const handed = JSON.parse(readFileSync(join(outbox, name), 'utf8')) as JobRecord;
    assert.equal(handed.status, 'finished');
    assert.equal(handed.series, null);
    await storage.afterwards(() => undefined);
  });

  it('says that the record is in memory where there is no outbox', () => {
    const { settings, choose } = newPlace();
    assert.equal(choose({ run: runOf({ job: 5, hooks: 'plain' }) }).finish(finished, []), 'memory');
    writeFileSync(join(settings.state_dir, 'outbox'), '');
    assert.equal(choose({ run: runOf({ job: 5, hooks: 'plain' }) }).finish(finished, []), 'memory');
  });
});

describe('tidyNode', () => {
  it('prunes the samples of running jobs, too', async (t) => {
    const place = newPlace();
    const store = new NodeStore(place.settings.state_dir);
    t.after(() => store.close());
    store.saveProgress(runDirectoryName(RUN), 500, running, [sampleOf(0)]);
    assert.equal(samplesOf(place), 1);
    await tidyNode(store, place.settings, 5);
    assert.equal(samplesOf(place), 0);
    assert.equal(store.running().length, 1);
  });

  it('recovers and delivers what others have left, and counts it', async (t) => {
    const { settings, directory, choose } = newPlace();
    choose({ fileSizeLimit: 65536 }).finish(finished, []);
    assert.ok(existsSync(directory));
    const store = new NodeStore(settings.state_dir);
    t.after(() => {
      store.close();
    });
    assert.deepEqual(await tidyNode(store, settings, 5), {
      recovered: 1,
      ingested: 0,
      delivered: 1,
      left: 0,
      problem: null,
    });
    assert.equal(existsSync(directory), false);
  });
});
