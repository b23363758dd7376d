import type { SummaryGroup } from '../../../accounting/summary';
import { formatMemoryTime } from '../../../report/format/units';
import { memoryAmount, usedOfRequested } from '../../../report/records/unused';
import { html, type Html } from '../html';
import { chartKey } from './bar';

const HEIGHT = 150;
const BOTTOM = 126;
const TOP = 16;
const LABELS = 6;

/** Memory-hours by day: in use, requested but not in use, and requested with unknown use; null: nothing to draw. */
export function daysChart(days: readonly SummaryGroup[]): Html | null {
  const sums = days.map(({ key, totals }) => {
    const [used, asked] = [usedOfRequested(totals), totals.requested_with_used_gib_hours];
    const all = totals.used_gib_hours;
    const top = all + Math.max(0, asked - used);
    const whole = top + Math.max(0, totals.requested_gib_hours - asked);
    return { day: key ?? '', used: all, top, whole, words: memoryAmount(totals, '·') };
  });
  const most = sums.reduce((highest, { whole }) => Math.max(highest, whole), 0);
  if (days.length < 2 || most <= 0) return null;
  const height = (gibHours: number): number => Math.round((gibHours / most) * (BOTTOM - TOP) * 10) / 10;
  const step = 100 / days.length;
  const every = Math.ceil(days.length / LABELS);
  const from = days[0]?.key ?? '';
  const to = days.at(-1)?.key ?? '';
  const oneYear = from.slice(0, 4) === to.slice(0, 4);
  const columns = sums.map(({ day, words, ...amounts }, index) => {
    const [used, top, whole] = [height(amounts.used), height(amounts.top), height(amounts.whole)];
    const [x, width] = [`${(index * step).toFixed(3)}%`, `${(step * 0.86).toFixed(3)}%`];
    return html`<g
      ><title>${day}: ${words}</title>
      <rect class="band" x="${x}" width="${width}" y="${BOTTOM - whole}" height="${whole}"></rect>
      <rect class="rest" x="${x}" width="${width}" y="${BOTTOM - top}" height="${top}"></rect>
      <rect class="used" x="${x}" width="${width}" y="${BOTTOM - used}" height="${used}"></rect>
      ${index % every === 0 ? html`<text x="${x}" y="${HEIGHT - 8}">${oneYear ? day.slice(5) : day}</text>` : null}</g
    >`;
  });
  return html`<svg
      width="100%"
      height="${HEIGHT}"
      role="img"
      aria-label="Memory-hours by day, ${from} to ${to}, at most ${formatMemoryTime(most, '·')}"
    >
      <text x="2" y="11">${formatMemoryTime(most, '·')}</text>
      <line class="axis" x1="0" x2="100%" y1="${BOTTOM}" y2="${BOTTOM}"></line>
      ${columns}
    </svg>
    ${chartKey([
      { fill: 'used', text: 'in use' },
      { fill: 'rest', text: 'requested, not in use' },
      { fill: 'band', text: 'requested, use unknown' },
    ])}`;
}
