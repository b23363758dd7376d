import { formatMinute, formatZone } from '../../format/local-time';
import { countText } from '../../format/units';
import type { Report } from '../report';
import { coverageSection, sectionsOf, titleOf } from '../sections';
import { periodText } from '../words';
import { FONT, look, lookAs, SHEET, element, verbatim, type Html } from './markup';
import { layout } from './parts';
import { chartsCard, inHtml, overviewCard, sectionCard } from './sections';

/** Nothing is loaded and nothing runs; styles are inline, since mail programs keep only those. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

function header(report: Report): Html {
  return element(
    'td',
    look(`padding:10px 4px 14px;${FONT}`, 'ink'),
    element(
      'h1',
      look('font-size:22px;line-height:28px;font-weight:650;margin:0;overflow-wrap:anywhere', 'ink'),
      inHtml(titleOf(report)),
    ),
    element(
      'div',
      look('font-size:14px;line-height:20px', 'faint'),
      `${periodText(report)} · ${countText(report.site)}`,
    ),
  );
}

/**
 * The report as one HTML document for a mail, a browser or a printer: tables and inline styles, light, or dark where the
 * reader's program asks for it; nothing in it is loaded from elsewhere, and nothing runs.
 */
export function renderReportHtml(report: Report): string {
  const made = new Date(report.created_at);
  const foot = `Made by qmemacct on ${formatMinute(made)} ${formatZone(made)}. Peaks are lower bounds; memory is resident memory.`;
  const title = titleOf(report)
    .map((part) => (typeof part === 'string' ? part : part.name))
    .join('');
  const cards = [
    overviewCard(report),
    ...sectionsOf(report, 'html').map(sectionCard),
    chartsCard(report),
    sectionCard(coverageSection(report)),
  ];
  const row = (...cells: readonly Html[]): Html => element('tr', {}, ...cells);
  const page = layout(
    'max-width:860px;margin:0 auto',
    row(header(report)),
    row(element('td', {}, ...cards)),
    row(element('td', look(`padding:4px 4px 16px;font-size:12px;line-height:17px;${FONT}`, 'faint'), foot)),
  );
  const outer = layout(
    '',
    row(
      element(
        'td',
        { ...lookAs('outer', 'padding:16px', 'page'), align: 'center' },
        element('div', { style: 'max-width:860px;margin:0 auto;text-align:left' }, page),
      ),
    ),
  );
  const document = element(
    'html',
    { lang: 'en' },
    element(
      'head',
      {},
      element('meta', { charset: 'utf-8' }),
      element('meta', { 'http-equiv': 'Content-Security-Policy', content: POLICY }),
      element('meta', { name: 'viewport', content: 'width=device-width,initial-scale=1' }),
      element('meta', { name: 'color-scheme', content: 'light dark' }),
      element('meta', { name: 'referrer', content: 'no-referrer' }),
      element('title', {}, title),
      element('style', {}, verbatim(SHEET)),
    ),
    element(
      'body',
      look(`margin:0;padding:0;${FONT};-webkit-print-color-adjust:exact;print-color-adjust:exact`, 'page', 'ink'),
      outer,
    ),
  );
  return `<!DOCTYPE html>\n${document.html}\n`;
}
