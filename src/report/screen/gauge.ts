import { CLOSE_TO_LIMIT } from '../advice/fit';
import { formatPercent } from '../format/units';
import type { Screen, Tone } from './screen';
import { padEnd, padStart, widest } from './text-width';

/** A named share with a bar: "Memory ███··· 1.53 GiB of 16 GiB 9.6 %". */
export interface Gauge {
  readonly name: string;
  /** null: no whole to compare with, no bar. */
  readonly share: number | null;
  readonly amount: string;
  readonly tone: Tone;
}

/** A smaller part of the request in use deserves a second look. */
const LITTLE = 0.5;

/** CPU use above this share is judged like this share, since busy slots are good. */
const BUSY = 0.8;

/** Green where most of the request is used, or its use is unknown, yellow for little or nearly all, red above it. */
export function shareTone(share: number | null): Tone {
  if (share === null) return 'good';
  if (share > 1) return 'bad';
  return share >= CLOSE_TO_LIMIT || share < LITTLE ? 'warning' : 'good';
}

/** The tone of a CPU share: slots that are all busy are as they should be. */
export const busyTone = (share: number | null): Tone => shareTone(share === null ? null : Math.min(share, BUSY));

/** "25 %" in its colour; '' where it is unknown. */
export const shareText = (share: number | null, { style }: Screen): string =>
  share === null ? '' : style[shareTone(share)](formatPercent(share));

const PERCENT_WIDTH = 9;

/** A shorter bar says nothing. */
const LEAST_BAR = 4;

/** Gauges under each other, over the whole width. */
export function renderGauges(gauges: readonly Gauge[], screen: Screen): string[] {
  const nameWidth = widest(gauges.map(({ name }) => name)) + 3;
  const amountWidth = widest(gauges.map(({ amount }) => amount));
  const room = screen.width - 4 - nameWidth - amountWidth - PERCENT_WIDTH;
  return gauges.map(({ name, share, amount, tone }) => {
    const drawn = share === null ? ' '.repeat(Math.max(0, room)) : renderBar(share, room, screen, screen.style[tone]);
    const bar = room < LEAST_BAR ? '' : `${drawn}  `;
    const percent = share === null ? '' : screen.style[tone](padStart(formatPercent(share), PERCENT_WIDTH));
    return `  ${padEnd(name, nameWidth)}${bar}${padEnd(amount, amountWidth)}${percent}`.trimEnd();
  });
}

/** A bar of `width` cells filled up to `share` (0..1, more is full). */
export function renderBar(share: number, width: number, screen: Screen, paint: (text: string) => string): string {
  const { barFull, barParts, barRest } = screen.glyphs;
  if (width <= 0) return '';
  const cells = Math.min(1, Math.max(0, share)) * width;
  const full = Math.floor(cells);
  const part = Math.round((cells - full) * barParts.length);
  const rest = cells > 0 && full === 0 && part === 0 ? 1 : part;
  const filled = barFull.repeat(full) + (rest > 0 && full < width ? (barParts[rest - 1] ?? '') : '');
  return paint(filled) + screen.style.faint(barRest.repeat(width - filled.length));
}
