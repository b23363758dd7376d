/** Memory over time in at most MOST_STEPS steps of equal length: each holds the largest sum seen in it. */
export interface Series {
  startMs: number;
  stepMs: number;
  values: number[];
}

const MOST_STEPS = 120;
const FIRST_STEP_MS = 50;

export function newSeries(startMs: number): Series {
  return { startMs, stepMs: FIRST_STEP_MS, values: [] };
}

/** Adds one sum (bytes) seen at `atMs`; steps double in length when the series is full. */
export function addToSeries(series: Series, atMs: number, bytes: number): void {
  let index = Math.max(0, Math.floor((atMs - series.startMs) / series.stepMs));
  while (index >= MOST_STEPS) {
    const halved: number[] = [];
    for (let i = 0; i < series.values.length; i += 2)
      halved.push(Math.max(series.values[i] ?? -1, series.values[i + 1] ?? -1));
    series.values = halved;
    series.stepMs *= 2;
    index = Math.floor((atMs - series.startMs) / series.stepMs);
  }
  while (series.values.length <= index) series.values.push(-1);
  series.values[index] = Math.max(series.values[index] ?? -1, bytes);
}

/** Steps without a sample take the value before them. */
export function filled(series: Series): readonly number[] {
  let last = 0;
  return series.values.map((value) => (last = value < 0 ? last : value));
}
