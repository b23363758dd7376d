import { escapeJson } from '../format/escape';
import { renderCsvRows, type Cell } from '../records/csv';
import type { Report, Sums } from './report';

const SUMS = [
  'jobs',
  'records',
  'running',
  'core_hours',
  'cpu_hours',
  'cpu_efficiency',
  'requested_gib_hours',
  'limit_gib_hours',
  'used_gib_hours',
  'peak_gib_hours',
  'memory_efficiency',
  'peak_efficiency',
  'waste_gib_hours',
  'waste_slot_hours',
  'waste_jobs',
  'energy_kwh',
  'energy_coverage',
  'failed',
  'failed_core_hours',
  'killed_by_memory',
  'above_request',
  'far_below',
  'unsampled',
  'without_limit',
  'without_peak',
  'with_grid_engine',
  'requested_with_grid_engine_gib_hours',
  'grid_engine_gib_hours',
  'without_used',
] as const satisfies readonly (keyof Sums)[];

/** Fails to compile where a sum has no column. */
export type EverySumIsListed = Listed<Exclude<keyof Sums, (typeof SUMS)[number]>>;
type Listed<Missing extends never> = Missing;

const rounded = (value: number | null): number | null =>
  value === null || Number.isInteger(value) ? value : Number(value.toPrecision(9));

/** A line per group, the largest waste first, the head always; the names of the columns are those of the JSON. */
export function renderReportCsv(report: Report): string {
  const { since, until } = report.period;
  const rows = report.groups.map(({ name, sums }): Cell[] => [
    since,
    until,
    name,
    ...SUMS.map((field) => rounded(sums[field])),
  ]);
  return renderCsvRows([['since', 'until', report.by, ...SUMS], ...rows]);
}

/** The report as it stands in `Report` (schema 1). */
export function renderReportJson(report: Report): string {
  return `${escapeJson(JSON.stringify(report, null, 1))}\n`;
}
