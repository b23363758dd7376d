import type { HostView } from '../../../live/cluster-view';
import { shareOf } from '../../../record/peak-figure';
import { formatPercent } from '../../../report/format/units';
import { html, type Html } from '../html';
import { chartKey } from './bar';

/** What the picture of all hosts is coloured by. */
export const HOST_SHADES = ['used', 'requested', 'slots', 'stranded'] as const;
type HostShade = (typeof HOST_SHADES)[number];

export const SHADE_NAMES: Readonly<Record<HostShade, string>> = {
  used: 'memory in use now',
  requested: 'memory requested',
  slots: 'slots taken',
  stranded: 'memory stranded',
};

const CELL = 16;
/** Hosts in a row: 2,000 hosts make a picture of 50 by 40. */
const MOST_ACROSS = 50;

/** Share of the host, 0 to 1 or more; null: not known. */
function shadeOf(host: HostView, by: HostShade): number | null {
  if (by === 'slots') return shareOf(host.slotsUsed, host.slots);
  const amounts = { used: host.used, requested: host.requested, stranded: host.strandedMemory };
  return shareOf(amounts[by], host.capacity ?? host.memoryTotal);
}

/** All hosts in their order, each a square: the darker, the more of it is taken. */
export function hostMap(hosts: readonly HostView[], by: HostShade): Html | null {
  if (hosts.length === 0) return null;
  const across = Math.min(MOST_ACROSS, hosts.length);
  const squares = hosts.map((host, index) => {
    const share = shadeOf(host, by);
    const words = !host.up ? 'down' : share === null ? 'not known' : formatPercent(share);
    const fill = !host.up ? 'fill-bad' : share === null ? 'fill-none' : share <= 0 ? 'rest' : 'used';
    const opacity = fill === 'used' ? Math.min(1, 0.2 + 0.8 * (share ?? 0)).toFixed(2) : '1';
    const [x, y] = [(index % across) * CELL, Math.floor(index / across) * CELL];
    return html`<rect
      class="${fill}"
      fill-opacity="${opacity}"
      x="${x}"
      y="${y}"
      width="${CELL - 2}"
      height="${CELL - 2}"
      rx="2"
    >
      <title>${host.name}: ${words}</title>
    </rect>`;
  });
  const [width, height] = [across * CELL, Math.ceil(hosts.length / across) * CELL];
  const down = hosts.filter(({ up }) => !up).length;
  const words = `${hosts.length} hosts by ${SHADE_NAMES[by]}${down === 0 ? '' : `, ${down} down`}`;
  return html`<svg class="map" width="${width}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${words}">
      ${squares}
    </svg>
    ${chartKey([
      { fill: 'rest', text: 'none' },
      { fill: 'used', text: 'all' },
      ...(down === 0 ? [] : [{ fill: 'fill-bad', text: 'down' }]),
    ])}`;
}
