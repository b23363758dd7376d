import { shareOf } from '../../record/peak-figure';
import type { HostView } from '../../live/cluster-view';
import { shareText } from '../screen/gauge';
import type { Screen } from '../screen/screen';
import { formatBytes, formatCount, formatNumber, formatRequested } from '../format/units';
import { hostFlag, hostNotes, isUnusual } from './host-notes';
import type { LiveColumn } from './live-column';
import { renderMemoryBar } from './memory-bar';

const NARROW = 80;
const ROOMY = 120;

/** Widths of bars by the width of the screen: where there is room, as wide as those of qmemview. */
const BARS: readonly (readonly [screen: number, bar: number])[] = [
  [150, 40],
  [ROOMY, 24],
  [90, 16],
];

function barWidth({ width }: Screen): number {
  return BARS.find(([screen]) => width >= screen)?.[1] ?? 10;
}

const slotsCell = ({ slots, slotsUsed }: HostView): string => {
  if (slots === null) return slotsUsed === null ? '' : formatCount(slotsUsed);
  return `${slotsUsed === null ? '?' : formatCount(slotsUsed)}/${formatCount(slots)}`;
};

const heldCell = (bytes: number | null): string => (bytes === null ? '' : bytes > 0 ? formatBytes(bytes) : '0');

/** Below 0 where complex_values was lowered below what jobs had been granted. */
function freeCell({ free }: HostView): string {
  if (free === null || free === 0) return free === null ? '' : '0';
  return free < 0 ? `-${formatRequested(-free)}` : formatRequested(free);
}

/** The columns of a host. "used" is what its jobs have used at most so far, since requests are compared with that. */
export const HOST_COLUMNS: readonly LiveColumn<HostView>[] = [
  { head: 'host', hosts: true, atLeast: 8, shrinksTo: 10, cell: ({ name }, screen) => screen.safe(name) },
  {
    head: 'memory',
    dispensable: 3,
    has: ({ capacity, memoryTotal }) => (capacity ?? memoryTotal) !== null,
    cell: (host, screen) => renderMemoryBar(host, barWidth(screen), screen) || ' '.repeat(barWidth(screen)),
  },
  {
    head: '%',
    align: 'right',
    atLeast: 5,
    has: ({ requested }) => requested > 0,
    cell: ({ peak, requested }, screen) => shareText(shareOf(peak, requested), screen),
  },
  { head: 'used', align: 'right', atLeast: 8, has: () => true, cell: ({ peak }) => heldCell(peak) },
  { head: 'now', align: 'right', dispensable: 7, atLeast: 8, has: () => true, cell: ({ used }) => heldCell(used) },
  {
    head: 'requested',
    align: 'right',
    atLeast: 8,
    cell: ({ requested }) => (requested > 0 ? formatRequested(requested) : '0'),
  },
  {
    head: 'total',
    align: 'right',
    atLeast: 7,
    dispensable: 6,
    has: ({ capacity, memoryTotal }) => (capacity ?? memoryTotal) !== null,
    cell: ({ capacity, memoryTotal }) => {
      const whole = capacity ?? memoryTotal;
      return whole === null ? '' : formatRequested(whole);
    },
  },
  {
    head: 'free',
    align: 'right',
    atLeast: 7,
    has: ({ free }) => free !== null,
    cell: freeCell,
  },
  {
    head: 'slots',
    align: 'right',
    atLeast: 5,
    dispensable: 5,
    has: ({ slots, slotsUsed }) => (slots ?? slotsUsed) !== null,
    cell: slotsCell,
  },
  {
    head: 'load',
    align: 'right',
    dispensable: 8,
    has: ({ load }) => load !== null,
    cell: ({ load }) => (load === null ? '' : formatNumber(load)),
  },
  {
    head: 'swap used',
    align: 'right',
    dispensable: 9,
    has: ({ swapUsed }) => (swapUsed ?? 0) > 0,
    cell: ({ swapUsed }) => (swapUsed === null ? '' : swapUsed > 0 ? formatBytes(swapUsed) : '0'),
  },
  {
    head: 'notes',
    dispensable: 2,
    has: isUnusual,
    cell: (host, screen) => {
      if (screen.width < NARROW) return hostFlag(host, screen) || ' ';
      const notes = hostNotes(host, screen);
      const [first, ...others] = notes;
      if (first === undefined) return ' ';
      return screen.width < ROOMY && others.length > 0 ? `${first} +${others.length}` : notes.join(', ');
    },
  },
];
