import type { MemorySeries } from '../sampler/record';

/** A part's memory over time, as far as it lived (ms). */
export interface PartSeries {
  readonly series: MemorySeries | null;
  readonly to: number;
}

/** What parts held together, by their series: an estimate, from samples, of steps that hold each its highest value. */
export interface Together {
  readonly highest: number;
  readonly series: MemorySeries;
}

const MOST_STEPS = 120;

interface Change {
  readonly at: number;
  readonly by: number;
}

function changesOf({ series, to }: PartSeries): readonly Change[] {
  const start = Date.parse(series?.start ?? '');
  const stepMs = (series?.step_seconds ?? 0) * 1000;
  if (series === null || Number.isNaN(start) || !(stepMs > 0)) return [];
  const end = Math.min(start + series.rss_bytes.length * stepMs, Math.max(to, start + stepMs));
  const changes: Change[] = [];
  let before = 0;
  for (const [index, value] of series.rss_bytes.entries()) {
    const at = start + index * stepMs;
    if (at >= end) break;
    if (value !== before) changes.push({ at, by: value - before });
    before = value;
  }
  return [...changes, { at: end, by: -before }];
}

/** The series of several parts added up where they overlap; null: none has any. */
export function sumOfSeries(parts: readonly PartSeries[]): Together | null {
  const changes = parts.flatMap(changesOf).sort((a, b) => a.at - b.at);
  const start = changes[0]?.at;
  const end = changes.at(-1)?.at;
  if (start === undefined || end === undefined || !(end > start)) return null;
  const coarsest = parts.reduce((most, { series }) => Math.max(most, (series?.step_seconds ?? 0) * 1000), 0);
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
