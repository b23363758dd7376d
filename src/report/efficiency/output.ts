import { escapeJson } from '../format/escape';
import { renderCsvRows, type Cell } from '../records/csv';
import type { Report } from './report';
import type { Sums } from './sums';

const rounded = (value: number | null): number | null =>
  value === null || Number.isInteger(value) ? value : Number(value.toPrecision(9));

/** CSV with a line per group, the largest waste first, and always a header; columns are named as in the JSON. */
export function renderReportCsv(report: Report): string {
  const { since, until } = report.period;
  const names = Object.keys(report.site) as (keyof Sums)[];
  const rows = report.groups.map(({ name: group, sums }): Cell[] => [
    since,
    until,
    group,
    ...names.map((name) => rounded(sums[name])),
  ]);
  return renderCsvRows([['since', 'until', report.by, ...names], ...rows]);
}

/** The report as it stands in `Report` (schema 1). */
export function renderReportJson(report: Report): string {
  return `${escapeJson(JSON.stringify(report, null, 1))}\n`;
}
