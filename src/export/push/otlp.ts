import { checkJson, nullable, number, object, refined, string, type Shape } from '../../base/shape';
import { groupBy } from '../../base/group-by';
import type { SinkSettings } from '../../record/export-sinks';
import type { Point } from './point';
import { outcomeOf, printableAnswer, tryPost, type Answer } from './post';
import type { Outcome, Sink } from './sink';

const MOST = 5000;
/** opentelemetry.proto.metrics.v1.AggregationTemporality. */
const CUMULATIVE = 2;

/** Our units in OpenTelemetry's notation (UCUM); a count has none. */
const UCUM: ReadonlyMap<string, string> = new Map([
  ['bytes', 'By'],
  ['bytes_per_second', 'By/s'],
  ['byte_seconds', 'By.s'],
  ['seconds', 's'],
  ['ratio', '1'],
  ['joules', 'J'],
  ['watts', 'W'],
  ['celsius', 'Cel'],
  ['hertz', 'Hz'],
  ['volts', 'V'],
]);

function metricOf(points: readonly Point[]): object {
  const [{ metric: name, type, unit } = { metric: '', type: 'gauge', unit: '' }] = points;
  const dataPoints = points.map(({ labels, value, at }) => ({
    attributes: Object.entries(labels).map(([key, text]) => ({ key, value: { stringValue: text } })),
    timeUnixNano: `${Math.round(at)}000000`,
    asDouble: value,
  }));
  const data =
    type === 'counter'
      ? { sum: { aggregationTemporality: CUMULATIVE, isMonotonic: true, dataPoints } }
      : { gauge: { dataPoints } };
  return { name, unit: UCUM.get(unit) ?? unit, ...data };
}

/** An ExportMetricsServiceRequest in OTLP 1's JSON form. */
function otlpBody(points: readonly Point[]): string {
  const metrics = [...groupBy(points, ({ metric }) => metric).values()].map(metricOf);
  const attributes = [{ key: 'service.name', value: { stringValue: 'qmemacct' } }];
  const scopeMetrics = [{ scope: { name: 'qmemacct' }, metrics }];
  return JSON.stringify({ resourceMetrics: points.length === 0 ? [] : [{ resource: { attributes }, scopeMetrics }] });
}

/** 64-bit integers are strings in protobuf's JSON. */
const count: Shape<number> = {
  ...number(0),
  read: (value) => number(0).read(typeof value === 'string' ? Number(value) : value),
};
const answerShape = object({
  partialSuccess: nullable(
    object({ rejectedDataPoints: nullable(count), errorMessage: nullable(refined(string, printableAnswer)) }),
  ),
});

/** Some servers answer with an empty body: then only the status counts. */
function judge(answer: Answer, points: number): Outcome {
  const outcome = outcomeOf(answer, points);
  const parsed = checkJson(answerShape, answer.text, 'its answer');
  if (outcome.kind !== 'sent' || outcome.refused > 0 || !parsed.ok) return outcome;
  const { partialSuccess: partial } = parsed.value;
  return { kind: 'sent', refused: partial?.rejectedDataPoints ?? 0, reason: partial?.errorMessage ?? '' };
}

/** OpenTelemetry's collector, and other servers that accept metrics by OTLP over HTTP in JSON: `/v1/metrics`. */
export function otlpSink(settings: SinkSettings, patienceMs: number): Sink<Point> {
  const url = new URL(settings.address);
  const posted = { url, type: 'application/json', scheme: 'Bearer', patienceMs } as const;
  return {
    most: MOST,
    send: (points) =>
      tryPost(settings, { ...posted, body: otlpBody(points) }, (answer) => judge(answer, points.length)),
    test: () => tryPost(settings, { ...posted, body: otlpBody([]) }, (answer) => outcomeOf(answer, 0)),
  };
}
