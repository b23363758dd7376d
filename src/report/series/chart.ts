import { largestFirst } from '../../base/largest-first';
import { renderCurve } from '../screen/chart';
import { resample, summarize, toReadable, type MetricSeries } from './metric-series';
import { formatQuantity, formatRate, unitOfMetric } from '../format/quantity';
import type { Screen } from '../screen/screen';

const STEPS = 240;
const MOST_CHARTS = 6;

/** A value of a series (of a counter: its rate) for people. */
export function formatValue(series: Pick<MetricSeries, 'metric' | 'kind'>, value: number, screen: Screen): string {
  const unit = unitOfMetric(series.metric);
  return series.kind === 'counter'
    ? formatRate(value, unit, screen.glyphs)
    : formatQuantity(value, unit, screen.glyphs);
}

/** "netdev_received_bytes eth0". */
export function seriesName({ metric, instance }: MetricSeries, screen: Screen): string {
  return instance === '' ? metric : `${metric} ${screen.safe(instance)}`;
}

/** One chart per instance, those with the highest values first; says how many more there are. */
export function renderSeriesCharts(all: readonly MetricSeries[], width: number, screen: Screen): string[] {
  const ordered = largestFirst(all, (series) => summarize(series)?.max ?? -Infinity);
  const lines = ordered.slice(0, MOST_CHARTS).flatMap((series, index) => {
    const { values, stepSeconds } = resample(toReadable(series), STEPS);
    const chart = renderCurve(
      { values, stepSeconds, format: (value) => formatValue(series, value, screen) },
      null,
      width,
      screen,
    );
    const title = screen.style.title(seriesName(series, screen));
    return [...(index === 0 ? [] : ['']), title, ...(chart.length === 0 ? [nothingToDraw(series, screen)] : chart)];
  });
  const more = ordered.length - MOST_CHARTS;
  return more > 0 ? [...lines, '', screen.style.faint(`and ${more} more instances: --csv has them all`)] : lines;
}

function nothingToDraw(series: MetricSeries, screen: Screen): string {
  const summary = summarize(series);
  return summary === null ? 'too few readings to draw' : `${formatValue(series, summary.max, screen)} at most`;
}
