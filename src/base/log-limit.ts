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
