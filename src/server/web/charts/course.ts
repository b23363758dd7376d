import { formatHeld } from '../../../report/format/bracket';
import { formatRequested } from '../../../report/format/units';
import { elapsed } from '../../../report/screen/chart';
import type { Course } from '../../../report/series/course';
import { MEMORY_SERIES } from '../../../record/series-values';
import { html, type Html } from '../html';
import { timeChart } from './axes';
import { chartKey } from './bar';
import { BOTTOM, scaleFor, WIDTH } from './scale';

/**
 * Median, spread and maximum of the memory of many runs, tasks or hosts since the start of each; null: none used any.
 */
export function courseChart(course: Course, limit: number | null, what: 'runs' | 'tasks' | 'hosts'): Html | null {
  const { low_bytes: low, median_bytes: median, high_bytes: high, largest_bytes: largest } = course;
  const seconds = median.length * course.step_seconds;
  const most = largest.reduce((a, b) => Math.max(a, b), 0);
  if (most <= 0) return null;
  const scale = scaleFor(most, limit);
  const points = (values: readonly number[]): readonly string[] =>
    values.map((bytes, index) => `${Math.round((index / (values.length - 1)) * WIDTH * 10) / 10} ${scale.y(bytes)}`);
  const line = (values: readonly number[]): string => points(values).join('L');
  const words = `Memory of ${course.runs} ${what} over ${elapsed(seconds)}: highest ${formatHeld(most)}`;
  const drawn = html`<path class="rest" d="M0 ${BOTTOM}L${line(largest)}L${WIDTH} ${BOTTOM}Z"></path>
    <path class="band" d="M${line(high)}L${points(low).toReversed().join('L')}Z"></path>
    <path class="curve" data-name="median" d="M${line(median)}" vector-effect="non-scaling-stroke"></path>`;
  const limitLine = limit === null ? null : { at: limit, text: `limit ${formatRequested(limit)}` };
  return html`${timeChart({ words, seconds, scale, limit: limitLine, series: MEMORY_SERIES }, drawn)}
  ${chartKey([
    { fill: 'used', text: 'median' },
    { fill: 'band', text: `the middle 80 % of the ${what}` },
    { fill: 'rest', text: `up to the largest` },
  ])}`;
}
