import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { TestContext } from 'node:test';
import { until } from './until';

/** Servers that other people wrote, started by the tests. */

/** Where the kernel takes the ports from that nobody has named: of connections, and of servers at port 0. */
const RANGE = '/proc/sys/net/ipv4/ip_local_port_range';
const LOWEST = 10_000;
const given = new Set<number>();

/**
 * A port of the loopback address that nobody listened on a moment ago, and that the kernel gives to nobody until its
 * server has started.
 */
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
