import { escapeJson } from '../escape';
import type { Report } from './report';

/** The report as it stands in `Report` (schema 1). */
export function renderReportJson(report: Report): string {
  return `${escapeJson(JSON.stringify(report, null, 1))}\n`;
}
