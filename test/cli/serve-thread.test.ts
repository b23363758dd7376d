import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { keepAtWork } from '../../src/cli/serve-thread';

it('a thread of the server that fails tries again after a second, then more and more seldom, up to a minute', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const abort = new AbortController();
  let tries = 0;
  const end = keepAtWork(
    () => Promise.reject(new Error(`try ${++tries}`)),
    abort.signal,
    () => undefined,
  );
  await turn();
  for (const [index, seconds] of [1, 2, 4, 8, 16, 32, 60, 60].entries()) {
    t.mock.timers.tick(seconds * 1000 - 1);
    await turn();
    assert.equal(tries, index + 1, `before ${seconds} s`);
    t.mock.timers.tick(1);
    await turn();
    assert.equal(tries, index + 2, `after ${seconds} s`);
  }
  abort.abort();
  await end;
});
