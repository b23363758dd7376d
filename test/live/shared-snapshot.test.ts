import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { poll, type PollRules, type PollState } from '../../src/live/poller';
import { sharedState, type SharingOptions } from '../../src/live/shared-snapshot';
import { fakeClients, type FakeClients } from '../gridengine/fake-clients';
import { temporaryDirectory } from '../support/temporary-directory';
import { fakeQmaster, healthy, type FakeQmaster } from './fake-qmaster';

const HEADER = "<?xml version='1.0'?>";
const LIST = `${HEADER}<job_info xmlns:xsd="http://arc.liv.ac.uk/repos/darcs/sge/source/dist/util/resources/schemas/qstat/qstat.xsd"><queue_info><job_list state="running"><JB_job_number>7</JB_job_number><JB_name>x</JB_name><JB_owner>u</JB_owner><state>r</state><queue_name>all.q@h</queue_name><slots>1</slots></job_list></queue_info><job_info></job_info></job_info>`;
const DETAIL = `${HEADER}<detailed_job_info xmlns:xsd="http://arc.liv.ac.uk/x"><djob_info><element><JB_job_number>7</JB_job_number></element></djob_info></detailed_job_info>`;
const HOSTS = `${HEADER}<qhost xmlns:xsd="http://arc.liv.ac.uk/x"><host name='global'></host></qhost>`;

interface Bench {
  readonly shared: string;
  readonly fake: FakeClients;
}

function bench(seconds: number): Bench {
  const directory = temporaryDirectory();
  const shared = join(directory, 'shared');
  mkdirSync(shared, { mode: 0o700 });
  const fake = fakeClients(directory);
  fake.put('qstat', `sleep ${seconds}\ncase "$1" in -j) echo '${DETAIL}';; *) echo '${LIST}';; esac`);
  fake.put('qhost', `echo "${HOSTS}"`);
  return { shared, fake };
}

interface Seen {
  readonly at: number | null;
  readonly jobs: readonly number[];
  readonly problem: string | null;
}

async function command({ shared, fake }: Bench, intervalMs: number, states = 1): Promise<readonly Seen[]> {
  const args = [join(__dirname, 'shared-program.js'), shared, String(intervalMs), String(states)];
  const child = spawn(process.execPath, args, {
    env: { ...process.env, PATH: `${fake.bin}:/usr/bin:/bin` },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.on('data', (piece: Buffer) => (text += piece.toString()));
  const status = await new Promise((resolve) => child.once('close', resolve));
  assert.equal(status, 0);
  return text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Seen);
}

const isList = (call: string): boolean => call.startsWith('-u');

describe('many live commands of one user', () => {
  it('cause one query of each kind', async () => {
    const b = bench(0.5);
    const seen = await Promise.all(Array.from({ length: 20 }, () => command(b, 3_600_000)));
    assert.deepEqual(b.fake.calls('qstat').filter(isList).length, 1);
    assert.equal(b.fake.calls('qstat').length, 2);
    assert.equal(b.fake.calls('qhost').length, 1);
    const at = seen[0]?.[0]?.at;
    assert.ok(typeof at === 'number');
    for (const [one] of seen) assert.deepEqual(one, { at, jobs: [7], problem: null });
    for (const name of readdirSync(b.shared)) assert.equal(statSync(join(b.shared, name)).mode & 0o777, 0o600, name);
    assert.equal(readdirSync(b.shared).filter((name) => name.endsWith('.new')).length, 0);
  });

  it('cause one query per interval when they watch', async () => {
    const b = bench(0);
    const began = Date.now();
    const seen = await Promise.all(Array.from({ length: 8 }, () => command(b, 1500, 3)));
    const intervals = Math.floor((Date.now() - began) / 1500) + 1;
    for (const calls of [b.fake.calls('qstat').filter(isList), b.fake.calls('qhost')])
      assert.ok(calls.length >= 2 && calls.length <= intervals, `${calls.length} queries in ${intervals} intervals`);
    for (const polls of seen) {
      const times = polls.map(({ at }) => at ?? 0);
      assert.deepEqual(times, [...times].sort());
      assert.equal(new Set(times).size, 3);
    }
  });
});

const HOUR = 3_600_000;

/** Longer than the test pauses between two steps. */
const RULES: PollRules = { intervalMs: HOUR, usageIntervalMs: 4 * HOUR };

function options(directory: string, fake: FakeQmaster, more: Partial<SharingOptions> = {}): SharingOptions {
  return {
    directory,
    cluster: 'c',
    cell: { root: '/r', cell: 'default' },
    rules: RULES,
    pending: false,
    poll: (before) => poll(before, RULES, { ...fake.tools, now: Date.now }, more.pending ?? false),
    longestPollMs: HOUR,
    ...more,
  };
}

/** Another process holds the lock until the test is over. */
async function holdLock(t: TestContext, directory: string): Promise<void> {
  const [name] = readdirSync(directory).filter((entry) => entry.endsWith('.lock'));
  assert.ok(name !== undefined);
  const child = spawn('flock', [join(directory, name), 'sh', '-c', 'echo held; exec sleep 300'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  const { pid } = child;
  assert.ok(pid !== undefined);
  t.after(() => process.kill(-pid, 'SIGKILL'));
  await new Promise((resolve) => child.stdout.once('data', resolve));
}

function stateFile(directory: string): string {
  const [name] = readdirSync(directory).filter((entry) => entry.endsWith('.json'));
  assert.ok(name !== undefined);
  return join(directory, name);
}

/** Makes the shared state older. */
function age(directory: string, ms: number): void {
  const path = stateFile(directory);
  const text = readFileSync(path, 'utf8').replace(/"(at|triedAt)":(\d+)/g, (_, key: string, time: string) => {
    return `"${key}":${Number(time) - ms}`;
  });
  writeFileSync(path, text);
}

describe('the shared snapshot', () => {
  it('is reused while it is fresh, and asked for anew later', async () => {
    const directory = temporaryDirectory();
    const fake = fakeQmaster(healthy(() => [1]));
    const first = await sharedState(options(directory, fake));
    assert.equal(fake.asked.length, 3);
    const second = await sharedState(options(directory, fake));
    assert.equal(fake.asked.length, 3);
    assert.deepEqual(second, first);
    age(directory, 1.5 * HOUR);
    const third = await sharedState(options(directory, fake));
    assert.equal(fake.asked.length, 5);
    assert.ok((third.snapshot.running.at ?? 0) >= (first.snapshot.running.at ?? 0));
    assert.equal(third.snapshot.details.at, (first.snapshot.details.at ?? 0) - 1.5 * HOUR);
  });

  it('includes waiting jobs only once a command wants them', async () => {
    const directory = temporaryDirectory();
    const fake = fakeQmaster(healthy(() => []));
    await sharedState(options(directory, fake));
    const { snapshot } = await sharedState(options(directory, fake, { pending: true }));
    assert.deepEqual(
      fake.asked.map((query) => query.includes('-s p')),
      [false, false, true],
    );
    assert.equal(snapshot.pending?.value.length, 1);
    const other = await sharedState(options(directory, fake));
    assert.equal(other.snapshot.pending?.value.length, 1);
    assert.equal(fake.asked.length, 3);
  });

  it('passes a failure on to every command, without further queries', async () => {
    const directory = temporaryDirectory();
    const fake = fakeQmaster(() => ({ problem: 'qmaster does not answer', unreachable: true }));
    for (let times = 0; times < 5; times++) {
      const { snapshot } = await sharedState(options(directory, fake));
      assert.equal(snapshot.running.problem, 'qmaster does not answer');
      assert.equal(snapshot.hosts.problem, 'qmaster does not answer');
    }
    assert.equal(fake.asked.length, 1);
  });

  it('is separate for each cell, and not used for another cluster', async () => {
    const directory = temporaryDirectory();
    const fake = fakeQmaster(healthy(() => []));
    await sharedState(options(directory, fake));
    await sharedState(options(directory, fake, { cell: { root: '/r', cell: 'other' } }));
    assert.equal(fake.asked.length, 4);
    const { snapshot } = await sharedState(options(directory, fake, { cluster: 'renamed' }));
    assert.equal(fake.asked.length, 6);
    assert.equal(snapshot.cluster, 'renamed');
  });

  it('is made anew if the file is torn, of another version, or a symbolic link', async () => {
    const directory = temporaryDirectory();
    const fake = fakeQmaster(healthy(() => []));
    await sharedState(options(directory, fake));
    const path = stateFile(directory);
    const sound = readFileSync(path, 'utf8');
    for (const text of ['', sound.slice(0, 100), sound.replace('"version":1', '"version":9'), '{"version":1}']) {
      writeFileSync(path, text);
      const before = fake.asked.length;
      const { snapshot } = await sharedState(options(directory, fake));
      assert.equal(fake.asked.length, before + 2);
      assert.equal(snapshot.hosts.value.length, 1);
    }
    const planted = join(directory, 'planted');
    writeFileSync(planted, sound);
    rmSync(path);
    symlinkSync(planted, path);
    const before = fake.asked.length;
    await sharedState(options(directory, fake));
    assert.equal(fake.asked.length, before + 2);
    assert.equal(readFileSync(planted, 'utf8'), sound);
    assert.ok(lstatSync(path).isFile());
  });

  it('is returned even if it cannot be stored', async () => {
    const directory = temporaryDirectory();
    const fake = fakeQmaster(healthy(() => [3]));
    await sharedState(options(directory, fake));
    const path = stateFile(directory);
    rmSync(path);
    mkdirSync(path);
    const { snapshot } = await sharedState(options(directory, fake));
    assert.equal(snapshot.running.value.length, 1);
    assert.ok(existsSync(path));
    assert.equal(readdirSync(directory).filter((name) => name.endsWith('.new')).length, 0);
  });

  it('is the last one after a short wait when the process that asks is slow', async (t) => {
    const directory = temporaryDirectory();
    const fake = fakeQmaster(healthy(() => [1]));
    const first = await sharedState(options(directory, fake));
    age(directory, 2 * HOUR);
    await holdLock(t, directory);
    const began = Date.now();
    const { snapshot } = await sharedState(options(directory, fake));
    const waited = Date.now() - began;
    // The other process holds the lock for five minutes.
    assert.ok(waited > 1500 && waited < 60_000, `waited ${waited} ms`);
    assert.equal(snapshot.running.at, (first.snapshot.running.at ?? 0) - 2 * HOUR);
    assert.equal(fake.asked.length, 3);
  });

  it('is asked for in spite of a process that holds the lock too long', async (t) => {
    const directory = temporaryDirectory();
    const fake = fakeQmaster(healthy(() => [1]));
    await sharedState(options(directory, fake));
    age(directory, 2 * HOUR);
    await holdLock(t, directory);
    await sleep(100);
    const began = Date.now();
    const { snapshot } = await sharedState(options(directory, fake, { longestPollMs: 50 }));
    assert.ok(Date.now() - began < 60_000);
    assert.ok((snapshot.running.at ?? 0) >= began);
    const asked = fake.asked.length;
    await sharedState(options(directory, fake, { longestPollMs: 50 }));
    assert.equal(fake.asked.length, asked);
  });

  it('is no longer waited for when the caller aborts', async (t) => {
    const directory = temporaryDirectory();
    const fake = fakeQmaster(healthy(() => []));
    await sharedState(options(directory, fake));
    // Without a last answer it would wait as long as the lock is held.
    rmSync(stateFile(directory));
    await holdLock(t, directory);
    const signal = AbortSignal.timeout(100);
    await assert.rejects(sharedState(options(directory, fake, { signal })), { name: 'AbortError' });
  });

  it('needs a writable directory', async () => {
    const directory = temporaryDirectory();
    const fake = fakeQmaster(healthy(() => []));
    const none: Promise<PollState> = sharedState(options(join(directory, 'none'), fake));
    await assert.rejects(none, /ENOENT/);
    assert.equal(fake.asked.length, 0);
  });
});
