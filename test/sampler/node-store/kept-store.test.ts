import assert from 'node:assert/strict';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { SqliteDatabase } from '../../../src/native/sqlite';
import { BUSY_MS, REST_MS } from '../../../src/sampler/service/node-upkeep';
import { KeptStore } from '../../../src/sampler/node-store/kept-store';
import { DEFAULT_SETTINGS } from '../../../src/record/settings';
import { chooseStorage, type Storage } from '../../../src/sampler/node-store/storage';
import { temporaryDirectory } from '../../support/temporary-directory';
import { recordOf } from '../../support/records';
import { runOf } from '../../support/runs';

interface Jobs {
  readonly state: string;
  readonly shared: KeptStore;
  readonly storage: readonly Storage[];
  readonly save: (job: number) => void;
  /** Jobs whose progress is in node.db. */
  readonly saved: () => readonly number[];
}

function jobs(count: number): Jobs {
  const state = temporaryDirectory();
  const shared = new KeptStore(state, BUSY_MS, REST_MS);
  const settings = { ...DEFAULT_SETTINGS, state_dir: state };
  const upkeep = { store: shared, heartbeat: null, ended: (): void => undefined };
  const storage = Array.from({ length: count }, (_, job) =>
    chooseStorage({
      run: runOf({ job, shepherdPid: job, ends: 'usage' }),
      directory: null,
      settings,
      destination: () => settings,
      fileSizeLimit: Infinity,
      startedMs: () => 1,
      deliver: true,
      upkeep,
    }),
  );
  return {
    state,
    shared,
    storage,
    save: (job) =>
      storage[job]?.saveProgress(recordOf({ job_id: job, run_id: `0badcafe.${job}.5`, status: 'running' }), []),
    saved: () => {
      const database = new SqliteDatabase(join(state, 'node.db'), { readonly: true });
      const runs = database.prepare<[], string>('SELECT run FROM job').pluck().all();
      database.close();
      return runs.map(Number.parseFloat).sort((a, b) => a - b);
    },
  };
}

/** Stops the time that the store sees; the result makes it pass. */
function clock(t: TestContext): (ms: number) => void {
  let nowMs = 1000;
  t.mock.method(process.hrtime, 'bigint', () => BigInt(nowMs) * 1_000_000n);
  return (ms) => {
    nowMs += ms;
  };
}

describe('the node.db that many jobs share', () => {
  it('is opened once', () => {
    const { shared } = jobs(0);
    assert.equal(shared.open(), shared.open());
  });

  it('delays few saves while another process locks it, and loses none', (t) => {
    const pass = clock(t);
    const { state, save, saved } = jobs(8);
    save(0);
    const holder = new SqliteDatabase(join(state, 'node.db'));
    t.after(() => holder.close());
    holder.exec('BEGIN IMMEDIATE');
    let slow = 0;
    for (let round = 0; round < 3; round++)
      for (let job = 0; job < 8; job++) {
        const begin = performance.now();
        save(job);
        if (performance.now() - begin > 600) slow++;
      }
    // One save waits for 0.7 s, and a busy machine may delay some.
    assert.ok(slow < 12, `${slow} of 24 saves waited`);
    holder.exec('ROLLBACK');
    pass(6000);
    // A job that still holds the broken store does not spoil the new one for the others.
    for (let job = 7; job >= 0; job--) save(job);
    assert.deepEqual(saved(), [0, 1, 2, 3, 4, 5, 6, 7]);
  });

  it('is opened anew for all jobs after one has found it broken', (t) => {
    const pass = clock(t);
    const { shared, save, saved } = jobs(3);
    for (const job of [0, 1, 2]) save(job);
    const broken = shared.open();
    shared.failed(broken);
    assert.throws(() => shared.open(), /a moment ago/);
    pass(6000);
    const whole = shared.open();
    assert.notEqual(whole, broken);
    // A late report about the store that was broken.
    shared.failed(broken);
    shared.failed(null);
    assert.equal(shared.open(), whole);
    for (const job of [0, 1, 2]) save(job);
    assert.deepEqual(saved(), [0, 1, 2]);
  });

  it('is made anew where it was removed', () => {
    const { state, save, saved } = jobs(2);
    save(0);
    for (const name of ['node.db', 'node.db-wal', 'node.db-shm']) rmSync(join(state, name), { force: true });
    save(1);
    assert.deepEqual(saved(), [1]);
  });

  it('leaves records in memory while it can’t be written', (t) => {
    const pass = clock(t);
    const { state, storage, save, saved } = jobs(1);
    renameSync(state, `${state}.away`);
    t.after(() => rmSync(`${state}.away`, { recursive: true, force: true }));
    save(0);
    assert.equal(storage[0]?.finish(recordOf({ job_id: 0, run_id: '0badcafe.0.5' }), []), 'memory');
    assert.equal(existsSync(state), false);
    mkdirSync(state);
    pass(6000);
    assert.equal(storage[0].finish(recordOf({ job_id: 0, run_id: '0badcafe.0.5' }), []), 'disk');
    assert.deepEqual(saved(), [0]);
  });
});
