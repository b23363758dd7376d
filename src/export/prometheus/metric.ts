/** A value, with the values of its metric's labels in their order. */
export interface Sample {
  readonly labels: readonly string[];
  readonly value: number;
  /** When it was read, ms since the epoch; left out: now. */
  readonly at?: number;
}

/** The description of a metric, for /metrics, the text file of a node, the reference and dashboards. */
export interface MetricHelp {
  /** The full name: `qmemacct_host_memory_bytes`. */
  readonly name: string;
  readonly type: 'gauge' | 'counter';
  /** Base unit; empty: a count. */
  readonly unit: string;
  readonly help: string;
  readonly labels: readonly string[];
}

/** A metric and where its samples come from. */
export interface ExportedMetric<S> extends MetricHelp {
  readonly samples: (source: S) => readonly Sample[];
}

/** A figure for each item of a family. */
export interface Figure<T> {
  readonly name: string;
  readonly unit: string;
  readonly help: string;
  /** null: not known. */
  readonly value: (item: T) => number | null;
}

/** Makes figures in a unit, with which their names end; empty: counts. */
export const figuresIn =
  (unit: string) =>
  <T>(name: string, help: string, value: Figure<T>['value']): Figure<T> => ({
    name: unit === '' ? name : `${name}_${unit}`,
    unit,
    help,
    value,
  });

interface Family<S, T> {
  /** Prefix of the figures' names: `host`. */
  readonly name: string;
  readonly labels: readonly string[];
  readonly items: (source: S) => readonly T[];
  readonly labelsOf: (item: T) => readonly string[];
  readonly figures: readonly Figure<T>[];
}

/** Makes gauges for the same items: hosts, owners ... */
export function family<S, T>({ name, labels, items, labelsOf, figures }: Family<S, T>): readonly ExportedMetric<S>[] {
  return figures.map((figure) => ({
    name: `qmemacct_${name}_${figure.name}`,
    type: 'gauge',
    unit: figure.unit,
    help: figure.help,
    labels,
    samples: (source) =>
      items(source).flatMap((item) => {
        const value = figure.value(item);
        return value === null ? [] : [{ labels: labelsOf(item), value }];
      }),
  }));
}

/** Makes a metric with a single value and no labels. */
export function single<S>(
  name: string,
  { type = 'gauge', unit = '' }: { readonly type?: MetricHelp['type']; readonly unit?: string },
  help: string,
  value: (source: S) => number | null,
): ExportedMetric<S> {
  const samples = (source: S): readonly Sample[] => {
    const found = value(source);
    return found === null ? [] : [{ labels: [], value: found }];
  };
  return { name: `qmemacct_${name}`, type, unit, help, labels: [], samples };
}

/** A metric's samples, one per set of labels: Prometheus rejects the whole answer if it finds a set twice. */
export function samplesOf<S>({ labels, samples }: ExportedMetric<S>, source: S): readonly Sample[] {
  const found = new Map<string, Sample>();
  for (const sample of samples(source)) {
    const key = JSON.stringify(labels.map((_label, index) => sample.labels[index] ?? ''));
    if (!found.has(key)) found.set(key, sample);
  }
  return [...found.values()];
}

const escapeHelp = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
const escapeLabel = (text: string): string => escapeHelp(text).replaceAll('"', '\\"');

function numberText(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
}

function renderMetric<S>(metric: ExportedMetric<S>, source: S): string {
  const { name, type, help, labels } = metric;
  const lines = samplesOf(metric, source).map((sample) => {
    const pairs = labels.map((label, index) => `${label}="${escapeLabel(sample.labels[index] ?? '')}"`);
    return `${name}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${numberText(sample.value)}\n`;
  });
  return lines.length === 0 ? '' : `# HELP ${name} ${escapeHelp(help)}\n# TYPE ${name} ${type}\n${lines.join('')}`;
}

/** The media type of the text from `renderMetrics`. */
export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** Prometheus' text format. Metrics without a value are left out. */
export function renderMetrics<S>(metrics: readonly ExportedMetric<S>[], source: S): string {
  return metrics.map((metric) => renderMetric(metric, source)).join('');
}
