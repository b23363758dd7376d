import { list, map, number, object, oneOf, string, type ValueOf } from '../../base/shape';
import { samplesOf, type ExportedMetric, type MetricHelp, type Sample } from '../prometheus/metric';

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

/** What is the same for all points of a round; `at`: of those that were not read at a time of their own. */
interface PointFrame {
  readonly labels: Readonly<Record<string, string>>;
  readonly at: number;
}

function pointOf(
  { name, type, unit, labels }: MetricHelp,
  { labels: values, value, at }: Sample,
  frame: PointFrame,
): Point {
  const own = Object.fromEntries(labels.map((label, index) => [label, values[index] ?? '']));
  // Labels of the site come first; those of the metric itself win. A text has no -0.
  return { metric: name, type, unit, labels: { ...frame.labels, ...own }, value: value + 0, at: at ?? frame.at };
}

const isNumber = ({ value }: Point): boolean => Number.isFinite(value);

/** The values of some metrics. What is no number is left out. */
export function pointsOf<S>(metrics: readonly ExportedMetric<S>[], source: S, frame: PointFrame): readonly Point[] {
  return metrics
    .flatMap((metric) => samplesOf(metric, source).map((sample) => pointOf(metric, sample, frame)))
    .filter(isNumber);
}

const LINE = /^([a-z0-9_]+)(?:\{(.*)\})? (\S+)$/s;
const PAIR = /[a-z0-9_]+="((?:[^"\\]|\\.)*)"(?:,|$)/gs;
const UNESCAPED: Readonly<Record<string, string>> = { n: '\n' };

const unescape = (text: string): string =>
  text.replace(/\\(.)/gs, (_pair, escaped: string) => UNESCAPED[escaped] ?? escaped);

/** The same out of what `renderMetrics` has made of these metrics. */
export function pointsOfText(text: string, metrics: readonly MetricHelp[], frame: PointFrame): readonly Point[] {
  const known = new Map(metrics.map((metric) => [metric.name, metric]));
  const points = text.split('\n').flatMap((line) => {
    const [, name = '', pairs = '', value = ''] = LINE.exec(line) ?? [];
    const metric = known.get(name);
    if (metric === undefined) return [];
    const labels = [...pairs.matchAll(PAIR)].map(([, quoted = '']) => unescape(quoted));
    return [pointOf(metric, { labels, value: Number(value) }, frame)];
  });
  return points.filter(isNumber);
}
