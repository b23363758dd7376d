import { spawn } from 'node:child_process';

let said = 0;

/** A warning for the system log, at most ten from one process; a sampler has no terminal. */
export function warn(text: string): void {
  if (process.env.QMEMACCT_LOG === 'stderr') {
    process.stderr.write(`qmemacct: ${text}\n`);
    return;
  }
  if (said++ >= 10) return;
  try {
    const child = spawn('/usr/bin/logger', ['-t', 'qmemacct', '-p', 'daemon.warning', '--', text.slice(0, 1000)], {
      stdio: 'ignore',
    });
    child.on('error', () => undefined);
    child.unref();
  } catch {
    // No logger, or no more processes allowed: nowhere to tell it.
  }
}

/** One line for any error. */
export function reasonOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '';
}
