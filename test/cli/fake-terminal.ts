import type { Terminal } from '../../src/cli/terminal';

/** A terminal that keeps what is written to it. */
export interface FakeTerminal extends Terminal {
  readonly output: () => string;
  readonly warnings: () => string;
}

/** A pipe: no TTY, of unknown width, in a UTF-8 locale. `now` is the day after the sample jobs. */
export function fakeTerminal(changes: Partial<Terminal> = {}): FakeTerminal {
  const written: string[] = [];
  const warned: string[] = [];
  return {
    write: (text) => void written.push(text),
    warn: (line) => void warned.push(`${line}\n`),
    isTTY: false,
    columns: undefined,
    env: { LANG: 'C.UTF-8', HOME: '/nonexistent' },
    now: () => new Date('2026-11-21T12:00:00Z'),
    ...changes,
    output: () => written.join(''),
    warnings: () => warned.join(''),
  };
}
