import { median } from '../../../report/job/array-facts';
import { formatHeld } from '../../../report/format/bracket';
import { formatRequested } from '../../../report/format/units';
import { html, type Html } from '../html';

const HEIGHT = 200;
const BOTTOM = 176;
const TOP = 22;
const WIDTH = 1000;

/** The distribution of peaks: sorted, lowest first, with the limit as a line; null: too few, or all are 0. */
export function distribution(values: readonly number[], limit: number | null, what: string): Html | null {
  const sorted = [...values].sort((a, b) => a - b);
  const most = sorted.at(-1) ?? 0;
  if (sorted.length < 2 || most <= 0) return null;
  const top = Math.max(most, limit !== null && limit <= most * 4 ? limit : 0) * 1.05;
  const y = (value: number): number => Math.round((BOTTOM - (Math.min(value, top) / top) * (BOTTOM - TOP)) * 10) / 10;
  const x = (index: number): number => Math.round((index / sorted.length) * WIDTH * 10) / 10;
  const steps = sorted.map((value, index) => `${x(index)} ${y(value)}H${x(index + 1)}`).join('L');
  const at = (share: number): number =>
    share === 0.5 ? median(sorted) : (sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0);
  const marks = [0.25, 0.5, 0.75].map(
    (share) =>
      html`<line class="axis" x1="${share * 100}%" x2="${share * 100}%" y1="${BOTTOM}" y2="${y(at(share))}"></line>
        <text x="${share * 100}%" y="${HEIGHT - 8}" text-anchor="middle"
          >${share === 0.5 ? 'median ' : ''}${formatHeld(at(share))}</text
        >`,
  );
  const limitAt = limit !== null && limit <= top ? y(limit) : 4;
  const words = `${what}: smallest ${formatHeld(sorted[0] ?? 0)}, median ${formatHeld(at(0.5))}, largest ${formatHeld(most)}`;
  return html`<svg width="100%" height="${HEIGHT}" role="img" aria-label="${words}">
    <svg width="100%" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none">
      <path class="area" d="M${steps}V${BOTTOM}H0Z"></path>
      <path class="curve" d="M${steps}" vector-effect="non-scaling-stroke"></path>
    </svg>
    ${marks}
    <text class="ink" x="100%" y="${Math.max(12, y(most) - 5)}" text-anchor="end">${formatHeld(most)}</text>
    ${
      limit === null
        ? null
        : html`<line class="limit" x1="0" x2="100%" y1="${limitAt}" y2="${limitAt}"></line>
            <text class="limit-text" x="2" y="${limitAt + 14}">limit ${formatRequested(limit)}</text>`
    }
  </svg>`;
}
