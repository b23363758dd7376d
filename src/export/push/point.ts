import { list, map, number, object, oneOf, string, type ValueOf } from '../../base/shape';
import { samplesOf, type ExportedMetric, type MetricHelp } from '../prometheus/metric';

/** A value of a metric at a time. */
const pointShape = object({
  /** As Prometheus has it: `qmemacct_node_meminfo_used_bytes`. */
  metric: string,
  type: oneOf(['gauge', 'counter']),
  /** Base unit; empty: a number of things. */
  unit: string,
  labels: map(string),
  value: number(),
  /** ms since the epoch. */
  at: number(),
});
export type Point = ValueOf<typeof pointShape>;

export const pointsShape = list(pointShape, Infinity);

/** What is the same for all points of a round. */
interface PointFrame {
  readonly labels: Readonly<Record<string, string>>;
  readonly at: number;
}

function pointOf(
  { name, type, unit, labels }: MetricHelp,
  values: readonly string[],
  value: number,
): Omit<Point, 'at'> {
  return {
    metric: name,
    type,
    unit,
    labels: Object.fromEntries(labels.map((label, index) => [label, values[index] ?? ''])),
    value,
  };
}

/** Labels of the site come first; those of the metric itself win. */
function framed(points: readonly Omit<Point, 'at'>[], { labels, at }: PointFrame): readonly Point[] {
  return (
    points
      .filter(({ value }) => Number.isFinite(value))
      // A text has no -0.
      .map((point) => ({ ...point, labels: { ...labels, ...point.labels }, value: point.value + 0, at }))
  );
}

/** The values of some metrics. What is no number is left out. */
export function pointsOf<S>(metrics: readonly ExportedMetric<S>[], source: S, frame: PointFrame): readonly Point[] {
  return framed(
    metrics.flatMap((metric) => samplesOf(metric, source).map(({ labels, value }) => pointOf(metric, labels, value))),
    frame,
  );
}

const LINE = /^([a-z0-9_]+)(?:\{(.*)\})? (\S+)$/s;
const PAIR = /[a-z0-9_]+="((?:[^"\\]|\\.)*)"(?:,|$)/gs;
const UNESCAPED: Readonly<Record<string, string>> = { n: '\n' };

const unescape = (text: string): string =>
  text.replace(/\\(.)/gs, (_pair, escaped: string) => UNESCAPED[escaped] ?? escaped);

/** The same out of what `renderMetrics` has made of these metrics. */
export function pointsOfText(text: string, metrics: readonly MetricHelp[], frame: PointFrame): readonly Point[] {
  const known = new Map(metrics.map((metric) => [metric.name, metric]));
  return framed(
    text.split('\n').flatMap((line) => {
      const [, name = '', labels = '', value = ''] = LINE.exec(line) ?? [];
      const metric = known.get(name);
      if (metric === undefined) return [];
      return [
        pointOf(
          metric,
          [...labels.matchAll(PAIR)].map(([, quoted = '']) => unescape(quoted)),
          Number(value),
        ),
      ];
    }),
    frame,
  );
}
