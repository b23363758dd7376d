import { escapeJson } from '../format/escape';
import { cellText, type Cell } from '../records/csv';
import type { MetricSeries } from './metric-series';

/** Columns that are the same in every row of some series: the job, the host. */
export type SeriesContext = readonly (readonly [column: string, value: Cell])[];

export interface SeriesOf {
  readonly context: SeriesContext;
  readonly series: readonly MetricSeries[];
}

const iso = (ms: number): string => new Date(ms).toISOString();

/** CSV with one line per value, and always a header. */
export function renderSeriesCsv(all: readonly SeriesOf[], contextColumns: readonly string[]): string {
  const lines = [[...contextColumns, 'metric', 'instance', 'unit', 'kind', 'at', 'value'].join(',')];
  for (const { context, series } of all)
    for (const { metric, instance, unit, kind, at, values } of series) {
      const start = [...context.map(([, cell]) => cell), metric, instance, unit, kind].map(cellText).join(',');
      for (const [index, value] of values.entries()) lines.push(`${start},${iso(at[index] ?? 0)},${value}`);
    }
  return lines.map((line) => `${line}\n`).join('');
}

/** `{"schema":1,...head,"series":[...]}`, one series a line, its values beside their times. */
export function renderSeriesJson(all: readonly SeriesOf[], head: Readonly<Record<string, unknown>> = {}): string {
  const lines = all.flatMap(({ context, series }) =>
    series.map(({ at, values, ...one }) =>
      escapeJson(JSON.stringify({ ...Object.fromEntries(context), ...one, at: at.map(iso), values })),
    ),
  );
  const start = escapeJson(JSON.stringify({ schema: 1, ...head })).slice(0, -1);
  return `${start},"series":[${lines.length === 0 ? '' : `\n${lines.join(',\n')}\n`}]}\n`;
}
