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

interface Played {
  readonly shared: SharedListener;
  readonly requests: Request[];
  readonly sockets: Socket[];
  /** Answers syncs and questions about the node. */
  answers: boolean;
  send(...replies: readonly Reply[]): void;
}

/** A listener that says what the test wants, over the real socket. */
async function played(t: TestContext): Promise<Played> {
  const settings = { ...DEFAULT_SETTINGS, run_dir: temporaryDirectory() };
  const { directory, socket: path } = listenerPaths(settings);
  mkdirSync(directory);
  const requests: Request[] = [];
  const sockets: Socket[] = [];
  const it: Played = {
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

interface Member {
  readonly link: ListenerLink;
  readonly replies: Reply[];
  readonly lost: () => number;
}

async function join({ shared }: Played): Promise<Member> {
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

describe('a connection that many jobs share', () => {
  it('is one', async (t) => {
    const listener = await played(t);
    const members = await Promise.all(Array.from({ length: 64 }, () => join(listener)));
    assert.equal(listener.sockets.length, 1);
    assert.deepEqual(members[63]?.link.hello, { kind: 'hello', events: null, records: null, stays: true });
  });

  it("gives each job its own processes' events, and those of their descendants", async (t) => {
    const listener = await played(t);
    const one = await join(listener);
    const other = await join(listener);
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

  it('forgets who has ended: the number may be used again', async (t) => {
    const listener = await played(t);
    const one = await join(listener);
    const other = await join(listener);
    one.link.follow([10]);
    other.link.follow([20]);
    listener.send(fork(10, 11), exit(11), exec(11), fork(11, 12), fork(20, 11), exec(11));
    await one.link.sync(60_000);
    assert.deepEqual(pidsOf(one.replies), ['fork 11', 'exit 11']);
    assert.deepEqual(pidsOf(other.replies), ['fork 11', 'exec 11']);
  });

  it('tells all of what concerns all', async (t) => {
    const listener = await played(t);
    const members = [await join(listener), await join(listener)];
    listener.send({ kind: 'lost', what: 'records' }, { kind: 'node', id: null, charges: null, gpu: [] });
    await members[0]?.link.sync(60_000);
    for (const { replies } of members) assert.deepEqual(pidsOf(replies), ['lost', 'node']);
  });

  it('asks once for many that ask at a time, and again for who asks later', async (t) => {
    const listener = await played(t);
    const members = await Promise.all(Array.from({ length: 20 }, () => join(listener)));
    const syncs = (): number => listener.requests.filter(({ kind }) => kind === 'sync').length;
    assert.deepEqual(new Set(await Promise.all(members.map(({ link }) => link.sync(60_000)))), new Set([true]));
    assert.equal(syncs(), 1);
    assert.equal(await members[7]?.link.sync(60_000), true);
    assert.equal(syncs(), 2);
    const replies = await Promise.all(members.map(({ link }) => link.node(60_000)));
    assert.ok(replies.every((reply) => reply?.kind === 'node'));
    assert.equal(listener.requests.filter(({ kind }) => kind === 'node').length, 1);
    await members[0]?.link.node(60_000);
    assert.equal(listener.requests.filter(({ kind }) => kind === 'node').length, 2);
  });

  it('that does not answer is given up by all at once, and made anew for the next', async (t) => {
    const listener = await played(t);
    const members = [await join(listener), await join(listener), await join(listener)];
    listener.answers = false;
    const answers = await Promise.all(members.map(({ link }) => link.sync(60)));
    assert.deepEqual(answers, [false, false, false]);
    assert.deepEqual(
      members.map(({ lost }) => lost()),
      [1, 1, 1],
    );
    await until(
      () => listener.sockets[0]?.destroyed === true || listener.sockets[0]?.readableEnded === true,
      'its end',
    );
    listener.answers = true;
    const again = await Promise.all(members.map(() => join(listener)));
    assert.equal(listener.sockets.length, 2);
    assert.equal(await again[1]?.link.sync(60_000), true);
    // Links of before are dead, and harm nobody.
    assert.equal(await members[0]?.link.sync(60_000), false);
  });

  it('that ends is told to everybody once; the processes of before are nobody’s until they are claimed anew', async (t) => {
    const listener = await played(t);
    const members = await Promise.all(Array.from({ length: 64 }, () => join(listener)));
    members[0]?.link.follow([10]);
    listener.sockets[0]?.destroy();
    await until(() => members.every(({ lost }) => lost() === 1), 'word of it');
    const again = await Promise.all(members.map(() => join(listener)));
    assert.equal(listener.sockets.length, 2);
    again[5]?.link.follow([10]);
    // Its successor follows the process by now.
    members[0]?.link.close();
    listener.send(exec(10));
    await again[0]?.link.sync(60_000);
    assert.deepEqual(pidsOf(again[5]?.replies ?? []), ['exec 10']);
    assert.deepEqual(again[0]?.replies, []);
    assert.ok(members.every(({ lost }) => lost() === 1));
  });

  it('is left by a job that has ended, whose processes are then nobody’s', async (t) => {
    const listener = await played(t);
    const one = await join(listener);
    const other = await join(listener);
    one.link.follow([10, 11]);
    one.link.close();
    assert.equal(await one.link.sync(60_000), false);
    listener.send(exec(10), fork(11, 12));
    listener.sockets[0]?.write('');
    assert.equal(await other.link.sync(60_000), true);
    assert.deepEqual([one.replies, other.replies], [[], []]);
    listener.sockets[0]?.destroy();
    await until(() => other.lost() === 1, 'word of it');
    assert.equal(one.lost(), 0);
  });

  it('is left when no job is there any more, and made anew for the next: an idle node lets its listener rest', async (t) => {
    const it = await played(t);
    const first = await join(it);
    const second = await join(it);
    const [socket] = it.sockets;
    const left = new Promise<void>((resolve) => socket?.once('close', () => resolve()));
    socket?.resume();
    first.link.close();
    assert.ok(await second.link.sync(60_000), 'left while a job was there');
    second.link.close();
    await left;
    const third = await join(it);
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
