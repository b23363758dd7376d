import { elapsed } from '../../../report/screen/chart';
import type { MemorySeries } from '../../../record/record';
import { MEMORY_SERIES, seriesValues } from '../../../record/series-values';
import type { Course } from '../../../report/series/course';
import { html, type Html } from '../html';
import { timeChart } from './axes';
import { scaleFor, stepsPath } from './scale';
import { seriesTitle } from './series';
import { unitOfSeries } from './series-units';

/** As many as the stylesheet has line styles for. */
export const MOST_CURVES = 6;

interface NamedSeries {
  readonly name: string;
  readonly series: MemorySeries;
}

interface Curve {
  readonly name: string;
  /** Its class in the stylesheet. */
  readonly line: string;
  readonly values: readonly number[];
  readonly seconds: number;
}

function keyLine({ line, name }: Curve): Html {
  return html`<span
    ><svg width="22" height="10" aria-hidden="true">
      <line class="curve ${line}" x1="0" x2="22" y1="5" y2="5"></line></svg
    >${name}</span
  >`;
}

function curveOf(name: string, line: string, values: readonly number[], step: number): Curve {
  return { name, line, values, seconds: values.length * step };
}

/**
 * One series of several jobs, each since its start, and the median memory over time of runs of their kind (`kind` null:
 * not known). Returns null if there is nothing to draw.
 */
export function compareChart(all: readonly NamedSeries[], what: string, kind: Course | null): Html | null {
  const jobs = all.map(({ name, series }, index) =>
    curveOf(name, `line-${index}`, seriesValues(series, what), series.step_seconds),
  );
  const typical =
    kind === null || what !== MEMORY_SERIES
      ? []
      : [curveOf(`the median of ${kind.runs} runs of this kind`, 'typical', kind.median_bytes, kind.step_seconds)];
  const curves = [...jobs, ...typical].filter(({ values }) => values.length > 0);
  const seconds = curves.reduce((longest, one) => Math.max(longest, one.seconds), 0);
  const most = curves.reduce((top, { values }) => values.reduce((a, b) => Math.max(a, b), top), 0);
  if (most <= 0 || !(seconds > 0)) return null;
  const scale = scaleFor(most, null);
  const paths = curves.map(
    ({ line, name, values, seconds: own }) =>
      html`<path
        class="curve ${line}"
        data-name="${name}"
        d="${stepsPath(values, scale, own / seconds)}"
        vector-effect="non-scaling-stroke"
      >
        <title>${name}</title>
      </path>`,
  );
  const words = `${seriesTitle(what)} of ${curves.map(({ name }) => name).join(', ')} since the start of each, over ${elapsed(seconds)}: highest ${unitOfSeries(what).text(most)}`;
  return html`${timeChart({ words, seconds, scale, limit: null, series: what }, html`${paths}`)}
    <div class="key">${curves.map(keyLine)}</div>`;
}
