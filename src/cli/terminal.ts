import { formatCount, formatPercent } from '../report/format/units';

/** The world outside of a command: where its words go and what it may ask about the place it runs in. */
export interface Terminal {
  readonly write: (text: string) => void;
  /** To the standard error output, one line. */
  readonly warn: (line: string) => void;
  /** Whether `write` goes to a terminal. */
  readonly isTTY: boolean;
  readonly columns: number | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: () => Date;
}

const { stdout, stderr } = process;

/** Where this process's own words go. */
export const processTerminal: Terminal = {
  write: (text) => void stdout.write(text),
  warn: (line) => void stderr.write(`${line}\n`),
  isTTY: stdout.isTTY,
  columns: stdout.isTTY ? stdout.columns : undefined,
  env: process.env,
  now: () => new Date(),
};

/** Where progress goes while the standard output has the answer. */
export const errorOutput: Pick<Terminal, 'isTTY' | 'write'> = {
  isTTY: stderr.isTTY,
  write: (text) => void stderr.write(text),
};

interface Interruption {
  readonly signal: AbortSignal;
  readonly release: () => void;
}

/** Ctrl-C (or SIGTERM) asks for an end at the next good moment; a second one ends at once. */
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
  /** Before anything else is written. */
  readonly clear: () => void;
}

const BETWEEN_MS = 100;

/** One line that is written over, ten times a second at most; nothing where there is no terminal. */
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

/** How far a step of long work is. */
export function progressLine(
  terminal: Pick<Terminal, 'isTTY' | 'write'>,
  now?: () => number,
): StatusLine<[step: string, done: number, of: number]> {
  const textOf = (step: string, done: number, of: number): string =>
    `${step}: ${formatCount(done)} of ${formatCount(of)}${of > 0 ? ` (${formatPercent(done / of)})` : ''}`;
  return statusLine(terminal, textOf, now);
}
