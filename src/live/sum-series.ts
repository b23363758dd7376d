import type { MemorySeries } from '../sampler/record';

/** Records keep 120 steps; the bound keeps hostile ones cheap. */
const MOST_STEPS = 240;

/**
 * Memory of several processes trees of one host as one series: at the longest step of theirs, a series that has ended
 * keeps its last value. Unreadable ones are left out; null: none is left.
 */
export function sumSeries(series: readonly (MemorySeries | null)[]): MemorySeries | null {
  const readable = series.flatMap((one) => {
    const start = Date.parse(one?.start ?? '');
    return one === null || Number.isNaN(start) || !(one.step_seconds > 0) || one.rss_bytes.length === 0
      ? []
      : [{ series: one, start, stepMs: one.step_seconds * 1000 }];
  });
  const [first, ...others] = readable;
  if (first === undefined) return null;
  if (others.length === 0) return first.series;
  const start = Math.min(...readable.map((one) => one.start));
  const stepMs = Math.max(...readable.map((one) => one.stepMs));
  const end = Math.max(...readable.map((one) => one.start + one.series.rss_bytes.length * one.stepMs));
  const steps = Math.min(MOST_STEPS, Math.max(1, Math.ceil((end - start) / stepMs)));
  const sums = Array.from({ length: steps }, (_, step) => {
    const from = start + step * stepMs;
    return readable.reduce((sum, one) => sum + largestIn(one, from, from + stepMs), 0);
  });
  return { start: new Date(start).toISOString(), step_seconds: stepMs / 1000, rss_bytes: sums };
}

interface Readable {
  readonly series: MemorySeries;
  readonly start: number;
  readonly stepMs: number;
}

/** Of the steps that begin in [from, until); where none does, of the step that `until` lies in. */
function largestIn({ series: { rss_bytes: values }, start, stepMs }: Readable, from: number, until: number): number {
  if (until <= start) return 0;
  const last = Math.min(values.length, Math.ceil((until - start) / stepMs)) - 1;
  const first = Math.min(last, Math.max(0, Math.ceil((from - start) / stepMs)));
  return values.slice(first, last + 1).reduce((a, b) => Math.max(a, b), 0);
}
