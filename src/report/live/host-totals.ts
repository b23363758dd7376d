import { sumOfKnown } from '../../base/known';
import { shareOf } from '../../record/peak-figure';
import type { HostView } from '../../live/cluster-view';
import type { Screen } from '../screen/screen';
import { formatBytes, formatCount, formatPercent, formatRequested, plural } from '../format/units';

const total = (hosts: readonly HostView[], of: (host: HostView) => number): number =>
  hosts.reduce((sum, host) => sum + of(host), 0);

/** null: it is not known of any host. */
const held = (values: readonly (number | null)[]): number | null => (values.length === 0 ? 0 : sumOfKnown(values));

/**
 * Sums over hosts. A host that is down has nothing free, and what a host has granted beyond its own takes nothing from
 * the others. Memory in bytes, null where it is unknown on every host.
 */
export function totalHosts(hosts: readonly HostView[]) {
  const up = hosts.filter((host) => host.up);
  return {
    hosts: hosts.length,
    down: hosts.length - up.length,
    /** Memory that jobs have used at most so far, and use now. */
    peak: held(hosts.map(({ peak }) => peak)),
    used: held(hosts.map(({ used }) => used)),
    requested: total(hosts, ({ requested }) => requested),
    total: sumOfKnown(up.map(({ capacity, memoryTotal }) => capacity ?? memoryTotal)),
    free: sumOfKnown(up.map(({ free }) => free && Math.max(0, free))),
    slots: sumOfKnown(up.map(({ slots }) => slots)),
    slotsUsed: sumOfKnown(up.map(({ slotsUsed }) => slotsUsed)),
    strandedMemory: total(up, ({ strandedMemory }) => strandedMemory),
    strandedSlots: total(up, ({ strandedSlots }) => strandedSlots),
  };
}

export type HostTotals = ReturnType<typeof totalHosts>;

/** The last lines of the report, of one sentence each. */
export function describeTotals(totals: HostTotals, screen: Screen): readonly string[] {
  const share = shareOf(totals.peak, totals.requested);
  const size = (bytes: number): string => (bytes === 0 ? '0' : formatRequested(bytes));
  const parts = [
    `${totals.peak === null ? 'an unknown amount' : totals.peak === 0 ? '0' : formatBytes(totals.peak)} used of ${size(totals.requested)} requested${
      share === null ? '' : ` (${formatPercent(share)})`
    }`,
    ...(totals.total === null ? [] : [`${size(totals.total)} in all`]),
    ...(totals.free === null ? [] : [`${size(totals.free)} free`]),
    ...(totals.slots === null
      ? []
      : [`${totals.slotsUsed === null ? '?' : formatCount(totals.slotsUsed)} of ${formatCount(totals.slots)} slots`]),
  ];
  const stranded = [
    ...(totals.strandedMemory > 0 ? [`${formatBytes(totals.strandedMemory)} on hosts without a free slot`] : []),
    ...(totals.strandedSlots > 0 ? [`${plural(totals.strandedSlots, 'slot')} on hosts without free memory`] : []),
  ];
  return [
    `${screen.style.title('Total')}     ${parts.join(', ')}`,
    ...(stranded.length === 0
      ? []
      : [`${screen.style.title('Stranded')}  ${screen.style.warning(stranded.join(', '))}`]),
  ];
}
