import assert from 'node:assert/strict';
import { closeSync, existsSync, mkdirSync, openSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { tryLock } from '../../../src/native/libc';
import { writePrivateRecord } from '../../../src/sampler/delivery/finish';
import { runningRecords, writeLiveFile } from '../../../src/sampler/node-store/live-records';
import { NodeStore } from '../../../src/sampler/node-store/node-store';
import { cpuEfficiency, memoryEfficiency } from '../../../src/record/efficiency';
import { asStored, mergeRecords } from '../../../src/record/merge';
import { parseRecord, type JobRecord } from '../../../src/record/record';
import { recoverOrphans } from '../../../src/sampler/delivery/recover';
import { startTicksOf } from '../../../src/sampler/job/pid-file';
import {
  formatRunDescription,
  resumePath,
  type RunDescription,
  runDirectoryName,
  runId,
} from '../../../src/sampler/job/run-description';
import { DEFAULT_SETTINGS, type Settings } from '../../../src/record/settings';
import { bootId } from '../../../src/sources/proc/clock';
import { sampleConfig } from '../../gridengine/spool-samples';
import { temporaryDirectory } from '../../support/temporary-directory';
import { recordOf, bracketOf } from '../../support/records';
import { runOf } from '../../support/runs';

process.env.QMEMACCT_LOG = 'stderr';

const GIB = 2 ** 30;
const USAGE =
  'exit_status=3\nsignal=0\nstart_time=1763700012\nend_time=1763700075\nru_wallclock=63\nru_utime=12.5\nru_stime=0.5\nru_maxrss=315172\n';

/** A run whose shepherd has gone. */
const RUN = runOf({ job: 1516, spool: '/var/spool/ge/active_jobs/1516.1', boot: bootId() });
/** A run whose shepherd lives: this process stands for it. */
const LIVING: RunDescription = { ...RUN, shepherdPid: process.pid, shepherdStart: startTicksOf(process.pid) ?? 0 };

interface Node {
  readonly state: string;
  readonly settings: Settings;
  readonly store: NodeStore;
  /** Makes the run directory of `run` with these files beside `job`, by default in the state directory. */
  leave(run: RunDescription, files?: Readonly<Record<string, string>>, parent?: string): string;
  recover(nowMs?: number): number;
  record(run?: RunDescription): JobRecord | null;
  readonly delivered: () => readonly JobRecord[];
}

function newNode(t: TestContext): Node {
  const state = temporaryDirectory();
  const settings = { ...DEFAULT_SETTINGS, state_dir: state, run_dir: join(state, 'tmpfs'), cluster: 'c' };
  const store = new NodeStore(state);
  t.after(() => {
    store.close();
  });
  return {
    state,
    settings,
    store,
    leave: (run, files = {}, parent = state) => {
      const directory = join(parent, 'run', runDirectoryName(run));
      mkdirSync(directory, { recursive: true });
      for (const [name, text] of Object.entries({ job: formatRunDescription(run), ...files }))
        writeFileSync(join(directory, name), text);
      return directory;
    },
    recover: (nowMs) => recoverOrphans(store, settings, nowMs),
    record: (run = RUN) => {
      const job = store.job(runDirectoryName(run));
      return job === null ? null : (JSON.parse(job.record) as JobRecord);
    },
    delivered: () => store.outbox(100).map(({ record }) => JSON.parse(record) as JobRecord),
  };
}

function recovered(node: Node, run: RunDescription = RUN): JobRecord {
  assert.equal(node.recover(), 1);
  const record = node.record(run);
  assert.ok(record !== null);
  assert.deepEqual(node.delivered(), [record]);
  assert.equal(existsSync(join(node.state, 'run', runDirectoryName(run))), false);
  assert.ok(parseRecord(record).ok, JSON.stringify(parseRecord(record)));
  assert.equal(node.recover(), 0);
  return record;
}

function saved(run: RunDescription, changes: Partial<JobRecord> = {}): JobRecord {
  return recordOf({
    job_id: run.job,
    host: 'ge1',
    run_id: runId(run),
    status: 'running',
    revision: 77,
    owner: 'alice',
    started_at: '2025-11-21T04:40:12.250Z',
    samples: 40,
    cpu_seconds: 9,
    wallclock_seconds: 40,
    host_slots: 2,
    h_vmem: { request_bytes: GIB, limit_bytes: 2 * GIB, per: 'slot' },
    peak_rss: bracketOf(GIB),
    peak_vmem: bracketOf(3 * GIB),
    ...changes,
  });
}

const COPIES = { config: sampleConfig(), usage: USAGE, copied: '1\n' };

describe('runs without a sampler', () => {
  it('are none in an empty state directory', (t) => {
    assert.equal(newNode(t).recover(), 0);
  });

  it('are left alone while their shepherd lives', (t) => {
    const node = newNode(t);
    const directory = node.leave(LIVING);
    assert.equal(node.recover(), 0);
    assert.ok(existsSync(directory));
  });

  it('are left alone while a sampler holds their lock', (t) => {
    const node = newNode(t);
    const directory = node.leave(RUN, { ...COPIES, lock: '' });
    const lock = openSync(join(directory, 'lock'), 'a');
    assert.equal(tryLock(lock), true);
    assert.equal(node.recover(), 0);
    closeSync(lock);
    assert.equal(node.recover(), 1);
  });

  it('are recorded as lost where nothing else is known', (t) => {
    const node = newNode(t);
    node.leave(RUN, { lock: '' });
    const record = recovered(node);
    assert.equal(record.status, 'lost');
    assert.equal(record.trust, 'usage');
    assert.equal(record.run_id, runId(RUN));
    assert.equal(record.host, hostname());
    assert.equal(record.peak_rss, null);
    assert.match(record.notes.join(), /config file was gone/);
    assert.match(record.notes.join(), /the sampler did not start or died/);
  });

  it('are recorded as lost after a reboot, though a process has the shepherd’s pid', (t) => {
    const node = newNode(t);
    const run = { ...LIVING, boot: '0badcafe-0000-0000-0000-000000000000' };
    node.leave(run);
    assert.equal(recovered(node, run).status, 'lost');
  });

  it('are recorded from the epilog’s copies, even while the shepherd lives', (t) => {
    for (const run of [RUN, LIVING]) {
      const node = newNode(t);
      node.leave(run, COPIES);
      const record = recovered(node, run);
      assert.equal(record.status, 'finished');
      assert.equal(record.trust, 'usage');
      assert.equal(record.owner, 'alice');
      assert.equal(record.exit_status, 3);
      assert.equal(record.cpu_seconds, 13);
      assert.equal(record.wallclock_seconds, 63);
      assert.deepEqual(record.peak_rss?.sources, ['usage']);
      assert.ok(record.peak_rss.open.includes('no-samples'));
      assert.equal(record.samples, null);
      assert.equal(record.series, null);
    }
  });

  it('are left alone with incomplete copies while their shepherd lives', (t) => {
    const node = newNode(t);
    const directory = node.leave(LIVING, { config: sampleConfig() });
    assert.equal(node.recover(), 0);
    assert.ok(existsSync(directory));
  });

  it('are finished from both directories where the disk had no room for the epilog’s copies', (t) => {
    const node = newNode(t);
    const directory = node.leave(RUN, { lock: '' });
    const copies = node.leave(RUN, COPIES, node.settings.run_dir);
    node.store.saveProgress(runDirectoryName(RUN), 500, saved(RUN), []);
    const record = recovered(node);
    assert.deepEqual([record.status, record.exit_status, record.samples], ['finished', 3, 40]);
    assert.deepEqual([existsSync(directory), existsSync(copies)], [false, false]);
  });

  it('are left alone with copies elsewhere while a sampler holds the lock of their own directory', (t) => {
    const node = newNode(t);
    const directory = node.leave(RUN, { lock: '' });
    const copies = node.leave(RUN, COPIES, node.settings.run_dir);
    const lock = openSync(join(directory, 'lock'), 'a');
    assert.equal(tryLock(lock), true);
    assert.equal(node.recover(), 0);
    assert.ok(existsSync(copies));
    closeSync(lock);
    assert.equal(node.recover(), 1);
  });

  it('are finished without usage where the epilog asked for it', (t) => {
    const node = newNode(t);
    node.leave(RUN, { finish: 'version=1\n' });
    assert.equal(recovered(node).status, 'finished');
  });

  it('are recorded as unsampled with the reason', (t) => {
    const node = newNode(t);
    const run: RunDescription = { ...RUN, memory: 'none', reason: 'the limit leaves no room' };
    node.leave(run, COPIES);
    const record = recovered(node, run);
    assert.equal(record.status, 'unsampled');
    assert.deepEqual(record.notes, ['Not sampled: the limit leaves no room.']);
  });

  it('take nothing from the copy of a forged config', (t) => {
    const node = newNode(t);
    node.leave(RUN, { ...COPIES, config: sampleConfig({ stdout_path: '/tmp/x\nh_vmem=1T' }) });
    const record = recovered(node);
    assert.equal(record.owner, null);
    assert.equal(record.exit_status, 3);
    assert.match(record.notes.join(), /may be forged/);
  });

  it('keep what their sampler had saved, completed by usage', (t) => {
    const node = newNode(t);
    node.leave(RUN, COPIES);
    node.store.saveProgress(runDirectoryName(RUN), 500, saved(RUN), []);
    writeLiveFile(node.settings, RUN, saved(RUN), null);
    mkdirSync(join(node.settings.run_dir, 'resume'));
    writeFileSync(resumePath(node.settings, runDirectoryName(RUN)), '{}');
    const record = recovered(node);
    assert.deepEqual(runningRecords(node.settings), []);
    assert.equal(existsSync(resumePath(node.settings, runDirectoryName(RUN))), false);
    assert.equal(record.status, 'finished');
    assert.equal(record.trust, 'root');
    assert.equal(record.samples, 40);
    assert.equal(record.started_at, '2025-11-21T04:40:12.250Z');
    assert.equal(record.ended_at, '2025-11-21T04:41:15.000Z');
    assert.equal(record.exit_status, 3);
    assert.equal(record.cpu_seconds, 13);
    assert.equal(record.peak_rss?.lower_bytes, GIB);
    assert.deepEqual(record.peak_rss.open, ['no-lineage', 'sampler-lost']);
    assert.deepEqual(record.peak_vmem?.open, ['no-lineage', 'sampler-lost']);
    assert.equal(memoryEfficiency(record), 0.5);
    assert.equal(cpuEfficiency(record), 13 / (63 * 2));
    assert.ok(record.revision > 77);
    assert.match(record.notes.join(), /sampler died before the job ended/);
  });

  it('keep what their sampler had saved without the epilog’s copies, too', (t) => {
    const node = newNode(t);
    node.leave(RUN);
    node.store.saveProgress(runDirectoryName(RUN), 500, saved(RUN), []);
    const record = recovered(node);
    assert.equal(record.status, 'lost');
    assert.equal(record.cpu_seconds, 9);
    assert.equal(record.wallclock_seconds, 40);
    assert.equal(record.exit_status, null);
  });

  it('leave what was delivered of their end as it is, in a state directory of an earlier time', (t) => {
    const node = newNode(t);
    node.leave(RUN);
    node.store.saveProgress(runDirectoryName(RUN), 500, saved(RUN), []);
    const sinceMs = Date.now();
    const early = recovered(node);
    const whole = saved(RUN, { status: 'finished', revision: 78, wallclock_seconds: 90, peak_rss: bracketOf(2 * GIB) });
    const { record } = mergeRecords(asStored(whole), asStored(early));
    assert.deepEqual([record.status, record.wallclock_seconds], ['finished', 90]);
    assert.deepEqual(record.peak_rss, whole.peak_rss);
    // It waits since now, and "flush --since" of a time after its last figures delivers it again.
    assert.ok((node.store.outboxState(0).oldest ?? 0) >= sinceMs);
    node.store.delivered(node.store.outbox(1).map(({ id }) => id));
    node.store.deliverAgain(sinceMs);
    assert.equal(node.delivered().length, 1);
  });

  it('take the lower bound of usage where it is above the saved one', (t) => {
    const node = newNode(t);
    node.leave(RUN, COPIES);
    node.store.saveProgress(
      runDirectoryName(RUN),
      500,
      saved(RUN, { peak_rss: bracketOf(1000), peak_rss_swap: null }),
      [],
    );
    const record = recovered(node);
    assert.deepEqual(record.peak_rss?.sources, ['usage']);
    assert.ok(record.peak_rss.open.includes('sampler-lost'));
    assert.deepEqual(record.peak_rss_swap?.sources, ['usage']);
  });

  it('are only cleared away where they were finished before', (t) => {
    const node = newNode(t);
    const directory = node.leave(RUN, COPIES);
    const done = saved(RUN, { status: 'finished', exit_status: 0 });
    node.store.finish(runDirectoryName(RUN), 500, done, []);
    assert.equal(node.recover(), 1);
    assert.deepEqual(node.record(), done);
    assert.deepEqual(node.delivered(), [done]);
    assert.equal(existsSync(directory), false);
  });

  it('are recorded by their record.json where it is final', (t) => {
    const node = newNode(t);
    const directory = node.leave(RUN);
    writePrivateRecord(directory, saved(RUN, { status: 'finished', exit_status: 4 }), 1e6);
    const record = recovered(node);
    assert.equal(record.exit_status, 4);
    assert.equal(record.samples, 40);
  });

  it('are recorded by a preliminary record.json and the epilog’s copies', (t) => {
    const node = newNode(t);
    writePrivateRecord(node.leave(RUN, COPIES), saved(RUN, { status: 'lost' }), 1e6);
    const record = recovered(node);
    assert.deepEqual([record.status, record.exit_status, record.samples], ['finished', 3, 40]);
  });

  it('are left alone with a preliminary record.json while their shepherd lives', (t) => {
    const node = newNode(t);
    const directory = node.leave(LIVING);
    writePrivateRecord(directory, saved(LIVING, { status: 'lost' }), 1e6);
    assert.equal(node.recover(), 0);
    assert.ok(existsSync(directory));
  });

  it('are removed with a torn description, after a minute in which it may still be written', (t) => {
    const node = newNode(t);
    const directory = node.leave(RUN, { job: 'version=1\njob=15' });
    assert.equal(node.recover(Date.now() + 50_000), 0);
    assert.ok(existsSync(directory));
    assert.equal(node.recover(Date.now() + 70_000), 0);
    assert.equal(existsSync(directory), false);
    const empty = node.leave(RUN, {});
    writeFileSync(join(empty, 'job'), '');
    utimesSync(empty, 1, 1);
    node.recover();
    assert.equal(existsSync(empty), false);
    assert.deepEqual(node.delivered(), []);
  });

  it('are recovered where a record.json is damaged, and so are the others', (t) => {
    const node = newNode(t);
    const broken = { ...RUN, job: 1 };
    const directory = node.leave(broken);
    writeFileSync(join(directory, 'record.json'), '{');
    node.leave(RUN, COPIES);
    assert.equal(node.recover(), 2);
    assert.equal(node.record()?.exit_status, 3);
  });

  it('are directories, not files with such a name', (t) => {
    const node = newNode(t);
    mkdirSync(join(node.state, 'run'));
    writeFileSync(join(node.state, 'run', runDirectoryName(RUN)), '');
    assert.equal(node.recover(Date.now() + 120_000), 0);
    assert.deepEqual(node.delivered(), []);
  });
});
