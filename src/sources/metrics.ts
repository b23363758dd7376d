import type { Metric, Reading, Unit } from './source';

type Describe = (
  what: string,
  unit: Unit,
  help: string,
  more?: Partial<Pick<Metric, 'resolution' | 'instance'>>,
) => Metric;

/** Describes the node-wide metrics of one source; their names follow from the source, what is measured and the unit. */
export function nodeMetrics(source: string): { readonly gauge: Describe; readonly counter: Describe } {
  const describe =
    (kind: Metric['kind']): Describe =>
    (what, unit, help, more = {}) => ({
      name: `${source}_${what}${unit === 'count' ? '' : `_${unit}`}`,
      unit,
      kind,
      scope: 'node',
      ...more,
      help,
    });
  return { gauge: describe('gauge'), counter: describe('counter') };
}

export const reading = (metric: Metric, value: number, instance = ''): Reading => ({
  metric: metric.name,
  instance,
  value,
});
