import { jobNetwork } from '../../sources/job/network';
import { isUnavailable, THIS_MACHINE, type OpenProcessSource } from '../../sources/source';
import { chooseSource } from '../source-settings';
import { pidsOf, type FigurePart, type PartContext } from './part';

/** Traffic of a job that has a network namespace of its own. */
export function networkFigures({ settings, series, begunMs, before }: PartContext): FigurePart | null {
  const { enabled, intervalMs, options } = chooseSource(jobNetwork, settings);
  if (!enabled) return null;
  let opened: OpenProcessSource | null = null;
  series.know(jobNetwork.metrics);
  const resumes = jobNetwork.metrics.some(({ name }) => Object.hasOwn(before, name));
  let dueMs = resumes ? begunMs : begunMs + intervalMs;
  /** The largest value of each counter: a namespace takes its counters with it. */
  const largest = new Map<string, number>();
  /** Counters at our first reading, if a predecessor counted before us (else empty); null: no reading yet. */
  let first: ReadonlyMap<string, number> | null = resumes ? null : new Map();

  return {
    look: ({ atMs, nowMs, readings }) => {
      if (nowMs < dueMs || readings.counters.size === 0) return;
      dueMs = nowMs + intervalMs;
      if (opened === null) {
        const source = jobNetwork.open({ ...THIS_MACHINE, options });
        if (isUnavailable(source)) {
          dueMs = Infinity;
          return;
        }
        opened = source;
      }
      const values = opened.read(pidsOf(readings));
      if (isUnavailable(values)) return;
      series.add(jobNetwork.name, atMs, values);
      for (const { metric, instance, value } of values) {
        const key = `${metric} ${instance}`;
        largest.set(key, Math.max(largest.get(key) ?? 0, value));
      }
      first ??= new Map(largest);
    },
    metrics: () => {
      const sums: Record<string, number> = {};
      for (const [key, value] of largest) {
        const metric = key.slice(0, key.indexOf(' '));
        sums[metric] = (sums[metric] ?? 0) + value - (first?.get(key) ?? 0);
      }
      return sums;
    },
    notes: () => [],
    close: () => opened?.close(),
  };
}
