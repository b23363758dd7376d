import { measuredUpper } from '../../../record/peak-figure';
import type { Bracket, MemorySeries } from '../../../record/record';
import { formatBytes, formatRequested } from '../../../report/format/units';
import { elapsed } from '../../../report/screen/chart';
import { html, type Html } from '../html';
import { timeChart } from './axes';
import { BOTTOM, HEIGHT, scaleFor, stepsPath, WIDTH, type Scale } from './scale';

function curve(values: readonly number[], scale: Scale): Html {
  const line = stepsPath(values, scale);
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
  return timeChart(
    { words, seconds: values.length * step, scale, limit },
    curve(values, scale),
    peak === null ? null : peakBand(peak, scale),
  );
}
