import { formatRequested } from '../../../report/format/units';
import { elapsed } from '../../../report/screen/chart';
import { html, type Html } from '../html';
import { BOTTOM, byteTicks, HEIGHT, timeTicks, type Scale } from './scale';

/** Amounts at the left. */
export function amounts(scale: Scale): Html {
  const lines = byteTicks(scale.top).map((bytes) => {
    const y = scale.y(bytes);
    return html`<line class="axis" x1="0" x2="100%" y1="${y}" y2="${y}"></line>
      <text x="2" y="${y - 3}">${formatRequested(bytes)}</text>`;
  });
  return html`${lines}`;
}

/** Amounts at the left, time since the start below. */
function axes(scale: Scale, seconds: number): Html {
  const times = timeTicks(0, seconds).map((at) => {
    const x = `${Number(((at / seconds) * 100).toFixed(2))}%`;
    return html`<line class="axis" x1="${x}" x2="${x}" y1="${BOTTOM}" y2="${BOTTOM + 5}"></line>
      <text x="${x}" y="${HEIGHT - 12}">${elapsed(at)}</text>`;
  });
  return html`${amounts(scale)}<line class="axis" x1="0" x2="100%" y1="${BOTTOM}" y2="${BOTTOM}"></line
    ><g class="times">${times}</g>`;
}

/** The limit as a line, at the upper edge where it is farther up. */
function limitLine(limit: number, scale: Scale): Html {
  const above = limit > scale.top;
  const y = above ? 4 : scale.y(limit);
  const words = above ? `limit ${formatRequested(limit)}, farther up` : `limit ${formatRequested(limit)}`;
  return html`<line class="limit" x1="0" x2="100%" y1="${y}" y2="${y}"></line>
    <text class="limit-text" x="100%" y="${above ? y + 14 : y - 5}" text-anchor="end">${words}</text>`;
}

interface TimeChart {
  /** What it shows, for those who do not see it. */
  readonly words: string;
  readonly seconds: number;
  readonly scale: Scale;
  readonly limit: number | null;
}

/** A chart over time with its axes and limit, which the script of the pages can read and zoom; `behind`: below the axes. */
export function timeChart({ words, seconds, scale, limit }: TimeChart, curves: Html, behind: Html | null = null): Html {
  return html`<svg
    width="100%"
    height="${HEIGHT}"
    role="img"
    aria-label="${words}"
    data-seconds="${seconds}"
    data-top="${scale.top}"
  >
    ${behind} ${axes(scale, seconds)} ${curves} ${limit === null ? null : limitLine(limit, scale)}
  </svg>`;
}
