import type { MemorySeries } from './record';

/** The name that resident memory has among the series of a record. */
export const MEMORY_SERIES = 'rss_bytes';

/** The values of one series, by its name; empty: the record does not hold it. */
export function seriesValues({ rss_bytes: memory, others }: MemorySeries, name: string): readonly number[] {
  if (name === MEMORY_SERIES) return memory;
  return Object.hasOwn(others, name) ? (others[name] ?? []) : [];
}
