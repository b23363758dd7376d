import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { packageRoot } from '../../src/base/package-root';

export const COMMAND = join(packageRoot(), 'bin', 'qmemacct');

export interface Serving {
  readonly child: ChildProcess;
  readonly said: () => string;
}

/** `qmemacct serve` as a process of its own, which listens when this resolves. */
export async function startServing(t: TestContext, config: string, words: readonly string[] = []): Promise<Serving> {
  const child = spawn(process.execPath, [COMMAND, '--config', config, 'serve', ...words], {
    stdio: ['ignore', 'inherit', 'pipe'],
    env: { PATH: process.env.PATH, SGE_ROOT: '/nonexistent' },
  });
  t.after(() => child.kill('SIGKILL'));
  let said = '';
  child.stderr.on('data', (piece: Buffer) => (said += piece.toString()));
  while (!said.includes('serves ') && child.exitCode === null) await once(child.stderr, 'data');
  return { child, said: () => said };
}
