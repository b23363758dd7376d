import { createScreen } from '../screen/screen';
import { countText, formatPercent } from '../format/units';
import { renderReportHtml } from './html/page';
import { renderReportJson } from './output';
import type { Report } from './report';
import { renderReport } from './text';

/** A report as a mail carries it. */
interface MailReport {
  readonly text: string;
  readonly html: string;
  readonly json: string;
  /** "1,234 jobs, 41 % of requested memory used at the peak": for a subject. */
  readonly headline: string;
  /** Who had jobs, where the report is by owner. */
  readonly owners: readonly string[];
}

/** Plain text mails are read at this width (RFC 3676). */
const MAIL_WIDTH = 78;

/** Text, HTML, JSON and the subject's words of one report; text of UTF-8, without colours. */
export function toMailReport(report: Report): MailReport {
  const screen = createScreen({
    width: MAIL_WIDTH,
    now: new Date(report.created_at),
    colour: false,
    unicode: true,
  });
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
