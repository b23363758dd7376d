import { closeSync, fstatSync, openSync, readdirSync, rmSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { printable } from './printable';

interface LogLimits {
  /** Lines in one window; what is above is counted. */
  readonly most: number;
  readonly windowMs: number;
}

const LIMITS: LogLimits = { most: 10, windowMs: 600_000 };
const LONGEST = 1000;

/** Lines for a log, each harmless and of bounded length, and so many of them in a time as somebody can read. */
export class LimitedLog {
  readonly #write: (line: string) => void;
  readonly #limits: LogLimits;
  #written = 0;
  #leftOut = 0;
  #window: NodeJS.Timeout | null = null;

  /** `write` is given each line without its end. */
  constructor(write: (line: string) => void, limits: Partial<LogLimits> = {}) {
    this.#write = write;
    this.#limits = { ...LIMITS, ...limits };
  }

  say(text: string): void {
    if (this.#window === null) this.#window = setTimeout(() => this.#end(), this.#limits.windowMs).unref();
    if (this.#written >= this.#limits.most) {
      this.#leftOut++;
      return;
    }
    this.#written++;
    this.#write(printable(text).slice(0, LONGEST));
  }

  /** Says how many lines were left out: at the end of the process, too. */
  flush(): void {
    const left = this.#leftOut;
    this.#leftOut = 0;
    if (left > 0) this.#write(`${left} more ${left === 1 ? 'line' : 'lines'} left out`);
  }

  #end(): void {
    this.#window = null;
    this.#written = 0;
    this.flush();
  }
}

const SHARED_LIMITS: LogLimits = { most: 30, windowMs: 600_000 };
const PREFIX = 'log-lines.';

/**
 * Lines of all processes of a host in one time: users bring about as many processes as they like. Each line adds a byte
 * to a file that is named after the window; without the right or room to do so only each process's own limit holds.
 */
export class SharedLogLimit {
  readonly #directory: string;
  readonly #limits: LogLimits;

  /** `directory`: one that only root can write to. */
  constructor(directory: string, limits: Partial<LogLimits> = {}) {
    this.#directory = directory;
    this.#limits = { ...SHARED_LIMITS, ...limits };
  }

  /** Whether one more line may be written; `leftOut`: how many could not be since this was last said. */
  take(nowMs = Date.now()): { readonly allowed: boolean; readonly leftOut: number } {
    const name = `${PREFIX}${Math.floor(nowMs / this.#limits.windowMs)}`;
    try {
      const lines = this.#count(join(this.#directory, name));
      return { allowed: lines <= this.#limits.most, leftOut: lines === 1 ? this.#removeOthers(name) : 0 };
    } catch {
      return { allowed: true, leftOut: 0 };
    }
  }

  #count(path: string): number {
    const file = openSync(path, 'a', 0o600);
    try {
      writeSync(file, '.');
      return fstatSync(file).size;
    } finally {
      closeSync(file);
    }
  }

  #removeOthers(name: string): number {
    let leftOut = 0;
    for (const other of readdirSync(this.#directory)) {
      if (!other.startsWith(PREFIX) || other === name) continue;
      const path = join(this.#directory, other);
      leftOut += Math.max(0, statSync(path).size - this.#limits.most);
      rmSync(path, { force: true });
    }
    return leftOut;
  }
}
