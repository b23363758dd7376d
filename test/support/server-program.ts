import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { TestContext } from 'node:test';
import { until } from './until';

/** Helpers for tests that start server programs of others. */

/** Range from which the kernel chooses ports for connections, and for servers that ask for port 0. */
const RANGE = '/proc/sys/net/ipv4/ip_local_port_range';
const LOWEST = 10_000;
const given = new Set<number>();

/** A port of the loopback address on which nobody listened a moment ago, outside the range from which the kernel chooses. */
export async function freePort(): Promise<number> {
  const [end = 0] = readFileSync(RANGE, 'utf8').split(/\s/).map(Number);
  assert.ok(end > LOWEST, `${RANGE} begins at ${end}`);
  for (;;) {
    const port = randomInt(LOWEST, end);
    if (given.has(port)) continue;
    given.add(port);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
    });
    if (isFree) return port;
  }
}

/** Starts a program that is killed when the test ends. */
export function startProgram(t: TestContext, command: string, words: readonly string[]): ChildProcess {
  const child = spawn(command, words, { stdio: 'ignore' });
  t.after(async () => {
    if (child.exitCode !== null || !child.kill('SIGKILL')) return;
    await once(child, 'exit');
  });
  return child;
}

/** Repeats the attempt until it returns a value; rejects with its last error, or when the program has ended. */
export function eventually<T>(child: ChildProcess, attempt: () => T | null | Promise<T | null>): Promise<T> {
  let problem = 'no value';
  return until(
    async () => {
      assert.equal(child.exitCode, null, `${child.spawnfile} has ended`);
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
