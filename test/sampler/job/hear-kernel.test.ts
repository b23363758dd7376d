import { listenerPaths } from '../../../src/sampler/listener/directory';
import assert from 'node:assert/strict';
import { closeSync, mkdirSync, openSync, rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { tryLock } from '../../../src/native/libc';
import { KernelHearing, type Connect } from '../../../src/sampler/job/hear-kernel';
import { connectListener } from '../../../src/sampler/listener/client';
import type { TickReadings } from '../../../src/sampler/processes/tick';
import type { JobSampler } from '../../../src/sampler/job/job-sampler';
import {
  decodeRequest,
  encodeReply,
  lineSplitter,
  type NodeReply,
  type Reply,
  type Request,
} from '../../../src/sampler/listener/protocol';
import { DEFAULT_SETTINGS, type Settings } from '../../../src/record/settings';
import { fork } from '../listener/events';
import { temporaryDirectory } from '../../support/temporary-directory';
import { until } from '../../support/until';

/** A listener that says what the test wants; as long as it holds the lock nobody starts a real one. */
interface FakeListener {
  readonly settings: Settings;
  readonly requests: Request[];
  /** How often somebody has connected. */
  connections: number;
  hello: Reply;
  /** Takes everything and says nothing, as one that is stopped. */
  silent: boolean;
  /** Greets, and answers no question. */
  mute: boolean;
  readonly start: () => Promise<void>;
  readonly die: () => Promise<void>;
  readonly send: (reply: Reply) => void;
}

async function fakeListener(t: TestContext): Promise<FakeListener> {
  const settings = { ...DEFAULT_SETTINGS, run_dir: temporaryDirectory() };
  const { directory, socket: path, lock } = listenerPaths(settings);
  mkdirSync(directory);
  const held = openSync(lock, 'a');
  assert.ok(tryLock(held));
  let server: Server | null = null;
  const sockets = new Set<Socket>();
  const fake: FakeListener = {
    settings,
    requests: [],
    connections: 0,
    hello: { kind: 'hello', events: null, records: null, stays: true },
    silent: false,
    mute: false,
    start: () =>
      new Promise((resolve) => {
        rmSync(path, { force: true });
        server = createServer((socket) => {
          sockets.add(socket);
          fake.connections++;
          socket.on('error', () => undefined);
          socket.setEncoding('utf8');
          const take = lineSplitter((line) => {
            const request = decodeRequest(line);
            if (request === null) return;
            fake.requests.push(request);
            if (request.kind !== 'sync' || fake.silent || fake.mute) return;
            socket.write(encodeReply({ kind: 'synced', id: request.id }));
          });
          socket.on('data', take as (chunk: string | Buffer) => void);
          if (!fake.silent) socket.write(encodeReply(fake.hello));
        }).listen(path, resolve);
      }),
    die: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        sockets.clear();
        if (server === null) resolve();
        else server.close(() => resolve());
        server = null;
      }),
    send: (reply) => {
      for (const socket of sockets) socket.write(encodeReply(reply));
    },
  };
  t.after(async () => {
    await fake.die();
    closeSync(held);
  });
  await fake.start();
  return fake;
}

interface Heard {
  readonly hearing: KernelHearing;
  /** What the sampler was told, in words. */
  readonly told: string[];
  readonly nodes: NodeReply[];
}

function hear(t: TestContext, { settings }: FakeListener): Heard {
  const told: string[] = [];
  const nodes: NodeReply[] = [];
  const sampler = {
    listen: () => void told.push('listen'),
    heard: (events: readonly { readonly kind: string }[]) => void told.push(...events.map(({ kind }) => kind)),
    settle: () => {
      told.push('settle');
      return [];
    },
    pids: () => [11],
    open: (reason: string) => void told.push(`open ${reason}`),
    listenerLost: () => void told.push('listener lost'),
  };
  const connect: Connect = (handlers) => connectListener('', settings, handlers);
  const hearing = new KernelHearing(10, connect, sampler as unknown as JobSampler, {
    stirred: () => void told.push('stirred'),
    node: (reply) => nodes.push(reply),
  });
  t.after(() => {
    hearing.close();
  });
  return { hearing, told, nodes };
}

/** Of a tick nothing but the fact matters here. */
const TICK = {} as TickReadings;

const count = (told: readonly string[], word: string): number => told.filter((one) => one === word).length;

describe('hearing the kernel', () => {
  it('follows the job, hands events on, and settles a tick when all until then have come', async (t) => {
    const listener = await fakeListener(t);
    const { hearing, told, nodes } = hear(t, listener);
    assert.equal(await hearing.ready, null);
    assert.deepEqual(told, ['listen']);
    assert.deepEqual(listener.requests[0], { kind: 'follow', pids: [10, 11] });
    listener.send(fork(1, 10, 20));
    listener.send({ kind: 'node', id: null, charges: null, gpu: [] });
    hearing.afterTick(TICK);
    await hearing.finish(60_000);
    assert.deepEqual(told, ['listen', 'fork', 'stirred', 'settle']);
    assert.equal(nodes.length, 1);
    listener.send({ kind: 'lost', what: 'records' });
    await until(() => told.includes('open lost-records'), 'the loss');
  });

  it('says why there are no events, and asks for none', async (t) => {
    const listener = await fakeListener(t);
    listener.hello = { kind: 'hello', events: 'no process connector', records: null, stays: false };
    const { hearing, told } = hear(t, listener);
    assert.equal(await hearing.ready, 'no process connector');
    hearing.afterTick(TICK);
    await hearing.finish(100);
    assert.deepEqual([told, listener.requests], [[], []]);
    assert.notEqual(hearing.link(), null);
  });

  it('says that records are missing', async (t) => {
    const listener = await fakeListener(t);
    listener.hello = { kind: 'hello', events: null, records: 'no taskstats', stays: true };
    const { hearing, told } = hear(t, listener);
    await hearing.ready;
    assert.deepEqual(told, ['listen', 'open no-exit-records']);
  });

  it('tells the account that the listener died, and finds the next one', async (t) => {
    const listener = await fakeListener(t);
    const { hearing, told } = hear(t, listener);
    await hearing.ready;
    await listener.die();
    await until(() => told.includes('listener lost'), 'the loss of the listener');
    assert.equal(hearing.link(), null);
    hearing.afterTick(TICK);
    await hearing.finish(1000);
    assert.equal(count(told, 'settle'), 0);
    await listener.start();
    await until(() => count(told, 'listen') === 2, 'the next listener');
    await until(
      () =>
        count(
          listener.requests.map(({ kind }) => kind),
          'sync',
        ) === 2,
      'its first answer',
    );
    hearing.afterTick(TICK);
    await hearing.finish(60_000);
    assert.deepEqual(told, ['listen', 'listener lost', 'stirred', 'listen', 'settle']);
  });

  it('waits for a stopped listener no longer than told, gives it up, and comes back when it goes on', async (t) => {
    const listener = await fakeListener(t);
    const { hearing, told } = hear(t, listener);
    await hearing.ready;
    listener.silent = true;
    const begin = performance.now();
    hearing.afterTick(TICK);
    await hearing.finish(200);
    assert.ok(performance.now() - begin < 30_000);
    assert.deepEqual(told, ['listen', 'listener lost']);
    await until(() => count(told, 'listener lost') === 2, 'giving it up');
    assert.ok(performance.now() - begin >= 2900);
    // A connection that nobody greets is none; it is tried again.
    const tried = listener.connections;
    await until(() => listener.connections >= tried + 2, 'another try');
    assert.equal(hearing.link(), null);
    listener.silent = false;
    await until(() => count(told, 'listen') === 2, 'coming back');
    assert.deepEqual(told, ['listen', 'listener lost', 'listener lost', 'stirred', 'listen']);
  });

  it('connects once when one dies at the first question', async (t) => {
    const listener = await fakeListener(t);
    const { hearing, told } = hear(t, listener);
    await hearing.ready;
    await listener.die();
    listener.mute = true;
    await listener.start();
    const follows = (): number => listener.requests.filter(({ kind }) => kind === 'follow').length;
    await until(() => count(told, 'listen') >= 2 && follows() >= 2, 'the next listener');
    await listener.die();
    await until(() => hearing.link() === null && told.at(-1) === 'stirred', 'word of its end');
    // On a busy machine it may have been given up before, and connected to again.
    const before = [count(told, 'listen'), follows()].map((times) => times + 1);
    listener.mute = false;
    await listener.start();
    await until(() => count(told, 'listen') >= (before[0] ?? 0), 'the one after it');
    await until(() => follows() >= (before[1] ?? 0), 'what it is asked');
    await sleep(2500);
    assert.deepEqual([count(told, 'listen'), follows()], before);
  });

  it('hears nothing more once closed', async (t) => {
    const listener = await fakeListener(t);
    const { hearing, told } = hear(t, listener);
    await hearing.ready;
    hearing.close();
    await listener.die();
    await sleep(50);
    assert.deepEqual([told, hearing.link()], [['listen'], null]);
  });
});
