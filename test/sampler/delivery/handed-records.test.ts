import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import {
  HANDED_LIMITS,
  takeHandedRecords,
  type HandedLimits,
  type HandedPass,
} from '../../../src/sampler/delivery/handed-records';
import { NodeStore } from '../../../src/sampler/node-store/node-store';
import type { JobRecord } from '../../../src/record/record';
import { formatRunDescription, runDirectoryName, runId } from '../../../src/sampler/job/run-description';
import { DEFAULT_SETTINGS, type Settings } from '../../../src/record/settings';
import { tidyNode } from '../../../src/sampler/node-store/storage';
import { bootId, uptimeSeconds } from '../../../src/sources/proc/clock';
import { sampleConfig } from '../../gridengine/spool-samples';
import { temporaryDirectory } from '../../support/temporary-directory';
import { recordOf, bracketOf } from '../../support/records';
import { runOf } from '../../support/runs';

process.env.QMEMACCT_LOG = 'stderr';

const NOBODY = 65534;
const DAEMON = 1;
const DAY = 86_400_000;
const NOW = Date.now();
const RUN = runOf({ job: 1516, boot: bootId(), hooks: 'plain', memory: 'none', reason: 'no room' });

const iso = (ms: number): string => new Date(ms).toISOString();

/** What an honest sampler hands in for "nobody". */
function record(changes: Partial<JobRecord> = {}): JobRecord {
  return recordOf({
    job_id: 1516,
    host: hostname(),
    run_id: runId(RUN),
    trust: 'self-reported',
    revision: NOW - 500,
    owner: 'nobody',
    submitted_at: iso(NOW - 3_000),
    started_at: iso(NOW - 2_000),
    ended_at: iso(NOW - 1_000),
    samples: 40,
    metrics: { process_rss_bytes: 5 },
    ...changes,
  });
}

const text = (changes: Partial<JobRecord> = {}): string => JSON.stringify(record(changes));

interface Node {
  readonly outbox: string;
  readonly settings: Settings;
  readonly store: NodeStore;
  pass(limits?: Partial<HandedLimits>, now?: () => number): HandedPass;
  delivered(): readonly JobRecord[];
  hand(name: string, text: string, uid?: number): string;
  /** Runs a script in the outbox as a user without any privilege. */
  as(uid: number, script: string): void;
}

function newNode(t: TestContext): Node {
  const state = temporaryDirectory(0o755);
  const outbox = join(state, 'outbox');
  mkdirSync(outbox);
  chmodSync(outbox, 0o1733);
  const settings: Settings = {
    ...DEFAULT_SETTINGS,
    ...{ state_dir: state, run_dir: join(state, 'tmpfs'), cluster: 'c', accept_self_reported: true },
    ...{ accounting: join(state, 'accounting.db'), deliver_as: 'root', delivery_jitter_ms: 0 },
  };
  const store = new NodeStore(state);
  t.after(() => store.close());
  return {
    outbox,
    settings,
    store,
    pass: (limits = {}, now = () => NOW) => takeHandedRecords(settings, store, { ...HANDED_LIMITS, ...limits }, now),
    delivered: () => store.outbox(10_000).map((row) => JSON.parse(row.record) as JobRecord),
    hand: (name, content, uid = NOBODY) => {
      const path = join(outbox, name);
      writeFileSync(path, content);
      chownSync(path, uid, uid);
      return path;
    },
    as: (uid, script) => {
      const words = [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', '--no-new-privs', 'sh', '-ec', script];
      const { status, stderr } = spawnSync('setpriv', words, { cwd: outbox, encoding: 'utf8' });
      assert.equal(status, 0, stderr);
    },
  };
}

const notRoot = process.getuid?.() === 0 ? false : 'files of other users are made here';

describe('records that users hand in', { skip: notRoot }, () => {
  function assertRefused(node: Node, path: string, why: RegExp): void {
    const { taken, problems } = node.pass();
    assert.equal(taken, 0, String(why));
    assert.match(problems.join('\n'), why);
    assert.deepEqual(node.delivered(), []);
    assert.equal(existsSync(path), false, 'is left');
  }

  it('are taken as self-reported, with the user in their run id', (t) => {
    const node = newNode(t);
    const path = node.hand('1516.0.abc', text({ trust: 'root' }));
    assert.deepEqual(node.pass(), { taken: 1, problems: [] });
    assert.equal(existsSync(path), false);
    assert.deepEqual(node.delivered(), [record({ run_id: `${runId(RUN)}.u${NOBODY}` })]);
    assert.deepEqual(node.pass(), { taken: 0, problems: [] });
  });

  it('are taken or removed, whatever bytes their file names have', (t) => {
    const node = newNode(t);
    const named = (end: string): Buffer =>
      Buffer.concat([Buffer.from(`${node.outbox}/`), Buffer.from(`\xe9\xff${end}`, 'latin1')]);
    for (const [path, content] of [
      [named('.a'), text()],
      [named('.b'), 'no record'],
    ] as const) {
      writeFileSync(path, content);
      chownSync(path, NOBODY, NOBODY);
    }
    mkdirSync(named('.d'));
    assert.equal(node.pass().taken, 1);
    assert.deepEqual(readdirSync(node.outbox), []);
  });

  it('get the file’s owner and this host, whatever host they name', (t) => {
    const node = newNode(t);
    node.hand('a', text({ owner: null, host: 'elsewhere' }));
    assert.equal(node.pass().taken, 1);
    const [first] = node.delivered();
    assert.deepEqual([first?.owner, first?.host], ['nobody', hostname()]);
  });

  it('have keys that no other user can have, whatever run they name', (t) => {
    const node = newNode(t);
    node.hand('a', text());
    node.hand('b', text({ owner: 'daemon', revision: NOW }), DAEMON);
    assert.equal(node.pass().taken, 2);
    assert.deepEqual(
      node
        .delivered()
        .map(({ owner, run_id: run }) => [owner, run])
        .sort(),
      [
        ['daemon', `${runId(RUN)}.u${DAEMON}`],
        ['nobody', `${runId(RUN)}.u${NOBODY}`],
      ],
    );
  });

  it('are refused where they name another owner, or where the host does not know theirs', (t) => {
    const node = newNode(t);
    for (const owner of ['alice', 'root'])
      assertRefused(
        node,
        node.hand('a', text({ owner })),
        new RegExp(`names the owner "${owner}", and is a file of nobody`),
      );
    assertRefused(node, node.hand('a', text({ owner: null }), 4_000_000_001), /whom this host does not know/);
  });

  it('are refused for a run of root’s hooks', (t) => {
    const node = newNode(t);
    node.store.saveProgress(runDirectoryName(RUN), 0, record({ trust: 'root', status: 'running' }), []);
    assertRefused(node, node.hand('a', text()), /is about job 1516, which root's hooks account/);
  });

  it('are refused where they say what a user’s hook can’t know', (t) => {
    const node = newNode(t);
    const account = { wallclock_seconds: 1, cpu_seconds: 1, lines: 1 };
    for (const [changes, why] of [
      [{ status: 'running', ended_at: null }, /says that the job still runs/],
      [{ failed: 0 }, /only Grid Engine's accounting fills/],
      [{ grid_engine: account }, /only Grid Engine's accounting fills/],
      [{ metrics: { made_up: 1 } }, /an unknown metric \("made_up"\)/],
      [{ run_id: 'accounting.1' }, /a run_id that no hook makes/],
      [{ cluster: 'other' }, /is of cluster "other", not "c"/],
    ] as const)
      assertRefused(node, node.hand('a', JSON.stringify({ ...record(), ...changes })), why);
  });

  it('are refused with impossible times', (t) => {
    const node = newNode(t);
    const boot = NOW - uptimeSeconds() * 1000;
    const peak = bracketOf(1);
    for (const [changes, why] of [
      [{ revision: NOW + 100_000 }, /in the future/],
      [{ ended_at: iso(NOW + DAY) }, /in the future/],
      [{ started_at: iso(NOW + DAY), ended_at: null }, /in the future/],
      [{ peak_rss: { ...peak, at: iso(NOW + DAY) } }, /in the future/],
      [{ series: { start: '9999-01-01T00:00:00Z', step_seconds: 1, rss_bytes: [], others: {} } }, /in the future/],
      [{ started_at: iso(boot - 100_000) }, /before the job can have existed/],
      [{ submitted_at: '1999-01-01T00:00:00Z' }, /before the job can have existed/],
      [{ peak_rss: { ...peak, at: '1999-01-01T00:00:00Z' } }, /before the job can have existed/],
      [{ started_at: iso(NOW - 10), ended_at: iso(NOW - 100_000) }, /ended before it began/],
      [{ submitted_at: iso(NOW), started_at: iso(NOW - 100_000) }, /began before it was submitted/],
      [{ ended_at: iso(NOW - 2 * DAY), started_at: null, submitted_at: null }, /more than a day before/],
      [{ ended_at: null, started_at: null, submitted_at: null, revision: 5 }, /more than a day before/],
      [{ run_id: '0badcafe.1.5', started_at: '2001-01-01T00:00:00Z' }, /of an earlier boot/],
    ] as const)
      assertRefused(node, node.hand('a', text(changes)), why);
  });

  it('are refused where they are garbage', (t) => {
    const node = newNode(t);
    const copies = 'version=1\n==config==\n==usage==\n';
    for (const garbage of ['', '{', 'null', '[]', '{}', '{"job_id":"x"}', 'version=1\n', copies, '\0'.repeat(100)])
      assertRefused(node, node.hand('garbage', garbage), /^\S+outbox: 1 of the files of uid 65534 removed: ./);
    assertRefused(node, node.hand('deep', '['.repeat(60_000)), /not JSON/);
  });

  it('are refused as links of either kind, as directories and above 64 KiB', (t) => {
    const node = newNode(t);
    const secret = join(node.settings.state_dir, 'secret');
    writeFileSync(secret, text());
    symlinkSync(secret, join(node.outbox, 'symlink'));
    assertRefused(node, join(node.outbox, 'symlink'), /can't be opened/);
    linkSync(secret, join(node.outbox, 'hardlink'));
    assertRefused(node, join(node.outbox, 'hardlink'), /not an ordinary file/);
    assert.equal(readFileSync(secret, 'utf8'), text());
    assertRefused(node, node.hand('giant', text({ notes: ['x'.repeat(70_000)] })), /larger than 64 KiB/);
    mkdirSync(join(node.outbox, 'directory'));
    node.pass();
    assert.deepEqual(readdirSync(node.outbox), []);
  });

  it('are left alone while they are written', (t) => {
    const node = newNode(t);
    const path = node.hand('a.new', '{');
    assert.deepEqual(node.pass(), { taken: 0, problems: [] });
    assert.ok(existsSync(path));
    node.pass({}, () => NOW + DAY);
    assert.equal(existsSync(path), false);
  });

  it('are limited in number and in bytes per user and day', (t) => {
    const node = newNode(t);
    const handAll = (): void => {
      for (let job = 1; job <= 5; job++) node.hand(`${job}`, text({ job_id: job }));
      node.hand('other', text({ owner: 'daemon' }), 1);
    };
    handAll();
    const first = node.pass({ recordsPerDay: 3 });
    assert.equal(first.taken, 4);
    assert.match(
      first.problems.join('\n'),
      /2 of the files of uid 65534 removed: more than 3 records or 32 MiB in a day/,
    );
    handAll();
    assert.equal(node.pass({ recordsPerDay: 3 }).taken, 1);
    assert.deepEqual(readdirSync(node.outbox), []);
    handAll();
    assert.equal(node.pass({ bytesPerDay: 3.5 * text().length }).taken, 2);
    assert.equal(node.store.outbox(100).length, 7);
    // The next day is counted by itself.
    assert.deepEqual(node.store.handed(NOBODY, Math.floor(NOW / DAY) + 1), { records: 0, bytes: 0 });
  });

  it('of one user are taken though another has left hundreds, in a pass of limited time', (t) => {
    const node = newNode(t);
    for (let index = 0; index < 500; index++) node.hand(`flood${index}`, 'x');
    node.hand('other', text({ owner: 'daemon' }), 1);
    // A clock that goes on by a millisecond whenever it is asked: 501 files are grouped, and a few are read.
    let clock = NOW;
    const { taken } = node.pass({ ms: 1100 }, () => clock++);
    assert.equal(taken, 1);
    assert.equal(node.delivered()[0]?.owner, 'daemon');
    const left = readdirSync(node.outbox).length;
    assert.ok(left > 300 && left < 500, `${left} are left`);
    clock = NOW;
    node.pass({ ms: 10 }, () => clock++);
    assert.ok(readdirSync(node.outbox).length >= left - 10, 'a pass ends in time');
    node.pass({ files: 100 });
    assert.equal(readdirSync(node.outbox).length <= left - 100, true);
  });

  it('are taken after several passes where one has no time to list them all', (t) => {
    const node = newNode(t);
    for (let index = 0; index < 500; index++) node.hand(`flood${index}`, 'x');
    node.hand('other', text({ owner: 'daemon' }), 1);
    let clock = NOW;
    let taken = 0;
    for (let pass = 0; pass < 30 && taken === 0; pass++) ({ taken } = node.pass({ ms: 400, files: 50 }, () => clock++));
    assert.equal(taken, 1);
  });

  it('are taken beside whatever a hostile user leaves in the outbox', (t) => {
    const node = newNode(t);
    node.hand('good', text({ owner: 'daemon' }), 1);
    node.as(
      NOBODY,
      `i=0; while [ $i -lt 2000 ]; do : >flood$i; i=$((i+1)); done
       for i in 1 2 3 4 5 6 7 8 9; do
         mkfifo fifo$i; ln -s /dev/zero zero$i; ln -s /etc/shadow shadow$i; mkdir -p tree$i/below; truncate -s 1T huge$i
         head -c 60000 /dev/urandom >garbage$i; : >half$i.new
       done; mkfifo fifo.new; ln -s good.new loop.new; chmod 0000 garbage1`,
    );
    const shadow = readFileSync('/etc/shadow');
    const { taken, problems } = node.pass();
    assert.equal(taken, 1);
    assert.equal(problems.length, 1, problems.join('\n'));
    const left = readdirSync(node.outbox);
    // What stays: directories, which root must not go through, and what may still be being written.
    assert.deepEqual(
      left.filter((name) => !/^tree\d$|\.new$/.test(name)),
      [],
    );
    assert.deepEqual(readFileSync('/etc/shadow'), shadow);
    assert.equal(node.pass().problems.length, 0);
  });

  it('are taken by another process, if the site accepts them', async (t) => {
    const node = newNode(t);
    const path = node.hand('a', text());
    const { settings, store } = node;
    const off = await tidyNode(store, { ...settings, accept_self_reported: false }, 5);
    assert.deepEqual([off.ingested, existsSync(path)], [0, true]);
    const tidied = tidyNode(store, settings, 5);
    assert.ok(existsSync(path), 'it is done here');
    assert.equal((await tidied).ingested, 1);
    assert.equal(existsSync(path), false);
    assert.equal((await tidied).problem, null);
    // Of the samplers that end jobs one after the other, not each takes records in.
    node.hand('b', text({ job_id: 7 }));
    assert.equal((await tidyNode(store, settings, 5, () => settings, DAY)).ingested, 0);
    assert.equal((await tidyNode(store, settings, 5)).ingested, 1);
  });

  it('may be copies of spool files where no sampler ran', (t) => {
    const node = newNode(t);
    const seconds = Math.floor(NOW / 1000);
    const usage = `exit_status=3\nsignal=0\nstart_time=${seconds - 2}\nend_time=${seconds - 1}\nru_wallclock=1\nru_utime=0.5\n`;
    const config = sampleConfig({ job_owner: 'nobody', submission_time: String(seconds - 3) });
    const description = formatRunDescription(RUN).replace('end=1\n', '');
    node.hand('a.usage', `${description}==config==\n${config}\n==usage==\n${usage}`);
    node.hand('b.usage', `${description.replace('1516', '1517')}==config==\n${config}\n==usage==\n`);
    assert.deepEqual(node.pass(), { taken: 2, problems: [] });
    const [first, second] = node.delivered().toSorted((a, b) => a.job_id - b.job_id);
    assert.deepEqual([first?.trust, first?.status, first?.exit_status], ['self-reported', 'unsampled', 3]);
    assert.deepEqual([first?.job_name, first?.owner], ['run.sh', 'nobody']);
    // The job never started.
    assert.equal(second?.exit_status, null);
    const impossible = usage.replace('ru_utime=0.5', `ru_utime=${'9'.repeat(20)}`);
    const other = newNode(t);
    const path = other.hand('c.usage', `${description}==config==\n${config}\n==usage==\n${impossible}`);
    assertRefused(other, path, /cpu_seconds is not a number/);
  });
});
