import type { HostView } from '../../live/cluster-view';
import type { Screen } from '../screen/screen';

/** How many of `width` cells stand for a share; at least one for anything above 0. */
function cellsFor(bytes: number, whole: number, width: number): number {
  if (bytes <= 0) return 0;
  return Math.min(width, Math.max(1, Math.round((bytes / whole) * width)));
}

/** A host's memory: used, requested beyond that, free (also what can't be requested). Empty: size unknown. */
export function renderMemoryBar(host: HostView, width: number, screen: Screen): string {
  const whole = host.capacity ?? host.memoryTotal;
  if (whole === null || whole <= 0) return '';
  const { barFull, barAsked, barRest } = screen.glyphs;
  const peak = host.peak ?? 0;
  const used = cellsFor(peak, whole, width);
  const asked = Math.max(used, cellsFor(host.requested, whole, width));
  // Jobs can use more than was requested: without a limit, or where Grid Engine counts address space.
  const over = Math.max(0, used - cellsFor(host.requested, whole, width));
  const paintOver = host.requested > 0 && peak > host.requested ? screen.style.bad : screen.style.warning;
  return (
    screen.style.good(barFull.repeat(used - over)) +
    paintOver(barFull.repeat(over)) +
    screen.style.accent(barAsked.repeat(asked - used)) +
    screen.style.faint(barRest.repeat(width - asked))
  );
}

/** What the signs of the bar mean. */
export function memoryBarLegend(screen: Screen): string {
  const { barFull, barAsked, barRest } = screen.glyphs;
  return [
    `${screen.style.good(barFull)} used`,
    `${screen.style.accent(barAsked)} requested`,
    `${screen.style.faint(barRest)} free`,
  ].join('   ');
}
