import type { Screen } from './screen';

/** A bar of `width` cells filled up to `share` (0..1, more is full). */
export function renderBar(share: number, width: number, screen: Screen, paint: (text: string) => string): string {
  const { barFull, barParts, barRest } = screen.glyphs;
  const cells = Math.min(1, Math.max(0, share)) * width;
  const full = Math.floor(cells);
  const part = Math.round((cells - full) * barParts.length);
  const rest = cells > 0 && full === 0 && part === 0 ? 1 : part;
  const filled = barFull.repeat(full) + (rest > 0 && full < width ? (barParts[rest - 1] ?? '') : '');
  return paint(filled) + screen.style.faint(barRest.repeat(width - filled.length));
}
