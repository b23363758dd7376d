import { PanelBuilder as BarGauge } from '@grafana/grafana-foundation-sdk/bargauge';
import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import {
  BarGaugeDisplayMode,
  BarGaugeValueMode,
  ReduceDataOptionsBuilder,
  VizOrientation,
} from '@grafana/grafana-foundation-sdk/common';
import type { Panel as BuiltPanel } from '@grafana/grafana-foundation-sdk/dashboard';
import { DataqueryBuilder } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder as Stat } from '@grafana/grafana-foundation-sdk/stat';
import { PanelBuilder as TimeSeries } from '@grafana/grafana-foundation-sdk/timeseries';
import { metricFacts } from '../../src/cli/metric-facts';
import type { MetricHelp } from '../../src/export/prometheus/metric';
import { nodeMetrics } from '../../src/export/prometheus/node-metrics';
import { SERVER_METRICS } from '../../src/export/prometheus/server-metrics';

/** A question of an admin, and the queries that answer it. */
export interface Panel {
  /** The latest value; values over time; the largest now. */
  readonly kind: 'number' | 'graph' | 'ranking';
  readonly title: string;
  /** By the legend of their lines. */
  readonly queries: Readonly<Record<string, string>>;
  /** The unit of the result, where a query changes that of its metrics. */
  readonly unit?: string;
}

/** The data source that the dashboard's variable names. */
export const SOURCE = { type: 'prometheus', uid: '${datasource}' } as const;

const METRICS = new Map<string, MetricHelp>(
  [...SERVER_METRICS, ...nodeMetrics(metricFacts())].map((metric) => [metric.name, metric]),
);

/** Lines of a ranking. */
const RANKED = 15;

const BYTE_SECONDS = 'byte_seconds';

/** Grafana's names of our units. It has none for memory over time. */
const UNITS: ReadonlyMap<string, string> = new Map([
  ['', 'none'],
  ['bytes', 'bytes'],
  ['bytes_per_second', 'binBps'],
  ['per_second', 'suffix: /s'],
  ['ratio', 'percentunit'],
  ['seconds', 's'],
  [BYTE_SECONDS, 'suffix: GiB·h'],
]);

function metricsOf({ title, queries }: Panel): readonly MetricHelp[] {
  const names = Object.values(queries).flatMap((query) => query.match(/\bqmemacct_\w+/g) ?? []);
  return [...new Set(names)].map((name) => {
    const metric = METRICS.get(name);
    if (metric === undefined) throw new Error(`${title}: ${name} is no metric`);
    return metric;
  });
}

function unitOf(panel: Panel): string {
  const [unit, ...others] = new Set(metricsOf(panel).map((metric) => metric.unit));
  const given = panel.unit ?? (others.length === 0 ? unit : undefined);
  if (given === undefined) throw new Error(`${panel.title}: its metrics have no unit in common`);
  return given;
}

function expressionOf(panel: Panel, query: string): string {
  const value = unitOf(panel) === BYTE_SECONDS ? `${query} / 2^30 / 3600` : query;
  return panel.kind === 'ranking' ? `sort_desc(topk(${RANKED}, ${value}))` : value;
}

function targetsOf(panel: Panel): DataqueryBuilder[] {
  return Object.entries(panel.queries).map(([legend, query], index) => {
    const refId = String.fromCharCode('A'.charCodeAt(0) + index);
    const target = new DataqueryBuilder().refId(refId).datasource(SOURCE).legendFormat(legend);
    target.expr(expressionOf(panel, query));
    // Over a range, a number would be the last one before its series ended, however long ago.
    return panel.kind === 'graph' ? target.range() : target.instant();
  });
}

const latest = (): ReduceDataOptionsBuilder => new ReduceDataOptionsBuilder().calcs(['lastNotNull']);
const graph = (): TimeSeries => new TimeSeries().span(12).height(8).min(0).fillOpacity(10);
const number = (): Stat => new Stat().span(6).height(4).reduceOptions(latest());
const ranking = (): BarGauge =>
  new BarGauge()
    .span(12)
    .height(10)
    .min(0)
    .reduceOptions(latest())
    .orientation(VizOrientation.Horizontal)
    .displayMode(BarGaugeDisplayMode.Basic)
    .valueMode(BarGaugeValueMode.Text);

/** The panel for Grafana; its description is the meaning of its metrics. Throws for an unknown metric. */
export function builtPanel(panel: Panel, id: number): Builder<BuiltPanel> {
  const unit = UNITS.get(unitOf(panel));
  if (unit === undefined) throw new Error(`${panel.title}: Grafana has no unit ${unitOf(panel)}`);
  const builder = { graph, number, ranking }[panel.kind]();
  return builder
    .id(id)
    .title(panel.title)
    .description(
      metricsOf(panel)
        .map(({ name, help }) => `${name}: ${help}.`)
        .join('\n\n'),
    )
    .datasource(SOURCE)
    .unit(unit)
    .targets(targetsOf(panel));
}
