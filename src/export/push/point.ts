import { list, map, number, object, oneOf, string, type ValueOf } from '../../base/shape';
import { samplesOf, type ExportedMetric, type MetricHelp, type Sample } from '../prometheus/metric';

/** A metric's value at one time. */
const pointShape = object({
  /** The name in Prometheus: `qmemacct_node_meminfo_used_bytes`. */
  metric: string,
  type: oneOf(['gauge', 'counter']),
  /** Base unit; empty: a count. */
  unit: string,
  labels: map(string),
  value: number(),
  /** ms since the epoch. */
  at: number(),
});
export type Point = ValueOf<typeof pointShape>;

export const pointsShape = list(pointShape);

/** Common to all points of a round; `at`: the time (ms) of points that have none of their own. */
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
  // The site's labels come first, but the metric's own take precedence. Adding 0 turns -0, which texts lack, into 0.
  return { metric: name, type, unit, labels: { ...frame.labels, ...own }, value: value + 0, at: at ?? frame.at };
}

const isNumber = ({ value }: Point): boolean => Number.isFinite(value);

/** The points of some metrics; values that are not finite numbers are left out. */
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

/** Like `pointsOf`, from the text that `renderMetrics` made of these metrics. */
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
