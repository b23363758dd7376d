import type { MemorySeries } from '../../record/record';

/** How memory changed over a run, by the highest value of each eighth of it. */
interface Growth {
  /** From the first eighth to the last; negative where it fell. */
  readonly bytes: number;
  /** How many of the last seven eighths were higher than the one before by 1 % of the highest or more. */
  readonly rising: number;
}

const EIGHTHS = 8;
const FEWEST_POINTS = 2 * EIGHTHS;
const RISE = 0.01;

/** null: too few points. */
export function growthOf(series: MemorySeries | null): Growth | null {
  const points = series?.rss_bytes ?? [];
  if (points.length < FEWEST_POINTS) return null;
  const levels = Array.from({ length: EIGHTHS }, (_, index) => {
    const from = Math.floor((index * points.length) / EIGHTHS);
    const to = Math.floor(((index + 1) * points.length) / EIGHTHS);
    return points.slice(from, to).reduce((most, value) => Math.max(most, value), 0);
  });
  const highest = Math.max(...levels);
  const rising = levels.filter((level, index) => index > 0 && level - (levels[index - 1] ?? 0) >= RISE * highest);
  return { bytes: (levels.at(-1) ?? 0) - (levels[0] ?? 0), rising: highest === 0 ? 0 : rising.length };
}
