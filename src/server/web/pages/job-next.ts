import type { JobRecord } from '../../../record/record';
import type { NextRequest } from '../../../report/advice/next-request';
import { hasUnknownPart, roundRequest } from '../../../report/advice/advice';
import { clientOf } from '../../../report/advice/next-time';
import { formatClock } from '../../../report/format/local-time';
import { formatCount, formatPercent } from '../../../report/format/units';
import { NOT_WHOLE, raiseReason } from '../../../report/job/headline';
import type { CauseAccount } from '../../../report/why/causes';
import { html, type Html } from '../html';
import { section } from '../layout';

function verdict({ kind, risk }: NextRequest, records: readonly JobRecord[]): string {
  if (kind === 'lower') return 'It requested more memory than it needs.';
  if (kind === 'raise') return raiseReason(records, risk !== null);
  if (kind === 'ask') return 'Nothing was requested.';
  return hasUnknownPart(records) ? NOT_WHOLE : 'The request fits.';
}

/** What the advice rests on, with the risk if past runs are enough to state one. */
function reason({ risk, runs }: NextRequest): string {
  if (risk === null || runs === null) return 'From this run only, with headroom; no risk can be stated.';
  return `Risk that it needs more: ${formatPercent(risk)}, from ${formatCount(runs)} runs of its kind.`;
}

/**
 * What to request next time. `line`: after a bad end, a whole `qsub` line, shown instead of `next`. `records`: all that
 * the advice must fit.
 */
export function nextPart(next: NextRequest | null, line: string | null, records: readonly JobRecord[]): Html | null {
  if (line !== null)
    return section(
      'Next time',
      html`<p class="command"><code>${line}</code></p>`,
      next && html`<p>${reason(next)}</p>`,
    );
  if (next === null) return null;
  const request = `${clientOf(records)} -l ${next.complex}=${roundRequest(next.request_bytes).text}`;
  return section(
    'Next time',
    html`<p>${verdict(next, records)}</p>`,
    next.kind === 'keep' ? null : html`<p class="command"><code>${request}</code></p>`,
    html`<p class="faint">${reason(next)}</p>`,
  );
}

const STANDINGS: Readonly<Record<CauseAccount['explanations'][number]['standing'], string>> = {
  consistent: 'fits',
  undecidable: 'undecided',
  contradicted: 'ruled out',
};

/** Turns the UTC times of an answer into the server's local time, as on a terminal: "at 04:09:23". */
const inLocalTime = (text: string): string =>
  text.replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/g, (time) => formatClock(new Date(time)));

/** Why a run ended badly, and the other causes that were considered. */
export function causePart({ sentence, explanations }: CauseAccount): Html {
  const items = explanations.map(
    ({ name, standing, evidence, would_show: missing }) =>
      html`<li>
        ${name} (${STANDINGS[standing]}):
        ${inLocalTime(evidence)}${missing === null ? null : `; evidence needed: ${missing}`}
      </li>`,
  );
  return html`<p>${inLocalTime(sentence)}</p>
    ${
      items.length === 0
        ? null
        : html`<details>
            <summary>All causes considered</summary>
            <ul>
              ${items}
            </ul>
          </details>`
    }`;
}
