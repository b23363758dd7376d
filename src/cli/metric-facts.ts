import type { MetricFacts } from '../report/series/metric-list';
import { ALL_FACTS } from '../sampler/figures/job-facts';
import type { SourceFacts } from '../sources/source';

/** The facts about every metric of every source and of whole jobs, from the sources' tables. */
export function metricFacts(sources: readonly SourceFacts[] = ALL_FACTS): readonly MetricFacts[] {
  return sources.flatMap(({ name: source, reads, interval, enabled, metrics }) =>
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
