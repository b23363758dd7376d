import assert from 'node:assert/strict';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { ConnectionLimit } from '../../../src/server/http/connection-limit';
import { HttpProblem } from '../../../src/server/http/http-problem';

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
    it(`refuses connection ${most + 1} of one ${name}, and takes in those of another`, (t) => {
      const limit = new ConnectionLimit();
      const first = Array.from({ length: most }, () => admitted(t, limit, who));
      for (const one of first) limit.check(one);
      const more = Array.from({ length: 32 }, () => admitted(t, limit, who));
      for (const one of more)
        assert.throws(
          () => limit.check(one),
          (error) => error instanceof HttpProblem && error.message.startsWith(`you have ${most} connections here`),
        );
      assert.equal(admitted(t, limit, who).destroyed, true);
      limit.check(admitted(t, limit, other));
    });
});

describe('answers that are not read', () => {
  const MIB = 2 ** 20;

  it('are refused to one who has much of them already, until some are read', (t) => {
    const limit = new ConnectionLimit();
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
    // A proxy on this host: who does not read keeps nobody else from it.
    const [one, other] = [new Socket(), new Socket()];
    limit.hold(one, answer(), 100 * MIB);
    limit.hold(other, answer(), 100 * MIB);
    assert.throws(() => limit.hold(one, answer(), 29 * MIB), HttpProblem);
    // One that is larger than all that may wait is given.
    limit.hold(socket, answer(), 200 * MIB);
  });
});
