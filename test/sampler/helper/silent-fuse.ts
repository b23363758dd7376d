import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { packageRoot } from '../../../src/base/package-root';

export interface SilentFileSystem {
  /** A file of it: opening works, reading hangs. */
  readonly file: string;
  /** Ends all hanging reads with an error, and unmounts the file system. */
  readonly end: () => Promise<void>;
}

/** Mounts silent-fuse.c below `directory`, or returns why that can't be done here. */
export async function silentFileSystem(t: TestContext, directory: string): Promise<SilentFileSystem | string> {
  const program = join(directory, 'silent-fuse');
  const source = join(packageRoot(), 'test', 'sampler', 'helper', 'silent-fuse.c');
  const flags = ['-std=c11', '-D_GNU_SOURCE', '-O1', '-Wall', '-Wextra', '-Werror'];
  const made = spawnSync(process.env.CC || 'cc', [...flags, source, '-o', program], { encoding: 'utf8' });
  if (made.status !== 0) return `silent-fuse.c can't be compiled: ${made.error?.message ?? made.stderr}`;
  const mountPoint = join(directory, 'mnt');
  mkdirSync(mountPoint);
  const server = spawn(program, [mountPoint], { stdio: ['pipe', 'pipe', 'pipe'] });
  const exited = once(server, 'exit');
  const end = async (): Promise<void> => {
    server.stdin.end();
    await exited;
  };
  t.after(end);
  let complaint = '';
  server.stderr.on('data', (text: Buffer) => (complaint += text.toString()));
  const outcome = await Promise.race([once(server.stdout, 'data'), exited]);
  if (!Buffer.isBuffer(outcome[0])) return `no FUSE here: ${complaint.trim()}`;
  return { file: join(mountPoint, 'file'), end };
}
