import { measuredUpper } from '../../../record/peak-figure';
import type { Bracket, MemorySeries } from '../../../record/record';
import { formatBytes, formatRequested } from '../../../report/format/units';
import { elapsed, TICK_SECONDS } from '../../../report/screen/chart';
import { html, type Html } from '../html';

const HEIGHT = 240;
const TOP = 22;
const BOTTOM = 208;
/** Own units of the curve, which is stretched to the width of the page. */
const WIDTH = 1000;
const MOST_TICKS = 5;
/** A limit farther than this above all else stands at the upper edge, else the curve would lie flat. */
const FAR = 2.5;

interface Scale {
  /** Bytes at the upper edge. */
  readonly top: number;
  readonly y: (bytes: number) => number;
}

function scaleFor(most: number, limit: number | null): Scale {
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

function axes(scale: Scale, seconds: number): Html {
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

function curve(values: readonly number[], scale: Scale): Html {
  const xOf = (index: number): number => Math.round((index / values.length) * WIDTH * 10) / 10;
  const steps = values.map((bytes, index) => `${xOf(index)} ${scale.y(bytes)}H${xOf(index + 1)}`);
  const line = `M${steps.join('L')}`;
  return html`<svg
    x="0"
    y="0"
    width="100%"
    height="${HEIGHT}"
    viewBox="0 0 ${WIDTH} ${HEIGHT}"
    preserveAspectRatio="none"
  >
    <path class="area" d="${line}V${BOTTOM}H0Z"></path>
    <path class="curve" d="${line}" vector-effect="non-scaling-stroke"></path>
  </svg>`;
}

function limitLine(limit: number, scale: Scale): Html {
  const above = limit > scale.top;
  const y = above ? 4 : scale.y(limit);
  const words = above ? `limit ${formatRequested(limit)}, farther up` : `limit ${formatRequested(limit)}`;
  return html`<line class="limit" x1="0" x2="100%" y1="${y}" y2="${y}"></line>
    <text class="limit-text" x="100%" y="${above ? y + 14 : y - 5}" text-anchor="end">${words}</text>`;
}

/** Where the peak lies: between its ends, as far as both are known. */
function peakBand(peak: Bracket, scale: Scale): Html {
  const [low, high] = [scale.y(peak.lower_bytes), scale.y(measuredUpper(peak) ?? peak.lower_bytes)];
  return html`<rect
    class="band"
    fill-opacity="0.55"
    x="0"
    width="100%"
    y="${high}"
    height="${Math.max(2, low - high)}"
  ></rect>`;
}

/** Memory over time, with the limit as a line and the peak as a band; null: there is too little to draw. */
export function memoryCurve(series: MemorySeries, limit: number | null, peak: Bracket | null): Html | null {
  const { rss_bytes: values, step_seconds: step } = series;
  const most = values.reduce((largest, bytes) => Math.max(largest, bytes), 0);
  if (values.length < 2 || most <= 0 || !(step > 0)) return null;
  const upper = peak === null ? 0 : (measuredUpper(peak) ?? peak.lower_bytes);
  const scale = scaleFor(Math.max(most, upper), limit);
  const words = `Memory over ${elapsed(values.length * step)}: at most ${formatBytes(most)}${
    limit === null ? ', no limit' : `, limit ${formatRequested(limit)}`
  }`;
  return html`<svg width="100%" height="${HEIGHT}" role="img" aria-label="${words}">
    ${peak === null ? null : peakBand(peak, scale)} ${axes(scale, values.length * step)} ${curve(values, scale)}
    ${limit === null ? null : limitLine(limit, scale)}
  </svg>`;
}
