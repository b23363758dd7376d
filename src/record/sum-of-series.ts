import type { MemorySeries } from './record';

/**
 * A part's memory over time, as far as it lived (ms). Infinity: it still lives, and its last value holds as long as any
 * other part has a value; for the values of several parts come at different moments.
 */
export interface PartSeries {
  readonly series: MemorySeries | null;
  readonly to: number;
}

/** What parts held together, by their series: an estimate, from samples, of steps that hold each its highest value. */
interface Together {
  readonly highest: number;
  readonly series: MemorySeries;
}

const MOST_STEPS = 120;

interface Change {
  readonly at: number;
  readonly by: number;
}

interface Course {
  readonly values: readonly number[];
  readonly start: number;
  readonly stepMs: number;
  /** Of its last step, or of the part. */
  readonly end: number;
  readonly lives: boolean;
}

function courseOf({ series, to }: PartSeries): Course | null {
  const start = Date.parse(series?.start ?? '');
  const stepMs = (series?.step_seconds ?? 0) * 1000;
  if (series === null || series.rss_bytes.length === 0 || Number.isNaN(start) || !(stepMs > 0)) return null;
  const end = Math.min(start + series.rss_bytes.length * stepMs, Math.max(to, start + stepMs));
  return { values: series.rss_bytes, start, stepMs, end, lives: to === Infinity };
}

function changesOf({ values, start, stepMs, end, lives }: Course, last: number): readonly Change[] {
  const changes: Change[] = [];
  let before = 0;
  for (const [index, value] of values.entries()) {
    const at = start + index * stepMs;
    if (at >= end) break;
    if (index === 0 || value !== before) changes.push({ at, by: value - before });
    before = value;
  }
  return [...changes, { at: lives ? last : end, by: -before }];
}

/** The series of several parts added up where they overlap; null: none has any. */
export function sumOfSeries(parts: readonly PartSeries[]): Together | null {
  const readable = parts.flatMap((part) => courseOf(part) ?? []);
  const last = readable.reduce((latest, part) => Math.max(latest, part.end), -Infinity);
  const changes = readable.flatMap((part) => changesOf(part, last)).sort((a, b) => a.at - b.at);
  const start = changes[0]?.at;
  const end = changes.at(-1)?.at;
  if (start === undefined || end === undefined || !(end > start)) return null;
  const coarsest = readable.reduce((most, { stepMs }) => Math.max(most, stepMs), 0);
  const stepMs = Math.max(coarsest, (end - start) / MOST_STEPS);
  const steps = Array.from({ length: Math.min(MOST_STEPS, Math.ceil((end - start) / stepMs)) }, () => 0);
  let sum = 0;
  let highest = 0;
  for (const [index, { at, by }] of changes.entries()) {
    sum += by;
    const until = changes[index + 1]?.at ?? end;
    // A moment at which one part ends and another begins is no overlap.
    if (until === at) continue;
    highest = Math.max(highest, sum);
    const last = Math.min(steps.length, Math.ceil((until - start) / stepMs));
    for (let step = Math.floor((at - start) / stepMs); step < last; step++)
      steps[step] = Math.max(steps[step] ?? 0, sum);
  }
  return {
    highest,
    series: { start: new Date(start).toISOString(), step_seconds: stepMs / 1000, rss_bytes: steps.map(Math.round) },
  };
}
