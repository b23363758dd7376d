import { formatCount, formatDuration, formatPercent } from '../../report/format/units';
import type { Terminal } from '../terminal';

interface ImportProgress {
  /** Lines so far; bytes on disk that were read, of how many. */
  readonly show: (lines: number, done: number, of: number) => void;
  readonly clear: () => void;
}

const BETWEEN_MS = 200;
const BAR = 20;

/** The line itself: lines, lines per second, share, time left. */
export function progressText(lines: number, done: number, of: number, seconds: number): string {
  const share = of > 0 ? Math.min(1, done / of) : 1;
  const full = Math.round(share * BAR);
  const rate = seconds > 0 ? `, ${formatCount(lines / seconds)} lines/s` : '';
  const left = share > 0.01 && share < 1 ? `, ${formatDuration((seconds / share) * (1 - share))} left` : '';
  return `[${'#'.repeat(full)}${'.'.repeat(BAR - full)}] ${formatPercent(share)}, ${formatCount(lines)} lines${rate}${left}`;
}

/** One line that is written over, on a terminal only. */
export function importProgress(
  terminal: Pick<Terminal, 'isTTY' | 'write'>,
  now: () => number = () => performance.now(),
): ImportProgress {
  const start = now();
  let last = -Infinity;
  let shown = false;
  return {
    show(lines, done, of) {
      if (!terminal.isTTY || now() - last < BETWEEN_MS) return;
      last = now();
      shown = true;
      terminal.write(`\r\x1b[K${progressText(lines, done, of, (last - start) / 1000)}`);
    },
    clear() {
      if (shown) terminal.write('\r\x1b[K');
      shown = false;
    },
  };
}
