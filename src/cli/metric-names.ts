import type { MetricSeries } from '../report/metric-series';
import { ALL_FACTS } from '../sampler/figures/job-facts';
import type { StoredSeries } from '../sampler/series/series-table';
import type { Metric } from '../sources/source';
import { usageError } from './command-error';

const METRICS: ReadonlyMap<string, Metric> = new Map(
  ALL_FACTS.flatMap(({ metrics }) => metrics.map((metric) => [metric.name, metric])),
);

/** Names out of "a,b": of metrics, or of sources for all of theirs. Throws a usage error that names the option. */
export function parseMetricNames(option: string, text: string): readonly string[] {
  const names = text.split(',').map((name) => name.trim());
  return names.flatMap((name) => {
    if (METRICS.has(name)) return [name];
    const ofSource = ALL_FACTS.filter((facts) => facts.name === name);
    if (ofSource.length === 0)
      throw usageError(`${option}: "${name}" is neither a metric nor a source; "qmemacct metrics" lists them`);
    return ofSource.flatMap(({ metrics }) => metrics.map((metric) => metric.name));
  });
}

/** Stored series with what the code says of them; in the order of the code. */
export function describeSeries(stored: readonly StoredSeries[]): readonly MetricSeries[] {
  const order = new Map([...METRICS.keys()].map((name, index) => [name, index]));
  const place = (series: StoredSeries): number => order.get(series.metric) ?? order.size;
  return [...stored]
    .sort((a, b) => place(a) - place(b) || a.instance.localeCompare(b.instance, 'en', { numeric: true }))
    .map(({ metric, instance, at, values }) => {
      // A metric that this version no longer has is shown as it is.
      const { unit = 'count', kind = 'gauge' } = METRICS.get(metric) ?? {};
      return { metric, instance, unit, kind, at, values };
    });
}
