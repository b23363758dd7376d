import { formatRequested } from '../../../report/format/units';
import { elapsed, TICK_SECONDS } from '../../../report/screen/chart';
import { html, type Html } from '../html';

/** Memory over time: what all charts of it have in common. */

export const HEIGHT = 240;
const TOP = 22;
export const BOTTOM = 208;
/** Own units of the curve, which is stretched to the width of the page. */
export const WIDTH = 1000;
const MOST_TICKS = 5;
/** A limit farther than this above all else stands at the upper edge, else the curve would lie flat. */
const FAR = 2.5;

export interface Scale {
  /** Bytes at the upper edge. */
  readonly top: number;
  readonly y: (bytes: number) => number;
}

/** So that all of `most` and, where it is near, the limit has room. */
export function scaleFor(most: number, limit: number | null): Scale {
  const within = limit !== null && limit <= most * FAR;
  const top = (within ? Math.max(most, limit) : most) * 1.05;
  return { top, y: (bytes) => Math.round((BOTTOM - (Math.min(bytes, top) / top) * (BOTTOM - TOP)) * 10) / 10 };
}

/** Round amounts up to `top`. */
function byteTicks(top: number): readonly number[] {
  const unit = 1024 ** Math.floor(Math.log(top) / Math.log(1024));
  const steps = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500].map((step) => step * unit);
  const step = steps.find((one) => top / one <= MOST_TICKS) ?? top;
  return Array.from({ length: Math.floor(top / step) }, (_, index) => (index + 1) * step);
}

function timeTicks(seconds: number): readonly number[] {
  const step = TICK_SECONDS.find((one) => seconds / one <= MOST_TICKS) ?? seconds;
  // A label at the very end has no room.
  return Array.from({ length: Math.ceil(seconds / step) }, (_, index) => index * step).filter(
    (at) => at < seconds * 0.93,
  );
}

/** Amounts at the left, time since the start below. */
export function axes(scale: Scale, seconds: number): Html {
  const lines = byteTicks(scale.top).map((bytes) => {
    const y = scale.y(bytes);
    return html`<line class="axis" x1="0" x2="100%" y1="${y}" y2="${y}"></line>
      <text x="2" y="${y - 3}">${formatRequested(bytes)}</text>`;
  });
  const times = timeTicks(seconds).map((at) => {
    const x = `${Number(((at / seconds) * 100).toFixed(2))}%`;
    return html`<line class="axis" x1="${x}" x2="${x}" y1="${BOTTOM}" y2="${BOTTOM + 5}"></line>
      <text x="${x}" y="${HEIGHT - 12}">${elapsed(at)}</text>`;
  });
  return html`${lines}<line class="axis" x1="0" x2="100%" y1="${BOTTOM}" y2="${BOTTOM}"></line>${times}`;
}

/** The limit as a line, at the upper edge where it is farther up. */
export function limitLine(limit: number, scale: Scale): Html {
  const above = limit > scale.top;
  const y = above ? 4 : scale.y(limit);
  const words = above ? `limit ${formatRequested(limit)}, farther up` : `limit ${formatRequested(limit)}`;
  return html`<line class="limit" x1="0" x2="100%" y1="${y}" y2="${y}"></line>
    <text class="limit-text" x="100%" y="${above ? y + 14 : y - 5}" text-anchor="end">${words}</text>`;
}
