import type { MemorySeries } from '../../record/record';
import { displayWidth, padStart } from './text-width';
import type { Screen } from './screen';
import { formatHeld } from '../format/bracket';
import { formatRequested } from '../format/units';

const HEIGHT = 8;
/** A limit of more than this many times the peak gets a broken axis, else the curve would lie flat. */
const BREAK_AT = 2;

/** Round spans of time that an axis is divided by. */
export const TICK_SECONDS = [
  0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800,
  432_000, 864_000, 1_728_000,
];
const TICK_ROOM = 12;

/** Time since the start, as short as an axis needs it: "30s", "1m 15s", "1h 30m". */
export function elapsed(seconds: number): string {
  if (seconds === 0) return '0';
  if (seconds < 60) return `${Number(seconds.toFixed(1))}s`;
  const whole = seconds < 3600 ? Math.round(seconds) : Math.round(seconds / 60) * 60;
  const parts = [
    [Math.floor(whole / 86_400), 'd'],
    [Math.floor(whole / 3600) % 24, 'h'],
    [Math.floor(whole / 60) % 60, 'm'],
    [whole % 60, 's'],
  ] as const;
  return parts
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count}${unit}`)
    .join(' ');
}

/** The largest value of each column; fewer values than columns are stretched. */
function toColumns(values: readonly number[], columns: number): number[] {
  return Array.from({ length: columns }, (_, column) => {
    const from = Math.floor((column * values.length) / columns);
    const to = Math.max(from + 1, Math.floor(((column + 1) * values.length) / columns));
    return values.slice(from, to).reduce((most, value) => Math.max(most, value), 0);
  });
}

function timeAxis(seconds: number, columns: number, screen: Screen): readonly [string, string] {
  const { axisBottom, axisBottomTick } = screen.glyphs;
  const step =
    TICK_SECONDS.find((tick) => (tick / seconds) * columns >= TICK_ROOM) ?? TICK_SECONDS[TICK_SECONDS.length - 1] ?? 1;
  const line = Array.from({ length: columns }, () => axisBottom);
  let labels = '';
  for (let tick = 0; tick * step < seconds; tick += 1) {
    const column = Math.round(((tick * step) / seconds) * columns);
    const label = elapsed(tick * step);
    if (column + label.length > columns) break;
    line[column] = axisBottomTick;
    labels = labels.padEnd(column) + label;
  }
  return [line.join(''), labels];
}

/** Values at equal steps of time. */
interface Curve {
  readonly values: readonly number[];
  readonly stepSeconds: number;
  /** The value as the axis shows it. */
  readonly format: (value: number) => string;
}

/** Resident memory over time, with its limit. No lines where there is too little to draw. */
export function renderChart(
  series: MemorySeries,
  limit: number | null,
  width: number,
  screen: Screen,
  rows = HEIGHT,
): string[] {
  const curve = { values: series.rss_bytes, stepSeconds: series.step_seconds, format: formatHeld };
  return renderCurve(curve, limit === null ? null : { at: limit, label: formatRequested(limit) }, width, screen, rows);
}

/** A row of a curve: of each column how many parts of the row it fills (none below 1), with `above` over the curve. */
function drawRow(levels: readonly number[], above: string, { glyphs, style }: Screen): string {
  let drawn = '';
  let run = '';
  const flush = (paint: (text: string) => string): void => {
    drawn += run.trim() === '' ? run : paint(run);
    run = '';
  };
  for (const [column, level] of levels.entries()) {
    const wasFilled = (levels[column - 1] ?? level) > 0;
    if (level > 0 !== wasFilled) flush(wasFilled ? style.accent : style.warning);
    run += level > 0 ? (glyphs.columnParts[level - 1] ?? glyphs.columnParts.at(-1) ?? '') : above;
  }
  flush((levels.at(-1) ?? 0) > 0 ? style.accent : style.warning);
  return drawn.trimEnd();
}

/**
 * A curve in so many rows, with a limit as a dashed line; negative values are drawn as 0. No lines where there is too
 * little to draw.
 */
export function renderCurve(
  curve: Curve,
  bound: { readonly at: number; readonly label: string } | null,
  width: number,
  screen: Screen,
  rows = HEIGHT,
): string[] {
  const { glyphs, style } = screen;
  const limit = bound?.at ?? null;
  const peak = curve.values.reduce((most, value) => Math.max(most, value), 0);
  if (curve.values.length < 2 || peak <= 0 || !(curve.stepSeconds > 0)) return [];

  const broken = limit !== null && limit > peak * BREAK_AT;
  const isSmall = rows < HEIGHT;
  const height = broken && isSmall ? rows - 1 : rows;
  const top = limit === null || broken ? peak : Math.max(peak, limit);
  const rowOf = (bytes: number): number => Math.min(height - 1, Math.max(0, Math.ceil((bytes / top) * height) - 1));
  const limitRow = limit === null || broken ? -1 : rowOf(limit);
  const peakRow = rowOf(peak);
  const limitLabel = bound === null ? '' : `limit ${bound.label}`;
  const peakLabel = curve.format(peak);
  const labelWidth = Math.max(displayWidth(limitLabel), displayWidth(peakLabel));
  const columns = width - labelWidth - 2;
  const cells = toColumns(curve.values, columns);
  const parts = glyphs.columnParts.length;
  const dashes = style.warning(glyphs.limitLine.repeat(columns));

  const lines: string[] = [];
  if (broken) {
    lines.push(`${padStart(limitLabel, labelWidth)} ${glyphs.axisTick}${dashes}`);
    if (!isSmall) lines.push(`${padStart('', labelWidth)} ${glyphs.axisBreak}`);
  }
  for (let row = height - 1; row >= 0; row -= 1) {
    const label = row === limitRow ? limitLabel : row === peakRow ? peakLabel : '';
    const side = label === '' ? glyphs.axisSide : glyphs.axisTick;
    const levels = cells.map((bytes) => {
      const level = Math.round((bytes / top) * height * parts) - row * parts;
      return bytes > 0 && row === 0 ? Math.max(1, level) : level;
    });
    const above = row === limitRow ? glyphs.limitLine : ' ';
    lines.push(`${padStart(label, labelWidth)} ${side}${drawRow(levels, above, screen)}`);
  }
  const [axis, labels] = timeAxis(curve.values.length * curve.stepSeconds, columns, screen);
  lines.push(`${padStart('0', labelWidth)} ${glyphs.axisCorner}${axis}`);
  lines.push(`${padStart('', labelWidth)}  ${labels}`);
  return lines;
}
