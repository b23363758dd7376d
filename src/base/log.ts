import { spawn } from 'node:child_process';
import { LimitedLog } from './log-limit';
import { printable } from './printable';

function toSyslog(line: string): void {
  try {
    const child = spawn('/usr/bin/logger', ['-t', 'qmemacct', '-p', 'daemon.warning', '--', line], { stdio: 'ignore' });
    child.on('error', () => undefined);
    child.unref();
  } catch {
    // No logger, or no more processes allowed: nowhere to say it.
  }
}

let syslog: LimitedLog | null = null;

function openSyslog(): LimitedLog {
  const opened = new LimitedLog(toSyslog);
  process.on('exit', () => opened.flush());
  return opened;
}

/** A warning for the system log, at most ten from one process in ten minutes; a sampler has no terminal. */
export function warn(text: string): void {
  if (process.env.QMEMACCT_LOG === 'stderr') process.stderr.write(`qmemacct: ${printable(text)}\n`);
  else (syslog ??= openSyslog()).say(text);
}

/** One line for any error. */
export function reasonOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '';
}
