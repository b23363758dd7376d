import type { MemorySeries } from '../record/record';
import type { Cell } from './columns';

/** Columns of the table `series` that queries read along: start, step, points. */
export const SERIES_CELLS = 3;

/** The series whose cells begin at `at`; null: the record has none. */
export function readSeries(cells: readonly Cell[], at: number): MemorySeries | null {
  const [start, step, points] = [cells[at], cells[at + 1], cells[at + 2]];
  if (typeof start !== 'number' || typeof points !== 'string') return null;
  return {
    start: new Date(start).toISOString(),
    step_seconds: Number(step) / 1000,
    rss_bytes: JSON.parse(points) as readonly number[],
  };
}
