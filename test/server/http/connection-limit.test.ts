import assert from 'node:assert/strict';
import { once } from 'node:events';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ConnectionLimit, mostConnections } from '../../../src/server/http/connection-limit';
import { UNKNOWN_UID } from '../../../src/server/access/caller';
import { HttpProblem } from '../../../src/server/http/http-problem';

/** A limit that knows the users below uid 100,000. */
const newLimit = (): ConnectionLimit =>
  new ConnectionLimit((uid) => Promise.resolve(uid < 100_000 ? uid : UNKNOWN_UID), 1024);

function admitted(t: TestContext, limit: ConnectionLimit, who: number | string): Socket {
  const socket = new Socket();
  t.after(() => socket.destroy());
  limit.admit(socket, who);
  return socket;
}

describe('ConnectionLimit', () => {
  for (const [name, most, who, other] of [
    ['user', 32, 1001, 1002],
    ['host', 256, '192.0.2.1', '192.0.2.2'],
  ] as const)
    it(`refuses connection ${most + 1} of one ${name}, and accepts those of another`, async (t) => {
      const limit = newLimit();
      const first = Array.from({ length: most }, () => admitted(t, limit, who));
      for (const one of first) await limit.check(one);
      const more = Array.from({ length: 32 }, () => admitted(t, limit, who));
      for (const one of more)
        await assert.rejects(
          limit.check(one),
          (error) => error instanceof HttpProblem && error.message.startsWith(`you have ${most} connections here`),
        );
      assert.equal(admitted(t, limit, who).destroyed, true);
      await limit.check(admitted(t, limit, other));
    });
});

describe('connections in all', () => {
  it('are as many as the descriptors allow for each of several servers', () => {
    assert.deepEqual(
      [4096, 1024, 256, 100].map((descriptors) => mostConnections(descriptors, 2)),
      [1024, 448, 64, 1],
    );
    assert.equal(mostConnections(Infinity, 1), 1024);
  });

  it('make room for a new one', (t) => {
    const limit = new ConnectionLimit((uid) => Promise.resolve(uid), 3);
    const sockets = Array.from({ length: 4 }, () => new Socket());
    for (const socket of sockets) {
      t.after(() => socket.destroy());
      limit.enter(socket);
    }
    assert.deepEqual(
      sockets.map(({ destroyed }) => destroyed),
      [true, true, false, false],
    );
  });
});

describe('connections of users', () => {
  /** Connects one after the other, as the system does. */
  const connections = async (
    t: TestContext,
    limit: ConnectionLimit,
    uids: readonly number[],
  ): Promise<readonly Socket[]> => {
    const sockets: Socket[] = [];
    for (const uid of uids) {
      const socket = new Socket();
      t.after(() => socket.destroy());
      limit.admitUser(socket, uid);
      sockets.push(socket);
      await nextTurn();
    }
    return sockets;
  };
  const uidsFrom = (first: number, count: number): readonly number[] =>
    Array.from({ length: count }, (_, index) => first + index);
  const answered = async (limit: ConnectionLimit, sockets: readonly Socket[]): Promise<number> => {
    const checks = await Promise.allSettled(sockets.map((socket) => limit.check(socket)));
    return checks.filter(({ status }, index) => status === 'fulfilled' && sockets[index]?.destroyed === false).length;
  };

  it('without a known name count as those of one user, and keep out no known user', async (t) => {
    const found = new AbortController();
    const limit = new ConnectionLimit(async (uid) => {
      if (uid < 100_000) return uid;
      if (!found.signal.aborted) await once(found.signal, 'abort');
      return UNKNOWN_UID;
    }, 1024);
    await connections(t, limit, [1001]);
    const unknown = await connections(t, limit, uidsFrom(100_000, 1500));
    assert.equal(await answered(limit, await connections(t, limit, [1001, 0])), 2);
    found.abort();
    assert.equal(await answered(limit, unknown), 32);
    assert.equal(await answered(limit, await connections(t, limit, uidsFrom(2000, 60))), 60);
  });

  it('leave some for root and the server’s own user', async (t) => {
    const limit = newLimit();
    let taken = 0;
    for (const uid of uidsFrom(1000, 40))
      taken += await answered(limit, await connections(t, limit, new Array<number>(32).fill(uid)));
    assert.equal(taken, 1024 - 64);
    assert.equal(await answered(limit, await connections(t, limit, [5000, 0, process.getuid?.() ?? 0])), 2);
  });
});

describe('answers that a client does not read', () => {
  const MIB = 2 ** 20;

  it('are refused to a client with too many of them, until some are read', (t) => {
    const limit = newLimit();
    const socket = admitted(t, limit, 1001);
    const answer = (): ServerResponse => new ServerResponse(new IncomingMessage(socket));
    const first = answer();
    limit.hold(socket, first, 100 * MIB);
    assert.throws(
      () => limit.hold(socket, answer(), 29 * MIB),
      (error) => error instanceof HttpProblem && error.httpStatus === 503,
    );
    limit.hold(admitted(t, limit, 1002), answer(), 29 * MIB);
    first.emit('close');
    // Behind a proxy on this host: a client that does not read keeps no other from it.
    const [one, other] = [new Socket(), new Socket()];
    limit.hold(one, answer(), 100 * MIB);
    limit.hold(other, answer(), 100 * MIB);
    assert.throws(() => limit.hold(one, answer(), 29 * MIB), HttpProblem);
    // A single answer larger than the limit is still given.
    limit.hold(socket, answer(), 200 * MIB);
  });

  it('close the connections from this host that have waited longest, if they are too many together', (t) => {
    const limit = newLimit();
    const sockets = Array.from({ length: 12 }, () => {
      const socket = new Socket();
      t.after(() => socket.destroy());
      limit.hold(socket, new ServerResponse(new IncomingMessage(socket)), 100 * MIB);
      return socket;
    });
    assert.deepEqual(
      sockets.map(({ destroyed }) => destroyed),
      sockets.map((_socket, index) => index < 2),
    );
  });

  it('count no longer once the connection has closed, whether they were sent, waited or were still made', async (t) => {
    const limit = newLimit();
    const answerOn = (socket: Socket): ServerResponse => new ServerResponse(new IncomingMessage(socket));
    const left = admitted(t, limit, 1001);
    const first = answerOn(left);
    limit.hold(left, first, 60 * MIB);
    limit.hold(left, answerOn(left), 60 * MIB);
    left.destroy();
    limit.hold(left, answerOn(left), 100 * MIB);
    await once(left, 'close');
    first.emit('close');
    const socket = admitted(t, limit, 1001);
    limit.hold(socket, answerOn(socket), 100 * MIB);
    assert.throws(() => limit.hold(socket, answerOn(socket), 29 * MIB), HttpProblem);
  });
});
