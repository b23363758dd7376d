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

/** A listener that the test controls. It holds the lock, so that no real one is started. */
interface FakeListener {
  readonly settings: Settings;
  readonly requests: Request[];
  /** Number of connections so far. */
  connections: number;
  hello: Reply;
  /** Never sends anything, like a stopped listener. */
  silent: boolean;
  /** Sends its hello, and answers no sync. */
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
  /** The sampler's methods that were called, in words. */
  readonly calls: string[];
  readonly nodes: NodeReply[];
}

function hear(t: TestContext, { settings }: FakeListener): Heard {
  const calls: string[] = [];
  const nodes: NodeReply[] = [];
  const sampler = {
    listen: () => void calls.push('listen'),
    heard: (events: readonly { readonly kind: string }[]) => void calls.push(...events.map(({ kind }) => kind)),
    settle: () => {
      calls.push('settle');
      return [];
    },
    pids: () => [11],
    open: (reason: string) => void calls.push(`open ${reason}`),
    listenerLost: () => void calls.push('listener lost'),
  };
  const connect: Connect = (handlers) => connectListener('', settings, handlers);
  const hearing = new KernelHearing(10, connect, sampler as unknown as JobSampler, {
    stirred: () => void calls.push('stirred'),
    node: (reply) => nodes.push(reply),
  });
  t.after(() => {
    hearing.close();
  });
  return { hearing, calls, nodes };
}

/** The readings of a tick do not matter here. */
const TICK = {} as TickReadings;

const count = (calls: readonly string[], word: string): number => calls.filter((one) => one === word).length;

describe('a sampler’s hearing of the kernel', () => {
  it('follows the job, passes its events on, and settles a tick after all events before it', async (t) => {
    const listener = await fakeListener(t);
    const { hearing, calls, nodes } = hear(t, listener);
    assert.equal(await hearing.ready, null);
    assert.deepEqual(calls, ['listen']);
    assert.deepEqual(listener.requests[0], { kind: 'follow', pids: [10, 11] });
    listener.send(fork(1, 10, 20));
    listener.send({ kind: 'node', id: null, charges: null, gpu: [] });
    hearing.afterTick(TICK);
    await hearing.finish(60_000);
    assert.deepEqual(calls, ['listen', 'fork', 'stirred', 'settle']);
    assert.equal(nodes.length, 1);
    listener.send({ kind: 'lost', what: 'records' });
    await until(() => calls.includes('open lost-records'), 'the loss');
  });

  it('says why there are no events, and sends no request', async (t) => {
    const listener = await fakeListener(t);
    listener.hello = { kind: 'hello', events: 'no process connector', records: null, stays: false };
    const { hearing, calls } = hear(t, listener);
    assert.equal(await hearing.ready, 'no process connector');
    hearing.afterTick(TICK);
    await hearing.finish(100);
    assert.deepEqual([calls, listener.requests], [[], []]);
    assert.notEqual(hearing.link(), null);
  });

  it('tells the sampler that exit records are missing', async (t) => {
    const listener = await fakeListener(t);
    listener.hello = { kind: 'hello', events: null, records: 'no taskstats', stays: true };
    const { hearing, calls } = hear(t, listener);
    await hearing.ready;
    assert.deepEqual(calls, ['listen', 'open no-exit-records']);
  });

  it('tells the sampler that the listener died, and connects to the next one', async (t) => {
    const listener = await fakeListener(t);
    const { hearing, calls } = hear(t, listener);
    await hearing.ready;
    await listener.die();
    await until(() => calls.includes('listener lost'), 'the loss of the listener');
    assert.equal(hearing.link(), null);
    hearing.afterTick(TICK);
    await hearing.finish(1000);
    assert.equal(count(calls, 'settle'), 0);
    await listener.start();
    await until(() => count(calls, 'listen') === 2, 'the next listener');
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
    assert.deepEqual(calls, ['listen', 'listener lost', 'stirred', 'listen', 'settle']);
  });

  it('gives a stopped listener up after 3 s, and reconnects when it goes on', async (t) => {
    const listener = await fakeListener(t);
    const { hearing, calls } = hear(t, listener);
    await hearing.ready;
    listener.silent = true;
    const begin = performance.now();
    hearing.afterTick(TICK);
    await hearing.finish(200);
    assert.ok(performance.now() - begin < 30_000);
    assert.deepEqual(calls, ['listen', 'listener lost']);
    await until(() => count(calls, 'listener lost') === 2, 'giving it up');
    assert.ok(performance.now() - begin >= 2900);
    // A connection without a hello does not count, and is tried again.
    const tried = listener.connections;
    await until(() => listener.connections >= tried + 2, 'another try');
    assert.equal(hearing.link(), null);
    listener.silent = false;
    await until(() => count(calls, 'listen') === 2, 'coming back');
    assert.deepEqual(calls, ['listen', 'listener lost', 'listener lost', 'stirred', 'listen']);
  });

  it('connects once to the next listener where one dies before its first answer', async (t) => {
    const listener = await fakeListener(t);
    const { hearing, calls } = hear(t, listener);
    await hearing.ready;
    await listener.die();
    listener.mute = true;
    await listener.start();
    const follows = (): number => listener.requests.filter(({ kind }) => kind === 'follow').length;
    await until(() => count(calls, 'listen') >= 2 && follows() >= 2, 'the next listener');
    await listener.die();
    await until(() => hearing.link() === null && calls.at(-1) === 'stirred', 'the loss of the listener that died');
    // On a busy machine the listener may have been given up and connected to again before.
    const before = [count(calls, 'listen'), follows()].map((times) => times + 1);
    listener.mute = false;
    await listener.start();
    await until(() => count(calls, 'listen') >= (before[0] ?? 0), 'the listener after that');
    await until(() => follows() >= (before[1] ?? 0), 'its follow request');
    await sleep(2500);
    assert.deepEqual([count(calls, 'listen'), follows()], before);
  });

  it('calls nothing more once closed', async (t) => {
    const listener = await fakeListener(t);
    const { hearing, calls } = hear(t, listener);
    await hearing.ready;
    hearing.close();
    await listener.die();
    await sleep(50);
    assert.deepEqual([calls, hearing.link()], [['listen'], null]);
  });
});
