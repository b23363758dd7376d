/** One metric of one instance over time, in the metric's unit; times in ms since the epoch, ascending. */
export interface MetricSeries {
  readonly metric: string;
  /** Empty where the metric has one value only. */
  readonly instance: string;
  readonly unit: string;
  readonly kind: 'gauge' | 'counter';
  readonly at: readonly number[];
  readonly values: readonly number[];
}

/** What a person wants to see of a series: a gauge as it is, a counter as its rate per second. */
export interface Readable {
  readonly at: readonly number[];
  readonly values: readonly number[];
  /** Each value counts from this time to its own. */
  readonly since: readonly number[];
}

/**
 * Without the last reading but one if the last one follows it at once: the job ended, and what is known only then (CPU
 * time of exit records) is no rate of that moment.
 */
function withoutMoment({ at, values }: MetricSeries): Pick<MetricSeries, 'at' | 'values'> {
  const [before, previous, last] = at.slice(-3);
  if (before === undefined || previous === undefined || last === undefined) return { at, values };
  if (last - previous >= (previous - before) / 2) return { at, values };
  return { at: at.toSpliced(-2, 1), values: values.toSpliced(-2, 1) };
}

/** A counter's rate over each interval, at the interval's end; none for an interval in which the counter was reset. */
function toRate(series: MetricSeries): Readable {
  const { at, values } = withoutMoment(series);
  const rates = values.flatMap((value, index) => {
    const before = values[index - 1];
    const seconds = ((at[index] ?? 0) - (at[index - 1] ?? 0)) / 1000;
    return before === undefined || value < before || seconds <= 0 ? [] : [{ index, rate: (value - before) / seconds }];
  });
  return {
    at: rates.map(({ index }) => at[index] ?? 0),
    values: rates.map(({ rate }) => rate),
    since: rates.map(({ index }) => at[index - 1] ?? 0),
  };
}

export function toReadable(series: MetricSeries): Readable {
  const { kind, at, values } = series;
  return kind === 'counter' ? toRate(series) : { at, values, since: at.map((time, index) => at[index - 1] ?? time) };
}

export interface Summary {
  readonly latest: number;
  readonly mean: number;
  readonly max: number;
}

/** Latest, mean and largest value (of a counter: rate); null: no values. Each value counts for the time before it. */
export function summarize(series: MetricSeries): Summary | null {
  const { at, values, since } = toReadable(series);
  const latest = values[values.length - 1];
  if (latest === undefined) return null;
  let sum = 0;
  let weights = 0;
  let max = -Infinity;
  for (const [index, value] of values.entries()) {
    const weight = Math.max(1, (at[index] ?? 0) - (since[index] ?? 0));
    sum += value * weight;
    weights += weight;
    max = Math.max(max, value);
  }
  return { latest, mean: sum / weights, max };
}

/** At most `steps` steps of equal length: each holds the largest value in it, or the last one before it. */
export function resample(
  { at, values }: Pick<Readable, 'at' | 'values'>,
  steps: number,
): { values: readonly number[]; stepSeconds: number } {
  const first = at[0] ?? 0;
  const span = (at[at.length - 1] ?? first) - first;
  const count = Math.max(1, Math.min(steps, at.length));
  const largest = new Array<number | null>(count).fill(null);
  for (const [index, value] of values.entries()) {
    const step = span === 0 ? 0 : Math.min(count - 1, Math.floor((((at[index] ?? first) - first) / span) * count));
    largest[step] = Math.max(largest[step] ?? -Infinity, value);
  }
  let last = 0;
  return { values: largest.map((value) => (last = value ?? last)), stepSeconds: span / 1000 / count };
}
