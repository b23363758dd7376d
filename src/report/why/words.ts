import { measuredUpper, type Ends } from '../../record/peak-figure';
import type { Bracket } from '../../record/record';
import { formatClock, parseTime } from '../format/local-time';
import type { Screen } from '../screen/screen';
import { formatBytes } from '../format/units';

/** How times, and text that users chose, are written. */
export interface Words {
  /** Makes text that a user chose harmless where it is going to be read. */
  readonly safe: (text: string) => string;
  /** A time (ISO 8601) as a time of day. */
  readonly clock: (time: string) => string;
}

/** For a terminal: times in its own zone. */
export function wordsOf(screen: Screen): Words {
  return {
    safe: screen.safe,
    clock: (time) => {
      const date = parseTime(time);
      return date === null ? screen.safe(time) : formatClock(date);
    },
  };
}

/** For machine formats: times in UTC, and text that users chose unchanged, since the format itself escapes it. */
export const PLAIN_WORDS: Words = {
  safe: (text) => text,
  clock: (time) => {
    const date = parseTime(time);
    return date === null ? time : date.toISOString().replace(/\.\d+Z$/, 'Z');
  },
};

/** "3.93 GiB", "3.93 GiB to 4.10 GiB", "at least 3.93 GiB". */
export function amountOf(bracket: Ends & Pick<Bracket, 'exact'>): string {
  const lower = formatBytes(bracket.lower_bytes, 'down');
  const end = measuredUpper(bracket);
  if (end === null) return `at least ${lower}`;
  if (bracket.exact) return lower;
  const upper = formatBytes(end, 'up');
  return lower === upper ? lower : `${lower} to ${upper}`;
}

/** "a, b and c" */
export function listed(items: readonly string[], last = 'and'): string {
  if (items.length < 2) return items[0] ?? '';
  return `${items.slice(0, -1).join(', ')} ${last} ${items[items.length - 1] ?? ''}`;
}
