import { formatCount, formatPercent } from '../report/format/units';

/** A command's surroundings: where its output goes, the environment and the time. */
export interface Terminal {
  readonly write: (text: string) => void;
  /** Writes one line to standard error. */
  readonly warn: (line: string) => void;
  /** Whether `write` goes to a terminal. */
  readonly isTTY: boolean;
  readonly columns: number | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: () => Date;
}

const { stdout, stderr } = process;

/** The terminal of this process. */
export const processTerminal: Terminal = {
  write: (text) => void stdout.write(text),
  warn: (line) => void stderr.write(`${line}\n`),
  isTTY: stdout.isTTY,
  columns: stdout.isTTY ? stdout.columns : undefined,
  env: process.env,
  now: () => new Date(),
};

/** For progress while standard output gets the answer. */
export const errorOutput: Pick<Terminal, 'isTTY' | 'write'> = {
  isTTY: stderr.isTTY,
  write: (text) => void stderr.write(text),
};

interface Interruption {
  readonly signal: AbortSignal;
  readonly release: () => void;
}

/** The first Ctrl-C (or SIGTERM) aborts `signal`, so that work ends at the next good moment; a second ends at once. */
export function interruption(): Interruption {
  const controller = new AbortController();
  const stop = (): void => {
    release();
    controller.abort();
  };
  const release = (): void => {
    process.off('SIGINT', stop);
    process.off('SIGTERM', stop);
  };
  process.on('SIGINT', stop);
  process.on('SIGTERM', stop);
  return { signal: controller.signal, release };
}

interface StatusLine<Words extends readonly unknown[]> {
  readonly show: (...words: Words) => void;
  /** To be called before anything else is written. */
  readonly clear: () => void;
}

const BETWEEN_MS = 100;

/** A line that is overwritten, at most ten times a second; without a terminal, nothing is written. */
export function statusLine<Words extends readonly unknown[]>(
  terminal: Pick<Terminal, 'isTTY' | 'write'>,
  textOf: (...words: Words) => string,
  now: () => number = Date.now,
): StatusLine<Words> {
  let shown = false;
  let last = -Infinity;
  return {
    show: (...words) => {
      if (!terminal.isTTY || now() - last < BETWEEN_MS) return;
      last = now();
      shown = true;
      terminal.write(`\r\x1b[K${textOf(...words)}`);
    },
    clear: () => {
      if (shown) terminal.write('\r\x1b[K');
      shown = false;
    },
  };
}

/** The progress of a step of long work, as a status line. */
export function progressLine(
  terminal: Pick<Terminal, 'isTTY' | 'write'>,
  now?: () => number,
): StatusLine<[step: string, done: number, of: number]> {
  const textOf = (step: string, done: number, of: number): string =>
    `${step}: ${formatCount(done)} of ${formatCount(of)}${of > 0 ? ` (${formatPercent(done / of)})` : ''}`;
  return statusLine(terminal, textOf, now);
}
