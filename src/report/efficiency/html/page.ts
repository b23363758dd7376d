import { formatMinute, formatZone } from '../../format/local-time';
import type { Report } from '../report';
import { countText, energyText, leftOutText, periodText, wasteText } from '../words';
import { gridEngineText } from '../../records/unused';
import { FONT, look, lookAs, SHEET, element, fragment, verbatim, type Html } from './markup';
import { card, layout, named, note, sentence } from './parts';
import {
  chartsCard,
  coverageCard,
  classesCard,
  farBelowCard,
  groupsCard,
  killedCard,
  hostProblemsCard,
  silentCard,
  tiles,
  waitsCard,
  wastersCard,
} from './sections';

/** Nothing is loaded and nothing runs; styles are inline, since that is what mail programs keep. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

function titleOf(report: Report): string {
  if (report.owner !== null) return `Jobs of ${report.owner}`;
  return report.clusters.length === 0 ? 'Memory report' : `Memory report of ${report.clusters.join(', ')}`;
}

function header(report: Report): Html {
  const title =
    report.owner === null
      ? fragment(
          'Memory report',
          report.clusters.length === 0 ? '' : ' of ',
          ...report.clusters.flatMap((cluster, index) => [index === 0 ? '' : ', ', named(cluster)]),
        )
      : fragment('Jobs of ', named(report.owner));
  return element(
    'td',
    look(`padding:10px 4px 14px;${FONT}`, 'ink'),
    element(
      'h1',
      look('font-size:22px;line-height:28px;font-weight:650;margin:0;overflow-wrap:anywhere', 'ink'),
      title,
    ),
    element(
      'div',
      look('font-size:14px;line-height:20px', 'faint'),
      `${periodText(report, '→')} · ${countText(report.site)}`,
    ),
  );
}

function overview(report: Report): Html {
  const energy = energyText(report.site);
  return card(
    'Overview',
    tiles(report),
    sentence(wasteText(report)),
    energy === null ? null : sentence(`Energy charged to these jobs: ${energy}.`),
    note(leftOutText(report.site)),
    note(gridEngineText(report.site, '·')),
  );
}

function body(report: Report): readonly Html[] {
  if (report.site.records === 0)
    return [card('No jobs', sentence('No job ended in this time.')), silentCard(report), hostProblemsCard(report)];
  return [
    overview(report),
    silentCard(report),
    hostProblemsCard(report),
    ...(report.owner === null
      ? [groupsCard(report), wastersCard(report), killedCard(report)]
      : [killedCard(report), wastersCard(report), groupsCard(report)]),
    farBelowCard(report),
    classesCard(report),
    waitsCard(report),
    chartsCard(report),
    coverageCard(report),
  ];
}

/**
 * The report as one HTML document for a mail, a browser or a printer: tables and inline styles, light, or dark where the
 * reader's program asks for it; nothing in it is loaded from elsewhere, and nothing runs.
 */
export function renderReportHtml(report: Report): string {
  const made = new Date(report.created_at);
  const foot = `Made by qmemacct on ${formatMinute(made)} ${formatZone(made)}. Peaks are lower bounds; memory is resident memory.`;
  const row = (...cells: readonly Html[]): Html => element('tr', {}, ...cells);
  const page = layout(
    'max-width:860px;margin:0 auto',
    row(header(report)),
    row(element('td', {}, ...body(report))),
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
      element('title', {}, titleOf(report)),
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
