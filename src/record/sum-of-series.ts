import type { MemorySeries } from './record';
import { seriesValues } from './series-values';

/**
 * A part's memory over time, and when the part ended (ms). Infinity: it still lives, and its last value holds as long
 * as any other part has values, since the parts' values come at different moments.
 */
export interface PartSeries {
  readonly series: MemorySeries | null;
  readonly to: number;
}

/** What the parts held together: an estimate, since series have only the highest sample of each step. */
interface Together {
  readonly highest: number;
  readonly series: MemorySeries;
}

const MOST_STEPS = 120;

interface Change {
  readonly at: number;
  readonly by: number;
}

/** A series and its times, in ms. */
interface Course {
  readonly series: MemorySeries;
  readonly start: number;
  readonly stepMs: number;
  /** Of its last step, or of the part if that ended before. */
  readonly end: number;
  readonly lives: boolean;
}

/** The equal steps in which all parts are added up. */
interface Steps {
  readonly start: number;
  readonly end: number;
  readonly stepMs: number;
  readonly count: number;
}

function courseOf({ series, to }: PartSeries): Course | null {
  const start = Date.parse(series?.start ?? '');
  const stepMs = (series?.step_seconds ?? 0) * 1000;
  if (series === null || series.rss_bytes.length === 0 || Number.isNaN(start) || !(stepMs > 0)) return null;
  const end = Math.min(start + series.rss_bytes.length * stepMs, Math.max(to, start + stepMs));
  return { series, start, stepMs, end, lives: to === Infinity };
}

function changesOf(values: readonly number[], { start, stepMs, end, lives }: Course, last: number): readonly Change[] {
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

/** Adds up one series (`valuesOf`) of all parts; `highest`: the highest sum at any moment, also within a step. */
function addUp(
  courses: readonly Course[],
  { start, end, stepMs, count }: Steps,
  valuesOf: (series: MemorySeries) => readonly number[],
): { readonly highest: number; readonly values: readonly number[] } {
  const changes = courses
    .flatMap((course) => changesOf(valuesOf(course.series), course, end))
    .sort((a, b) => a.at - b.at);
  const values = Array.from({ length: count }, () => 0);
  let sum = 0;
  let highest = 0;
  for (const [index, { at, by }] of changes.entries()) {
    sum += by;
    const until = changes[index + 1]?.at ?? end;
    // A moment at which one part ends and another begins is no overlap.
    if (until === at) continue;
    highest = Math.max(highest, sum);
    const last = Math.min(count, Math.ceil((until - start) / stepMs));
    for (let step = Math.floor((at - start) / stepMs); step < last; step++)
      values[step] = Math.max(values[step] ?? 0, sum);
  }
  return { highest, values };
}

/** The series of several parts added up where they overlap; null: none has any. */
export function sumOfSeries(parts: readonly PartSeries[]): Together | null {
  const courses = parts.flatMap((part) => courseOf(part) ?? []);
  const start = courses.reduce((first, course) => Math.min(first, course.start), Infinity);
  const end = courses.reduce((latest, course) => Math.max(latest, course.end), -Infinity);
  if (!(end > start)) return null;
  const coarsest = courses.reduce((most, { stepMs }) => Math.max(most, stepMs), 0);
  const stepMs = Math.max(coarsest, (end - start) / MOST_STEPS);
  const steps = { start, end, stepMs, count: Math.min(MOST_STEPS, Math.ceil((end - start) / stepMs)) };
  const memory = addUp(courses, steps, ({ rss_bytes: values }) => values);
  const names = new Set(courses.flatMap(({ series }) => Object.keys(series.others)));
  const others = [...names].map((name) => {
    const { values } = addUp(courses, steps, (series) => seriesValues(series, name));
    // Adding and subtracting again leaves rounding errors.
    return [name, values.map((value) => Math.max(0, Math.round(value * 100) / 100))] as const;
  });
  return {
    highest: memory.highest,
    series: {
      start: new Date(start).toISOString(),
      step_seconds: stepMs / 1000,
      rss_bytes: memory.values.map(Math.round),
      others: Object.fromEntries(others),
    },
  };
}
