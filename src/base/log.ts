import { spawn } from 'node:child_process';
import { LimitedLog, SharedLogLimit } from './log-limit';
import { printable } from './printable';

function toSyslog(line: string): void {
  try {
    const child = spawn('/usr/bin/logger', ['-t', 'qmemacct', '-p', 'daemon.warning', '--', line], { stdio: 'ignore' });
    child.on('error', () => undefined);
    child.unref();
  } catch {
    // No logger, or no more processes allowed: there is nowhere to report it.
  }
}

let syslog: LimitedLog | null = null;
let shared: SharedLogLimit | null = null;

/** From now on this process shares its limit with all processes that name this directory (writable by root alone). */
export function shareLogLimit(directory: string): void {
  shared = new SharedLogLimit(directory);
}

function toSharedSyslog(line: string): void {
  const { allowed, leftOut } = shared?.take() ?? { allowed: true, leftOut: 0 };
  if (leftOut > 0) toSyslog(`${leftOut} more ${leftOut === 1 ? 'line' : 'lines'} of this host left out earlier`);
  if (allowed) toSyslog(line);
}

function openSyslog(): LimitedLog {
  const opened = new LimitedLog(toSharedSyslog);
  process.on('exit', () => opened.flush());
  return opened;
}

/** A warning in the system log (a sampler has no terminal): in ten minutes at most ten per process, thirty per host. */
export function warn(text: string): void {
  if (process.env.QMEMACCT_LOG === 'stderr') process.stderr.write(`qmemacct: ${printable(text)}\n`);
  else (syslog ??= openSyslog()).say(text);
}

/** Logs a problem once when it appears, and `good` once when it is gone. */
export function logChanges(log: (line: string) => void, good: string): (problem: string | null) => void {
  let last: string | null = null;
  return (problem) => {
    if (problem === last) return;
    log(problem ?? good);
    last = problem;
  };
}
