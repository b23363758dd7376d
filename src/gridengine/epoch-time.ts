/**
 * An epoch time as Grid Engine writes it, in milliseconds; null if it is 0 ("never happened") or no number.
 *
 * Classic versions write seconds, Univa from 8.2 milliseconds, Open Cluster Scheduler microseconds; nothing in the
 * record says which, but the magnitudes are three decades apart.
 */
export function epochToMs(text: string): number | null {
  if (!/^\d{1,17}(\.\d{1,9})?$/.test(text)) return null;
  const value = Number(text);
  if (value === 0) return null;
  if (value < 1e11) return Math.round(value * 1000);
  if (value < 1e14) return Math.round(value);
  // Cut off, as times in seconds are: rounded up, the time could be in the next second.
  return Math.floor(value / 1000);
}
