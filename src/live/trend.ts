import { DAY_MS } from '../base/units';
import type { MemorySeries } from '../record/record';
import type { Trend } from './cluster-view';

interface Point {
  /** ms since the epoch. */
  readonly at: number;
  readonly bytes: number;
}

/** A Theil-Sen line: its slope is the median slope of all pairs of points, which a few outliers do not change. */
interface Line {
  /** Bytes per ms; `lower`, `upper`: quartiles of the pairs' slopes. */
  readonly slope: number;
  readonly lower: number;
  readonly upper: number;
  /** The line's value at the last point, in bytes, and how far points lie below and above the line at most. */
  readonly level: number;
  readonly below: number;
  readonly above: number;
  /** Rising pairs minus falling pairs, over all pairs (Kendall's tau); 1: steady growth. */
  readonly rising: number;
}

const FEWEST_POINTS = 5;
const WINDOW_POINTS = 10;
/** Records keep 120 steps; the bound limits the cost of hostile records. */
const MOST_POINTS = 240;
/** If `rising` is below this, memory moves up and down. */
const RISING = 0.5;
/** The window's second half must grow at least at this share of the whole window's rate, else it has levelled off. */
const GOES_ON = 1 / 3;
/** Growth in the window below this share of the level is noise of caches and allocators. */
const LEAST_GROWTH = 0.001;
/** A job that reaches its limit later than this is not at risk, and very distant dates can't be represented. */
const FARTHEST_MS = 10 * 365 * DAY_MS;

/**
 * The trend of a job's memory, by the last third of its steps (at least 10). null: it does not grow, moves up and down,
 * has levelled off, was as high before, or there is too little data. `limitBytes` null: no limit. `seenAt`: when the
 * last step was seen, for a series that came with a heartbeat.
 */
export function trendOf(
  series: MemorySeries,
  limitBytes: number | null,
  nowMs: number,
  seenAt: number = nowMs,
): Trend | null {
  const points = pointsOf(series, seenAt);
  if (points.length < FEWEST_POINTS) return null;
  const length = Math.max(WINDOW_POINTS, Math.ceil(points.length / 3));
  const recent = points.slice(-length);
  const line = lineThrough(recent);
  if (line === null || !grows(line, recent, points.slice(0, -length))) return null;
  const first = recent[0];
  const last = recent.at(-1);
  if (first === undefined || last === undefined) return null;
  const reaches = (level: number, slope: number): number | null =>
    limitBytes === null || !Number.isFinite(limitBytes)
      ? null
      : timeOf(last.at, nowMs, limitBytes - Math.max(0, level), slope);
  const already = limitBytes !== null && last.bytes >= limitBytes;
  const limitAt = already ? nowMs : reaches(line.level, line.slope);
  return {
    slope: line.slope * 1000,
    overSeconds: (last.at - first.at) / 1000,
    limitAt,
    earliest: already ? nowMs : reaches(line.level + line.above, line.upper),
    latest: already ? nowMs : reaches(line.level - line.below, line.lower),
    confidence: confidenceOf(line, recent, limitAt),
  };
}

/** The points of a series. A step holds its largest sum, which a growing job reaches at the step's end, or just now. */
function pointsOf(series: MemorySeries, seenAt: number): readonly Point[] {
  const start = Date.parse(series.start);
  const stepMs = series.step_seconds * 1000;
  if (!Number.isFinite(start) || !Number.isFinite(stepMs) || stepMs <= 0) return [];
  const skipped = Math.max(0, series.rss_bytes.length - MOST_POINTS);
  return series.rss_bytes
    .slice(skipped)
    .map((bytes, index) => ({ at: Math.min(start + (skipped + index + 1) * stepMs, seenAt), bytes }))
    .filter(({ at, bytes }) => Number.isFinite(at) && Number.isFinite(bytes) && bytes >= 0);
}

function lineThrough(points: readonly Point[]): Line | null {
  const slopes: number[] = [];
  let rising = 0;
  for (const [index, a] of points.entries()) {
    for (const b of points.slice(index + 1)) {
      if (b.at <= a.at) continue;
      slopes.push((b.bytes - a.bytes) / (b.at - a.at));
      rising += Math.sign(b.bytes - a.bytes);
    }
  }
  const end = points.at(-1)?.at;
  if (slopes.length === 0 || end === undefined) return null;
  slopes.sort((a, b) => a - b);
  const slope = quantile(slopes, 0.5);
  const levels = points.map(({ at, bytes }) => bytes + slope * (end - at)).sort((a, b) => a - b);
  const level = quantile(levels, 0.5);
  return {
    slope,
    lower: quantile(slopes, 0.25),
    upper: quantile(slopes, 0.75),
    level,
    below: level - (levels[0] ?? level),
    above: (levels.at(-1) ?? level) - level,
    rising: rising / slopes.length,
  };
}

/** Whether the job grows; strict, because an alarm must seldom be wrong: all conditions must hold. */
function grows(line: Line, recent: readonly Point[], before: readonly Point[]): boolean {
  const first = recent[0];
  const last = recent.at(-1);
  if (first === undefined || last === undefined || !(line.slope > 0) || line.rising < RISING) return false;
  if (line.slope * (last.at - first.at) < LEAST_GROWTH * line.level) return false;
  const half = lineThrough(recent.slice(-Math.ceil(recent.length / 2)));
  if (half === null || half.slope < GOES_ON * line.slope) return false;
  return highest(recent) > highest(before);
}

function highest(points: readonly Point[]): number {
  return points.reduce((most, { bytes }) => Math.max(most, bytes), 0);
}

function timeOf(from: number, nowMs: number, missing: number, slope: number): number | null {
  if (!(slope > 0)) return null;
  const at = Math.max(nowMs, from + Math.max(0, missing) / slope);
  return at - nowMs <= FARTHEST_MS ? at : null;
}

/** The confidence of a trend; it falls if the limit is many times the observed span ahead. */
function confidenceOf(line: Line, recent: readonly Point[], limitAt: number | null): Trend['confidence'] {
  const spread = (line.upper - line.lower) / line.slope;
  const last = recent.at(-1)?.at ?? 0;
  const span = last - (recent[0]?.at ?? 0);
  const ahead = limitAt === null ? 0 : (limitAt - last) / span;
  if (recent.length < WINDOW_POINTS || spread > 1 || line.rising < 0.75 || ahead > 20) return 'low';
  return spread <= 0.25 && ahead <= 4 ? 'high' : 'medium';
}

/** A quantile of sorted values, interpolated between the two nearest. */
function quantile(sorted: readonly number[], share: number): number {
  const place = (sorted.length - 1) * share;
  const below = sorted[Math.floor(place)] ?? 0;
  const above = sorted[Math.ceil(place)] ?? below;
  return below + (above - below) * (place - Math.floor(place));
}
