import { closeSync, fstatSync, openSync, readdirSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { printable } from './printable';

interface LogLimits {
  /** Most lines in one window; further lines are only counted. */
  readonly most: number;
  readonly windowMs: number;
}

const LIMITS: LogLimits = { most: 10, windowMs: 600_000 };
const LONGEST = 1000;

/** Writes lines to a log: each harmless and of bounded length, and no more of them than somebody can read. */
export class LimitedLog {
  private readonly write: (line: string) => void;
  private readonly limits: LogLimits;
  private written = 0;
  private leftOut = 0;
  private window: NodeJS.Timeout | null = null;

  /** `write` gets each line without a newline. */
  constructor(write: (line: string) => void, limits: Partial<LogLimits> = {}) {
    this.write = write;
    this.limits = { ...LIMITS, ...limits };
  }

  say(text: string): void {
    if (this.window === null) this.window = setTimeout(() => this.end(), this.limits.windowMs).unref();
    if (this.written >= this.limits.most) {
      this.leftOut++;
      return;
    }
    this.written++;
    this.write(printable(text).slice(0, LONGEST));
  }

  /** Writes how many lines were left out; call it at the end of the process, too. */
  flush(): void {
    const left = this.leftOut;
    this.leftOut = 0;
    if (left > 0) this.write(`${left} more ${left === 1 ? 'line' : 'lines'} left out`);
  }

  private end(): void {
    this.window = null;
    this.written = 0;
    this.flush();
  }
}

const SHARED_LIMITS: LogLimits = { most: 30, windowMs: 600_000 };
const PREFIX = 'log-lines.';

/**
 * Limits the lines of all processes of a host together, since users can cause any number of processes. Each line adds a
 * byte to a file that is named after the window; if that fails (permission, full disk), only each process's own limit
 * holds.
 */
export class SharedLogLimit {
  private readonly directory: string;
  private readonly limits: LogLimits;

  /** `directory`: must be writable by root alone. */
  constructor(directory: string, limits: Partial<LogLimits> = {}) {
    this.directory = directory;
    this.limits = { ...SHARED_LIMITS, ...limits };
  }

  /** Whether one more line may be written; `leftOut`: how many lines were left out in earlier windows, given once. */
  take(nowMs = Date.now()): { readonly allowed: boolean; readonly leftOut: number } {
    const name = `${PREFIX}${Math.floor(nowMs / this.limits.windowMs)}`;
    try {
      const lines = this.count(join(this.directory, name));
      return { allowed: lines <= this.limits.most, leftOut: lines === 1 ? this.removeOthers(name) : 0 };
    } catch {
      return { allowed: true, leftOut: 0 };
    }
  }

  private count(path: string): number {
    const file = openSync(path, 'a', 0o600);
    try {
      writeSync(file, '.');
      return fstatSync(file).size;
    } finally {
      closeSync(file);
    }
  }

  private removeOthers(name: string): number {
    let leftOut = 0;
    for (const other of readdirSync(this.directory)) {
      if (!other.startsWith(PREFIX) || other === name) continue;
      const path = join(this.directory, other);
      leftOut += Math.max(0, statSync(path).size - this.limits.most);
      rmSync(path, { force: true });
    }
    return leftOut;
  }
}
