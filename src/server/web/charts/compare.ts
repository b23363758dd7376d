import { formatBytes } from '../../../report/format/units';
import { elapsed } from '../../../report/screen/chart';
import type { MemorySeries } from '../../../record/record';
import { html, type Html } from '../html';
import { timeChart } from './axes';
import { HEIGHT, scaleFor, stepsPath, WIDTH } from './scale';

/** As many as the stylesheet has lines for. */
export const MOST_CURVES = 6;

interface NamedSeries {
  readonly name: string;
  readonly series: MemorySeries;
}

const lengthOf = ({ series: { rss_bytes: values, step_seconds: step } }: NamedSeries): number => values.length * step;

function keyLine(index: number, name: string): Html {
  return html`<span
    ><svg width="22" height="10" aria-hidden="true">
      <line class="curve line-${index}" x1="0" x2="22" y1="5" y2="5"></line></svg
    >${name}</span
  >`;
}

/** The memory of several jobs, each since its start; null: there is nothing to draw. */
export function compareChart(all: readonly NamedSeries[]): Html | null {
  const curves = all.map((one, index) => ({ ...one, index, seconds: lengthOf(one) }));
  const seconds = curves.reduce((longest, one) => Math.max(longest, one.seconds), 0);
  const most = curves.reduce((top, { series }) => series.rss_bytes.reduce((a, b) => Math.max(a, b), top), 0);
  if (most <= 0 || !(seconds > 0)) return null;
  const scale = scaleFor(most, null);
  const paths = curves.map(
    ({ index, name, series, seconds: own }) =>
      html`<path
        class="curve line-${index}"
        data-name="${name}"
        d="${stepsPath(series.rss_bytes, scale, own / seconds)}"
        vector-effect="non-scaling-stroke"
      >
        <title>${name}</title>
      </path>`,
  );
  const words = `Memory of ${curves.map(({ name }) => name).join(', ')} since the start of each, over ${elapsed(seconds)}: at most ${formatBytes(most)}`;
  const drawn = html`<svg width="100%" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none">
    ${paths}
  </svg>`;
  return html`${timeChart({ words, seconds, scale, limit: null }, drawn)}
    <div class="key">${curves.map(({ index, name }) => keyLine(index, name))}</div>`;
}
