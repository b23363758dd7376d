import { shareTone } from '../../../report/screen/gauge';
import type { Tone } from '../../../report/screen/screen';
import { html, type Html } from '../html';

const percent = (share: number): string => `${Number((Math.min(1, Math.max(0, share)) * 100).toFixed(2))}%`;

/** A share of a whole as a bar; the figure stands beside it. */
export function shareBar(share: number, tone: Tone = shareTone(share)): Html {
  return html`<svg width="100%" height="8" aria-hidden="true" focusable="false">
    <rect class="rest" width="100%" height="8" rx="2"></rect>
    <rect class="fill-${tone}" width="${percent(share)}" height="8" rx="2"></rect>
  </svg>`;
}

/** A peak against its limit: the lower bound, a band up to the upper bound (null: unknown), and the limit as a line. */
export function bracketBar(lower: number, upper: number | null, limit: number | null, words: string): Html {
  const whole = Math.max(lower, upper ?? 0, limit ?? 0) * 1.02;
  if (whole <= 0) return html``;
  const band =
    upper === null || upper <= lower
      ? null
      : html`<rect
          class="band"
          x="${percent(lower / whole)}"
          width="${percent((upper - lower) / whole)}"
          height="18"
        ></rect>`;
  const at = limit === null ? null : percent(limit / whole);
  return html`<svg width="100%" height="18" role="img" aria-label="${words}">
    <rect class="rest" width="${at ?? '100%'}" height="18"></rect>
    <rect class="used" width="${percent(lower / whole)}" height="18"></rect>
    ${band} ${at === null ? null : html`<line class="limit" x1="${at}" x2="${at}" y1="0" y2="18"></line>`}
  </svg>`;
}

/** What the colours of a chart mean. */
export function chartKey(items: readonly { readonly fill: string; readonly text: string }[]): Html {
  const shown = items.map(
    ({ fill, text }) =>
      html`<span
        ><svg width="10" height="10" aria-hidden="true"><rect class="${fill}" width="10" height="10" rx="2"></rect></svg
        >${text}</span
      >`,
  );
  return html`<div class="key">${shown}</div>`;
}

/** A host's memory: used so far, requested beyond that, free. */
export function memoryBar(used: number, requested: number, whole: number): Html {
  return html`<svg width="100%" height="8" aria-hidden="true" focusable="false">
    <rect class="rest" width="100%" height="8" rx="2"></rect>
    <rect class="band" width="${percent(Math.max(used, requested) / whole)}" height="8" rx="2"></rect>
    <rect class="used" width="${percent(used / whole)}" height="8" rx="2"></rect>
  </svg>`;
}
