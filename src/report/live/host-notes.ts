import type { HostView } from '../../live/cluster-view';
import type { Screen } from '../screen/screen';
import { formatBytes, plural } from '../format/units';

/** Whether the complex by which jobs request memory is not a consumable of the host. */
const hasNone = ({ capacity, free }: HostView): boolean => capacity === null && free === null;

/** What is unusual about a host, in a few words each, the most important first. */
export function hostNotes(host: HostView, screen: Screen): readonly string[] {
  const { style } = screen;
  const queues = host.queues.filter(({ state }) => state !== '');
  return [
    ...(host.up ? [] : [style.bad('down')]),
    ...queues.map(({ name, state }) => {
      const paint = /[uEoc]/.test(state) ? style.bad : style.warning;
      return paint(`${screen.safe(name)}: ${screen.safe(state)}`);
    }),
    ...(host.strandedMemory > 0 ? [style.warning(`${formatBytes(host.strandedMemory)} stranded`)] : []),
    ...(host.strandedSlots > 0 ? [style.warning(`${plural(host.strandedSlots, 'slot')} stranded`)] : []),
    ...(host.unlimited > 0 ? [style.warning(`${plural(host.unlimited, 'job')} without limit`)] : []),
    ...(host.up && hasNone(host) ? [style.faint(`no ${screen.safe(host.complex)}`)] : []),
  ];
}

/** The most important note, in a word; empty: nothing is unusual. */
export function hostFlag(host: HostView, { style, safe }: Screen): string {
  if (!host.up) return style.bad('down');
  if (host.queues.some(({ state }) => state !== '')) return style.warning('queue');
  if (host.strandedMemory > 0 || host.strandedSlots > 0) return style.warning('stranded');
  if (host.unlimited > 0) return style.warning('no limit');
  return hasNone(host) ? style.faint(`no ${safe(host.complex)}`) : '';
}

/** Whether there is anything to note. */
export function isUnusual(host: HostView): boolean {
  return (
    !host.up ||
    hasNone(host) ||
    host.strandedMemory > 0 ||
    host.strandedSlots > 0 ||
    host.unlimited > 0 ||
    host.queues.some(({ state }) => state !== '')
  );
}
