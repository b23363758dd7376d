import { ALL_FACTS } from './job-facts';
import type { JobMetrics } from './part';

const COUNTERS: ReadonlySet<string> = new Set(
  ALL_FACTS.flatMap(({ metrics }) => metrics.filter(({ kind }) => kind === 'counter').map(({ name }) => name)),
);

const own = (metrics: JobMetrics, name: string): number | undefined =>
  Object.hasOwn(metrics, name) ? metrics[name] : undefined;

/**
 * Metrics of a job that two processes have watched one after the other: what was counted adds up, of peaks the higher
 * one stands; those in `absolute` are the kernel's own totals, and the later ones hold.
 */
export function withEarlierMetrics(
  metrics: JobMetrics,
  earlier: JobMetrics,
  absolute: ReadonlySet<string>,
): JobMetrics {
  const names = new Set([...Object.keys(earlier), ...Object.keys(metrics)]);
  return Object.fromEntries(
    [...names].map((name): [string, number] => {
      const before = own(earlier, name);
      const now = own(metrics, name);
      if (before === undefined) return [name, now as number];
      if (now === undefined) return [name, before];
      if (absolute.has(name)) return [name, now];
      return [name, COUNTERS.has(name) ? before + now : Math.max(before, now)];
    }),
  );
}
