import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

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

/** Tries until there is something; fails with the last error when the program has ended, or where nothing comes. */
export async function eventually<T>(child: ChildProcess, attempt: () => T | null | Promise<T | null>): Promise<T> {
  let problem: unknown = 'nothing came';
  for (let tries = 0; tries < 1200 && child.exitCode === null; tries++) {
    try {
      const result = await attempt();
      if (result !== null) return result;
    } catch (error) {
      problem = error;
    }
    await sleep(100);
  }
  return assert.fail(child.exitCode === null ? String(problem) : `it ended with ${child.exitCode}`);
}
