import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { TestContext } from 'node:test';
import { until } from './until';

/** Servers that other people wrote, started by the tests. */

/** A port of the loopback address that nobody listened on a moment ago. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}

/** Runs until the test ends. */
export function startProgram(t: TestContext, command: string, words: readonly string[]): ChildProcess {
  const child = spawn(command, words, { stdio: 'ignore' });
  t.after(async () => {
    if (child.exitCode !== null || !child.kill('SIGKILL')) return;
    await once(child, 'exit');
  });
  return child;
}

/** Tries until the program has something to give; rejects with the last error, or when it has ended. */
export function eventually<T>(child: ChildProcess, attempt: () => T | null | Promise<T | null>): Promise<T> {
  let problem = 'nothing came';
  return until(
    async () => {
      assert.equal(child.exitCode, null, 'it has ended');
      try {
        return await attempt();
      } catch (error) {
        problem = String(error);
        return null;
      }
    },
    () => `${child.spawnfile}: ${problem}`,
    100,
  );
}
