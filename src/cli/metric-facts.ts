import type { MetricFacts } from '../report/series/metric-list';
import { ALL_FACTS } from '../sampler/figures/job-facts';

/** The facts about every metric of every source and of whole jobs, from the sources' tables. */
export function metricFacts(): readonly MetricFacts[] {
  return ALL_FACTS.flatMap(({ name: source, reads, interval, enabled, metrics }) =>
    metrics.map(({ name, unit, kind, scope, instance, help }) => ({
      name,
      unit,
      kind,
      scope,
      instance: instance ?? null,
      source,
      reads,
      interval,
      enabled,
      help,
    })),
  );
}
