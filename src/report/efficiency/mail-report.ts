import { mailScreen } from '../screen/screen';
import { countText, formatPercent } from '../format/units';
import { renderReportHtml } from './html/page';
import { renderReportJson } from './output';
import type { Report } from './report';
import { renderReport } from './text';

/** A report as a mail carries it. */
export interface MailReport {
  readonly text: string;
  readonly html: string;
  readonly json: string;
  /** "1,234 jobs, 41 % of requested memory used at the peak": for a subject. */
  readonly headline: string;
  /** The owners who had jobs, if the report is by owner, else none. */
  readonly owners: readonly string[];
}

/** Text, HTML, JSON and the subject's words of one report. */
export function toMailReport(report: Report): MailReport {
  const screen = mailScreen(new Date(report.created_at));
  const { peak_efficiency: share } = report.site;
  return {
    text: renderReport(report, screen)
      .map((line) => `${line.trimEnd()}\n`)
      .join(''),
    html: renderReportHtml(report),
    json: renderReportJson(report),
    headline:
      countText(report.site) + (share === null ? '' : `, ${formatPercent(share)} of requested memory used at the peak`),
    owners: report.by === 'owner' ? report.groups.flatMap(({ name }) => name ?? []) : [],
  };
}
