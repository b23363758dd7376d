import { TICK_SECONDS } from '../../../report/screen/chart';

/** Where amounts and times stand in a chart of memory over time; also used by the script in the browser. */

export const HEIGHT = 240;
const TOP = 22;
export const BOTTOM = 208;
/** Width of a curve in its own units; it is stretched to the width of the page. */
export const WIDTH = 1000;
const MOST_TICKS = 5;
/** A limit above this many times the largest value stands at the upper edge, else the curve would lie flat. */
const FAR = 2.5;

export interface Scale {
  /** The amount at the upper edge. */
  readonly top: number;
  readonly y: (amount: number) => number;
}

/** A scale with room for amounts up to `most`, and for the limit if it is near. */
export function scaleFor(most: number, limit: number | null): Scale {
  const within = limit !== null && limit <= most * FAR;
  const top = (within ? Math.max(most, limit) : most) * 1.05;
  return { top, y: (amount) => Math.round((BOTTOM - (Math.min(amount, top) / top) * (BOTTOM - TOP)) * 10) / 10 };
}

/** The amount at the height `y`. */
export function amountAt(y: number, top: number): number {
  return ((BOTTOM - y) / (BOTTOM - TOP)) * top;
}

/** Round amounts up to `top`, in units that are powers of `base`. */
export function amountTicks(top: number, base: number): readonly number[] {
  const unit = base ** Math.floor(Math.log(top) / Math.log(base));
  const steps = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500].map((step) => step * unit);
  const step = steps.find((one) => top / one <= MOST_TICKS) ?? top;
  return Array.from({ length: Math.floor(top / step) }, (_, index) => (index + 1) * step);
}

/** Round times between two, in seconds. */
export function timeTicks(from: number, to: number): readonly number[] {
  const span = to - from;
  const step = TICK_SECONDS.find((one) => span / one <= MOST_TICKS) ?? span;
  const first = Math.ceil(from / step);
  // A label at the very end has no room.
  return Array.from({ length: Math.ceil(span / step) + 1 }, (_, index) => (first + index) * step).filter(
    (at) => at < from + span * 0.93,
  );
}

/** The SVG path of values at equal steps of time, over `share` of the width. */
export function stepsPath(values: readonly number[], scale: Scale, share = 1): string {
  const x = (index: number): number => Math.round((index / values.length) * share * WIDTH * 10) / 10;
  return `M${values.map((amount, index) => `${x(index)} ${scale.y(amount)}H${x(index + 1)}`).join('L')}`;
}
