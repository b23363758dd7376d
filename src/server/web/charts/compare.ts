import { elapsed } from '../../../report/screen/chart';
import type { MemorySeries } from '../../../record/record';
import { seriesValues } from '../../../record/series-values';
import { html, type Html } from '../html';
import { timeChart } from './axes';
import { HEIGHT, scaleFor, stepsPath, WIDTH } from './scale';
import { seriesTitle } from './series';
import { unitOfSeries } from './series-units';

/** As many as the stylesheet has lines for. */
export const MOST_CURVES = 6;

interface NamedSeries {
  readonly name: string;
  readonly series: MemorySeries;
}

function keyLine(index: number, name: string): Html {
  return html`<span
    ><svg width="22" height="10" aria-hidden="true">
      <line class="curve line-${index}" x1="0" x2="22" y1="5" y2="5"></line></svg
    >${name}</span
  >`;
}

/** One series of several jobs, each since its start; null: there is nothing to draw. */
export function compareChart(all: readonly NamedSeries[], what: string): Html | null {
  const curves = all.flatMap(({ name, series }, index) => {
    const values = seriesValues(series, what);
    return values.length === 0 ? [] : [{ name, values, index, seconds: values.length * series.step_seconds }];
  });
  const seconds = curves.reduce((longest, one) => Math.max(longest, one.seconds), 0);
  const most = curves.reduce((top, { values }) => values.reduce((a, b) => Math.max(a, b), top), 0);
  if (most <= 0 || !(seconds > 0)) return null;
  const scale = scaleFor(most, null);
  const paths = curves.map(
    ({ index, name, values, seconds: own }) =>
      html`<path
        class="curve line-${index}"
        data-name="${name}"
        d="${stepsPath(values, scale, own / seconds)}"
        vector-effect="non-scaling-stroke"
      >
        <title>${name}</title>
      </path>`,
  );
  const words = `${seriesTitle(what)} of ${curves.map(({ name }) => name).join(', ')} since the start of each, over ${elapsed(seconds)}: at most ${unitOfSeries(what).text(most)}`;
  const drawn = html`<svg width="100%" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none">
    ${paths}
  </svg>`;
  return html`${timeChart({ words, seconds, scale, limit: null, series: what }, drawn)}
    <div class="key">${curves.map(({ index, name }) => keyLine(index, name))}</div>`;
}
