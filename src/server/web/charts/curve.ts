import { measuredUpper } from '../../../record/peak-figure';
import type { Bracket } from '../../../record/record';
import { elapsed } from '../../../report/screen/chart';
import { html, type Html } from '../html';
import { timeChart, type Limit } from './axes';
import { BOTTOM, scaleFor, stepsPath, type Scale } from './scale';
import { seriesTitle } from './series';
import { unitOfSeries } from './series-units';

function curve(values: readonly number[], scale: Scale): Html {
  const line = stepsPath(values, scale);
  return html`<path class="area" d="${line}V${BOTTOM}H0Z"></path>
    <path class="curve" d="${line}" vector-effect="non-scaling-stroke"></path>`;
}

/** A band from the lower to the upper bound of the peak, or only a line if the upper bound is unknown. */
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

interface Curve {
  /** Name of the series. */
  readonly series: string;
  readonly values: readonly number[];
  readonly stepSeconds: number;
  readonly limit: Limit | null;
  /** Shown as a band. */
  readonly peak: Bracket | null;
}

/** A series over time, with what was requested as a line and the peak as a band; null: there is too little to draw. */
export function curveChart({ series, values, stepSeconds, limit, peak }: Curve): Html | null {
  const most = values.reduce((largest, amount) => Math.max(largest, amount), 0);
  if (values.length < 2 || most <= 0 || !(stepSeconds > 0)) return null;
  const upper = peak === null ? 0 : (measuredUpper(peak) ?? peak.lower_bytes);
  const scale = scaleFor(Math.max(most, upper), limit?.at ?? null);
  const seconds = values.length * stepSeconds;
  const words = `${seriesTitle(series)} over ${elapsed(seconds)}: highest ${unitOfSeries(series).text(most)}, ${limit?.text ?? 'no limit'}`;
  return timeChart(
    { words, seconds, scale, limit, series },
    curve(values, scale),
    peak === null ? null : peakBand(peak, scale),
  );
}
