import { formatCount, formatPercent } from '../report/units';
import type { Terminal } from './terminal';

interface ProgressLine {
  readonly show: (step: string, done: number, of: number) => void;
  /** Before anything else is written. */
  readonly clear: () => void;
}

const BETWEEN_MS = 100;

/** How far long work is, in one line that is written over; nothing where there is no terminal. */
export function progressLine(terminal: Pick<Terminal, 'isTTY' | 'write'>, now: () => number = Date.now): ProgressLine {
  let shown = false;
  let last = -Infinity;
  return {
    show: (step, done, of) => {
      if (!terminal.isTTY || now() - last < BETWEEN_MS) return;
      last = now();
      shown = true;
      const share = of > 0 ? ` (${formatPercent(done / of)})` : '';
      terminal.write(`\r\x1b[K${step}: ${formatCount(done)} of ${formatCount(of)}${share}`);
    },
    clear: () => {
      if (shown) terminal.write('\r\x1b[K');
      shown = false;
    },
  };
}
