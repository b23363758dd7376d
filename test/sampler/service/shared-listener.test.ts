import { listenerPaths } from '../../../src/sampler/listener/directory';
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import type { ListenerLink } from '../../../src/sampler/listener/client';
import {
  decodeRequest,
  encodeReply,
  lineSplitter,
  type Reply,
  type Request,
} from '../../../src/sampler/listener/protocol';
import { SharedListener } from '../../../src/sampler/service/shared-listener';
import { DEFAULT_SETTINGS } from '../../../src/record/settings';
import { listenAt } from '../../support/listening';
import { temporaryDirectory } from '../../support/temporary-directory';
import { until } from '../../support/until';

interface FakeListener {
  readonly shared: SharedListener;
  readonly requests: Request[];
  readonly sockets: Socket[];
  /** Answers syncs and questions about the node. */
  answers: boolean;
  send(...replies: readonly Reply[]): void;
}

/** A listener that the test controls, at the real socket. */
async function fakeListener(t: TestContext): Promise<FakeListener> {
  const settings = { ...DEFAULT_SETTINGS, run_dir: temporaryDirectory() };
  const { directory, socket: path } = listenerPaths(settings);
  mkdirSync(directory);
  const requests: Request[] = [];
  const sockets: Socket[] = [];
  const it: FakeListener = {
    shared: new SharedListener('', settings),
    requests,
    sockets,
    answers: true,
    send: (...replies) => sockets.at(-1)?.write(replies.map(encodeReply).join('')),
  };
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.setEncoding('utf8').on(
      'data',
      lineSplitter((line) => {
        const request = decodeRequest(line);
        if (request === null) return;
        requests.push(request);
        if (!it.answers) return;
        if (request.kind === 'sync') it.send({ kind: 'synced', id: request.id });
        if (request.kind === 'node') it.send({ kind: 'node', id: request.id, charges: null, gpu: [] });
      }) as (chunk: string | Buffer) => void,
    );
    it.send({ kind: 'hello', events: null, records: null, stays: true });
  });
  await listenAt(t, server, path);
  return it;
}

interface Job {
  readonly link: ListenerLink;
  readonly replies: Reply[];
  readonly lost: () => number;
}

async function connectJob({ shared }: FakeListener): Promise<Job> {
  const replies: Reply[] = [];
  let lost = 0;
  const link = await shared.connect({ take: (reply) => replies.push(reply), lost: () => lost++ });
  assert.ok(link !== null);
  return { link, replies, lost: () => lost };
}

const fork = (parent: number, child: number, at = child): Reply => ({
  kind: 'fork',
  at,
  parent,
  child,
  thread: parent,
});
const exec = (pid: number, at = pid): Reply => ({ kind: 'exec', at, pid });
const exit = (pid: number, at = pid): Reply => ({ kind: 'exit', at, pid, account: null, oomKill: null });
const pidsOf = (replies: readonly Reply[]): readonly string[] =>
  replies.map((reply) =>
    reply.kind === 'fork' ? `fork ${reply.child}` : 'pid' in reply ? `${reply.kind} ${reply.pid}` : reply.kind,
  );

describe('the connection to the listener that many jobs share', () => {
  it('is a single one for 64 jobs', async (t) => {
    const listener = await fakeListener(t);
    const jobs = await Promise.all(Array.from({ length: 64 }, () => connectJob(listener)));
    assert.equal(listener.sockets.length, 1);
    assert.deepEqual(jobs[63]?.link.hello, { kind: 'hello', events: null, records: null, stays: true });
  });

  it('gives each job the events of its processes and of their descendants', async (t) => {
    const listener = await fakeListener(t);
    const one = await connectJob(listener);
    const other = await connectJob(listener);
    one.link.follow([10]);
    other.link.follow([20]);
    listener.send(
      fork(10, 11),
      fork(20, 21),
      exec(11),
      exec(21),
      fork(11, 12),
      fork(99, 98),
      exec(98),
      exit(12),
      exit(21),
    );
    await other.link.sync(60_000);
    assert.deepEqual(pidsOf(one.replies), ['fork 11', 'exec 11', 'fork 12', 'exit 12']);
    assert.deepEqual(pidsOf(other.replies), ['fork 21', 'exec 21', 'exit 21']);
  });

  it('forgets a process that has ended, whose pid may be used again', async (t) => {
    const listener = await fakeListener(t);
    const one = await connectJob(listener);
    const other = await connectJob(listener);
    one.link.follow([10]);
    other.link.follow([20]);
    listener.send(fork(10, 11), exit(11), exec(11), fork(11, 12), fork(20, 11), exec(11));
    await one.link.sync(60_000);
    assert.deepEqual(pidsOf(one.replies), ['fork 11', 'exit 11']);
    assert.deepEqual(pidsOf(other.replies), ['fork 11', 'exec 11']);
  });

  it('gives lost records and node readings to all jobs', async (t) => {
    const listener = await fakeListener(t);
    const jobs = [await connectJob(listener), await connectJob(listener)];
    listener.send({ kind: 'lost', what: 'records' }, { kind: 'node', id: null, charges: null, gpu: [] });
    await jobs[0]?.link.sync(60_000);
    for (const { replies } of jobs) assert.deepEqual(pidsOf(replies), ['lost', 'node']);
  });

  it('sends one request for jobs that ask at the same time, and another for a later one', async (t) => {
    const listener = await fakeListener(t);
    const jobs = await Promise.all(Array.from({ length: 20 }, () => connectJob(listener)));
    const syncs = (): number => listener.requests.filter(({ kind }) => kind === 'sync').length;
    assert.deepEqual(new Set(await Promise.all(jobs.map(({ link }) => link.sync(60_000)))), new Set([true]));
    assert.equal(syncs(), 1);
    assert.equal(await jobs[7]?.link.sync(60_000), true);
    assert.equal(syncs(), 2);
    const replies = await Promise.all(jobs.map(({ link }) => link.node(60_000)));
    assert.ok(replies.every((reply) => reply?.kind === 'node'));
    assert.equal(listener.requests.filter(({ kind }) => kind === 'node').length, 1);
    await jobs[0]?.link.node(60_000);
    assert.equal(listener.requests.filter(({ kind }) => kind === 'node').length, 2);
  });

  it('is given up for all jobs where the listener does not answer, and made anew for the next', async (t) => {
    const listener = await fakeListener(t);
    const jobs = [await connectJob(listener), await connectJob(listener), await connectJob(listener)];
    listener.answers = false;
    const answers = await Promise.all(jobs.map(({ link }) => link.sync(60)));
    assert.deepEqual(answers, [false, false, false]);
    assert.deepEqual(
      jobs.map(({ lost }) => lost()),
      [1, 1, 1],
    );
    await until(
      () => listener.sockets[0]?.destroyed === true || listener.sockets[0]?.readableEnded === true,
      'its end',
    );
    listener.answers = true;
    const again = await Promise.all(jobs.map(() => connectJob(listener)));
    assert.equal(listener.sockets.length, 2);
    assert.equal(await again[1]?.link.sync(60_000), true);
    // The links from before are dead, and disturb no other.
    assert.equal(await jobs[0]?.link.sync(60_000), false);
  });

  it('reports its end to each job once, and then events only to the job that follows anew', async (t) => {
    const listener = await fakeListener(t);
    const jobs = await Promise.all(Array.from({ length: 64 }, () => connectJob(listener)));
    jobs[0]?.link.follow([10]);
    listener.sockets[0]?.destroy();
    await until(() => jobs.every(({ lost }) => lost() === 1), 'the report of the end');
    const again = await Promise.all(jobs.map(() => connectJob(listener)));
    assert.equal(listener.sockets.length, 2);
    again[5]?.link.follow([10]);
    // The job's new link follows the process by now.
    jobs[0]?.link.close();
    listener.send(exec(10));
    await again[0]?.link.sync(60_000);
    assert.deepEqual(pidsOf(again[5]?.replies ?? []), ['exec 10']);
    assert.deepEqual(again[0]?.replies, []);
    assert.ok(jobs.every(({ lost }) => lost() === 1));
  });

  it('gives a job nothing more after it has closed its link', async (t) => {
    const listener = await fakeListener(t);
    const one = await connectJob(listener);
    const other = await connectJob(listener);
    one.link.follow([10, 11]);
    one.link.close();
    assert.equal(await one.link.sync(60_000), false);
    listener.send(exec(10), fork(11, 12));
    listener.sockets[0]?.write('');
    assert.equal(await other.link.sync(60_000), true);
    assert.deepEqual([one.replies, other.replies], [[], []]);
    listener.sockets[0]?.destroy();
    await until(() => other.lost() === 1, 'the report of the end');
    assert.equal(one.lost(), 0);
  });

  it('is closed with the last job’s link, and made anew for the next job', async (t) => {
    const it = await fakeListener(t);
    const first = await connectJob(it);
    const second = await connectJob(it);
    const [socket] = it.sockets;
    const left = new Promise<void>((resolve) => socket?.once('close', () => resolve()));
    socket?.resume();
    first.link.close();
    assert.ok(await second.link.sync(60_000), 'closed while a job was there');
    second.link.close();
    await left;
    const third = await connectJob(it);
    assert.equal(it.sockets.length, 2);
    assert.ok(await third.link.sync(60_000));
    assert.deepEqual([first.lost(), second.lost(), third.lost()], [0, 0, 0]);
  });

  it('is null where no listener can be reached', async () => {
    const runDirectory = temporaryDirectory();
    writeFileSync(listenerPaths({ run_dir: runDirectory }).directory, 'no directory');
    const shared = new SharedListener('', { ...DEFAULT_SETTINGS, run_dir: runDirectory });
    const handlers = { take: (): void => undefined, lost: (): void => assert.fail() };
    assert.deepEqual(await Promise.all([shared.connect(handlers), shared.connect(handlers)]), [null, null]);
    assert.equal(await shared.connect(handlers), null);
  });
});
