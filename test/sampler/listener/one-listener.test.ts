import { listenerPaths, retireListener } from '../../../src/sampler/listener/directory';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectListener, type ListenerLink } from '../../../src/sampler/listener/client';
import { wordsOfSettings } from '../../../src/sampler/job/sampler-words';
import type { Reply } from '../../../src/sampler/listener/protocol';
import { runningListener, settingsDigest } from '../../../src/sampler/listener/running';
import { programPath } from '../../../src/base/programs';
import { loadSettings, type Settings } from '../../../src/record/settings';
import { openNodeReader } from '../../../src/sampler/node-store/node-reader';
import { NodeStore } from '../../../src/sampler/node-store/node-store';
import { bracketsObstacle } from '../../burners/bracketed';
import { burner } from '../../burners/build';
import { oneOf } from '../../tries';
import { noOomKill, overfull } from '../../support/limited-group';
import { PROGRAM } from '../../support/released';
import { temporaryDirectory } from '../../support/temporary-directory';
import { until } from '../../support/until';

const IGNORE = { take: () => undefined, lost: () => undefined };
const SYNC_WITHIN_MS = 60_000;

function listenersOf(settingsPath: string): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
        return words.includes(settingsPath) && words.some((word) => word.endsWith('/listener/main.js'));
      } catch {
        return false;
      }
    })
    .map(Number);
}

interface Node {
  readonly settingsPath: string;
  readonly settings: Settings;
  readonly connect: (take?: (reply: Reply) => void) => Promise<ListenerLink>;
}

/** A node of the test's own, whose listeners are ended after the test. */
function newNode(t: TestContext, linger: string): Node {
  const directory = temporaryDirectory();
  const settingsPath = join(directory, 'qmemacct.toml');
  writeFileSync(settingsPath, `run_dir = "${join(directory, 'run')}"\n${linger}`);
  const settings = loadSettings(settingsPath);
  mkdirSync(settings.run_dir);
  t.after(() => {
    for (const pid of listenersOf(settingsPath))
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // Gone by itself.
      }
  });
  // In several tries: on a busy machine a listener may need longer to start than one try waits.
  const connect = (take: (reply: Reply) => void = IGNORE.take): Promise<ListenerLink> =>
    until(() => connectListener(settingsPath, settings, { ...IGNORE, take }), 'a listener');
  return { settingsPath, settings, connect };
}

/** Starts the next listener as the installation does. */
function takeOver({ settingsPath, settings }: Node): number {
  const script = programPath('sampler/listener/main', PROGRAM);
  const words = [script, settingsPath, ...wordsOfSettings(settings), 'take-over'];
  const child = spawn(process.execPath, words, { stdio: 'ignore', detached: true });
  child.unref();
  return child.pid ?? assert.fail('not started');
}

/** Collects the children of the forks that a link reports. */
function hearForks(heard: Set<number>): (reply: Reply) => void {
  return (reply) => {
    if (reply.kind === 'fork') heard.add(reply.child);
  };
}

describe('the listener of a node', () => {
  it('is a single one for 12 samplers that start at once, and once retired ends with the last of them', (t) =>
    // A listener has 5 s to start and 2 s to send its hello: a machine that stands still for longer may try again.
    oneOf(3, async () => {
      const node = newNode(t, 'listener_linger = 600\n');
      const { settings, settingsPath } = node;
      let most = 0;
      const watch = setInterval(() => (most = Math.max(most, listenersOf(settingsPath).length)), 20);
      const links = await Promise.all(
        Array.from({ length: 12 }, () => connectListener(settingsPath, settings, IGNORE)),
      );
      clearInterval(watch);
      assert.ok(links.every((link) => link !== null));
      assert.equal(most, 1);
      for (const link of links.slice(1)) link.close();
      await retireListener(settings);
      await sleep(500);
      assert.ok(await links[0]?.sync(SYNC_WITHIN_MS), 'the listener ended before its last sampler');
      links[0]?.close();
      await until(() => listenersOf(settingsPath).length === 0, 'the end of the listener');
      assert.ok(!existsSync(listenerPaths(settings).socket));
      await retireListener(settings);
    }));

  it('runs where the installation says while the configuration can’t be read', async (t) => {
    const node = newNode(t, '');
    writeFileSync(node.settingsPath, 'run_dir = "/nowhere\n');
    takeOver(node);
    await until(() => runningListener(node.settings) !== null, 'the listener in its place');
  });

  it('ends when its directory is removed, and is replaced by another one', async (t) => {
    const node = newNode(t, '');
    (await node.connect()).close();
    const first = runningListener(node.settings)?.pid;
    rmSync(listenerPaths(node.settings).directory, { recursive: true });
    const link = await node.connect();
    await until(() => !listenersOf(node.settingsPath).includes(first ?? 0), 'the end of the first');
    assert.ok(await link.sync(SYNC_WITHIN_MS), 'the second ended with it');
    const second = runningListener(node.settings)?.pid;
    await until(() => String(listenersOf(node.settingsPath)) === String(second), 'one listener');
    link.close();
  });
});

describe('the host-wide sources', () => {
  it('are read without a sampler where the site sets node_series_always', async (t) => {
    const state = temporaryDirectory();
    const node = newNode(t, `listener_linger = 600\nnode_series_always = true\nstate_dir = "${state}"\n`);
    takeOver(node);
    await until(() => existsSync(join(state, 'node.db')), 'node.db');
    new NodeStore(state).close();
    const reader = openNodeReader(state);
    t.after(() => reader.close());
    const isThere = (): boolean => reader.readSeries(null, ['meminfo_memtotal_bytes'], 0, Date.now()).length === 1;
    await until(isThere, 'a series');
  });
});

describe('the listener as a service', { skip: bracketsObstacle() ?? false }, () => {
  it('says which process the OOM killer killed', { skip: noOomKill }, async (t) => {
    const ends = new Map<number, string | null>();
    const link = await newNode(t, '').connect((reply) => {
      if (reply.kind === 'exit') ends.set(reply.pid, reply.oomKill);
    });
    link.follow([process.pid]);
    const victim = overfull(t);
    const other = spawn('sleep', ['600'], { stdio: 'ignore' });
    other.kill('SIGKILL');
    await Promise.all([victim, other].map((child) => once(child, 'exit')));
    const pids = [victim, other].map(({ pid }) => pid ?? 0);
    // The kernel sends an exit event after it has woken the parent that waits.
    await until(async () => {
      assert.ok(await link.sync(SYNC_WITHIN_MS), 'the listener does not answer');
      return pids.every((pid) => ends.has(pid));
    }, 'both ends');
    link.close();
    assert.deepEqual(
      pids.map((pid) => ends.get(pid)),
      ['cgroup', null],
    );
  });

  it('stays after its last sampler, and gives the next one all events from its job’s first fork on', async (t) => {
    const node = newNode(t, '');
    const first = await node.connect();
    assert.ok(first.hello.stays);
    first.close();
    assert.equal(runningListener(node.settings)?.settings, settingsDigest(node.settings));
    const [pid] = listenersOf(node.settingsPath);
    const job = spawn(burner('events'), ['--children=5'], { stdio: 'ignore' });
    await new Promise((resolve) => job.once('exit', resolve));
    // No sampler was connected while the job ran.
    const heard = new Set<number>();
    const next = await node.connect(hearForks(heard));
    next.follow([process.pid]);
    assert.ok(await next.sync(SYNC_WITHIN_MS));
    assert.ok(heard.has(job.pid ?? 0), 'the first fork went unheard');
    assert.ok(heard.size >= 6, `${heard.size} forks of at least 6`);
    await until(() => String(listenersOf(node.settingsPath)) === String(pid), 'the same listener alone');
    next.close();
  });

  /** Returns whether the new listener reported a process that began before it took over. */
  async function handOver(t: TestContext): Promise<boolean> {
    const node = newNode(t, '');
    const old = new Set<number>();
    const running = await node.connect(hearForks(old));
    running.follow([process.pid]);
    const first = runningListener(node.settings)?.pid ?? 0;
    const second = takeOver(node);
    // Processes start all the time, until after the new listener has taken over.
    const begun: number[] = [];
    const fork = async (): Promise<void> => {
      const child = spawn('/bin/true', { stdio: 'ignore' });
      if (child.pid !== undefined) begun.push(child.pid);
      await new Promise((resolve) => child.once('exit', resolve));
    };
    while (runningListener(node.settings)?.pid !== second) await fork();
    await fork();
    assert.ok(await running.sync(SYNC_WITHIN_MS), 'the old listener ended before its sampler');
    assert.deepEqual(
      begun.filter((pid) => !old.has(pid)),
      [],
    );
    const fresh = new Set<number>();
    const next = await node.connect(hearForks(fresh));
    next.follow([process.pid]);
    assert.ok(await next.sync(SYNC_WITHIN_MS));
    // The new listener reports everything from the first process that it reports on.
    const from = begun.findIndex((pid) => fresh.has(pid));
    assert.ok(from >= 0, 'the new listener reports nothing');
    assert.deepEqual(
      begun.slice(from).filter((pid) => !fresh.has(pid)),
      [],
    );
    running.close();
    await until(() => !listenersOf(node.settingsPath).includes(first), 'the end of the old listener');
    await until(() => String(listenersOf(node.settingsPath)) === String(second), 'the new listener alone');
    assert.ok(await next.sync(SYNC_WITHIN_MS));
    next.close();
    return from < begun.length - 1;
  }

  it('is replaced without a gap: the old one serves its sampler to the end, the new one hears before it takes over', async (t) => {
    // In one try, no process may begin in that time; a listener that hears too late fails in all tries.
    let early = false;
    for (let tries = 0; tries < 20 && !early; tries++) early = await handOver(t);
    assert.ok(early, 'the new listener heard nothing before it took over');
  });
});
