import type { MemorySeries } from '../../../record/record';
import { formatBytes } from '../../../report/format/units';
import { elapsed } from '../../../report/screen/chart';
import { html, type Html } from '../html';
import { axes, BOTTOM, HEIGHT, limitLine, scaleFor, WIDTH, type Scale } from './axes';
import { chartKey } from './bar';

const STEPS = 120;

/** Of the tasks that ran so long after their start: the lowest tenth, the median, the highest tenth, the most. */
interface Step {
  readonly low: number;
  readonly median: number;
  readonly high: number;
  readonly most: number;
}

function stepAt(seconds: number, tasks: readonly MemorySeries[]): Step {
  const held = tasks.flatMap(({ rss_bytes: values, step_seconds: step }) => values[Math.floor(seconds / step)] ?? []);
  const sorted = held.sort((a, b) => a - b);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return { low: at(0.1), median: at(0.5), high: at(0.9), most: sorted.at(-1) ?? 0 };
}

const xOf = (index: number): number => Math.round((index / (STEPS - 1)) * WIDTH * 10) / 10;

function line(steps: readonly Step[], of: (step: Step) => number, scale: Scale): string {
  return steps.map((step, index) => `${xOf(index)} ${scale.y(of(step))}`).join('L');
}

/** The memory of many tasks since the start of each, as one; null: there is too little to draw. */
export function taskCurves(all: readonly MemorySeries[], limit: number | null): Html | null {
  const tasks = all.filter(({ rss_bytes: values, step_seconds: step }) => values.length > 1 && step > 0);
  const seconds = tasks.reduce(
    (most, { rss_bytes: values, step_seconds: step }) => Math.max(most, values.length * step),
    0,
  );
  const steps = Array.from({ length: STEPS }, (_, index) => stepAt((index / STEPS) * seconds, tasks));
  const most = steps.reduce((largest, step) => Math.max(largest, step.most), 0);
  if (tasks.length < 2 || most <= 0) return null;
  const scale = scaleFor(most, limit);
  const high = line(steps, (step) => step.high, scale);
  const low = [...steps].reverse().map((step, index) => `${xOf(STEPS - 1 - index)} ${scale.y(step.low)}`);
  const words = `Memory of ${tasks.length} tasks over ${elapsed(seconds)}: at most ${formatBytes(most)}`;
  return html`<svg width="100%" height="${HEIGHT}" role="img" aria-label="${words}">
      ${axes(scale, seconds)}
      <svg width="100%" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none">
        <path class="rest" d="M0 ${BOTTOM}L${line(steps, (step) => step.most, scale)}L${WIDTH} ${BOTTOM}Z"></path>
        <path class="band" d="M${high}L${low.join('L')}Z"></path>
        <path class="curve" d="M${line(steps, (step) => step.median, scale)}" vector-effect="non-scaling-stroke"></path>
      </svg>
      ${limit === null ? null : limitLine(limit, scale)}
    </svg>
    ${chartKey([
      { fill: 'used', text: 'median' },
      { fill: 'band', text: 'four fifths of the tasks' },
      { fill: 'rest', text: 'up to the largest' },
    ])}`;
}
