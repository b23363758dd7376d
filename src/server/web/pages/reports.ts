import { makeBody } from '../../http/body';
import { daysOfReports, pathDay, readReport } from '../../routes/reports';
import { route } from '../../routes/route';
import { html, type Html } from '../html';
import { HTML_TYPE, section } from '../layout';
import type { Asker } from '../page';

/** Days that are linked at once; the others are behind a click. */
const SHOWN = 14;

function links(days: readonly string[]): Html {
  const items = days.map((day) => html`<li><a href="${`/reports/${day}`}">${day}</a></li>`);
  return html`<ul class="choices">
    ${items}
  </ul>`;
}

/** The nightly reports that are kept; null: none is. */
export function reportsPart(asked: Asker): Html | null {
  const days = daysOfReports(asked);
  if (days.length === 0) return null;
  const older = days.slice(SHOWN);
  return section(
    'Nightly reports',
    links(days.slice(0, SHOWN)),
    older.length === 0
      ? null
      : html`<details>
          <summary>Older</summary>
          ${links(older)}
        </details>`,
  );
}

/** The report is shown as it was mailed: inline styles apply, but nothing in it runs, loads or is sent. */
const REPORT_HEADERS = {
  'Content-Security-Policy':
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
};

export const reportPage = route({
  path: '/reports/{day}',
  description: 'the nightly report of a day, as it was mailed',
  parameters: { day: pathDay },
  type: HTML_TYPE,
  answer: (asked) => ({
    body: makeBody(HTML_TYPE, readReport(asked, asked.values.day, 'html')),
    maxAge: 0,
    headers: REPORT_HEADERS,
  }),
});
