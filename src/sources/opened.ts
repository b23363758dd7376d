import type { OpenSource, Reading, Unavailable } from './source';

/**
 * An open source that holds nothing open: `read` gives the readings, or null or none where there is nothing to read, and
 * then `why` says the reason.
 */
export function opened(read: () => readonly Reading[] | null, why: () => Unavailable): OpenSource | Unavailable {
  const readOrWhy = (): readonly Reading[] | Unavailable => {
    const readings = read();
    return readings === null || readings.length === 0 ? why() : readings;
  };
  const first = readOrWhy();
  return 'unavailable' in first ? first : { read: readOrWhy, close: () => undefined };
}
