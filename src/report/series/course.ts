import { integer, list, number, object, type ValueOf } from '../../base/shape';
import type { MemorySeries } from '../../record/record';

const STEPS = 120;

/** Memory over time of many runs, each from its start; at each step over the runs that had not ended by then. */
export const courseShape = object(
  {
    runs: integer(0),
    step_seconds: number(0),
    low_bytes: list(number(0)),
    median_bytes: list(number(0)),
    high_bytes: list(number(0)),
    largest_bytes: list(number(0)),
  },
  'memory of several runs over time since their start: at each step the lowest and highest tenth, the median and the largest',
);
export type Course = ValueOf<typeof courseShape>;

/** null: there are fewer than two runs to compare. */
export function courseOf(all: readonly MemorySeries[]): Course | null {
  const runs = all.filter(({ rss_bytes: values, step_seconds: step }) => values.length > 1 && step > 0);
  if (runs.length < 2) return null;
  const seconds = runs.reduce(
    (longest, { rss_bytes: values, step_seconds: step }) => Math.max(longest, values.length * step),
    0,
  );
  const steps = Array.from({ length: STEPS }, (_, index) => {
    const time = (index / STEPS) * seconds;
    return runs
      .flatMap(({ rss_bytes: values, step_seconds: step }) => values[Math.floor(time / step)] ?? [])
      .sort((a, b) => a - b);
  });
  const at = (share: number): readonly number[] =>
    steps.map((sorted) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0);
  return {
    runs: runs.length,
    step_seconds: seconds / STEPS,
    low_bytes: at(0.1),
    median_bytes: at(0.5),
    high_bytes: at(0.9),
    largest_bytes: at(1),
  };
}
