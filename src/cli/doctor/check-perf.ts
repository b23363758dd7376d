import { groupBy } from '../../base/group-by';
import { perfEventParanoid } from '../../native/perf-error';
import type { PerfCalls } from '../../native/perf-event';
import { chooseSource } from '../../sampler/source-settings';
import { probePerf, type RefusedEvent } from '../../sources/job/perf';
import { resolveEvent } from '../../sources/job/perf-event-names';
import { perfFacts } from '../../sources/job/perf-metrics';
import { isUnavailable, type Place } from '../../sources/source';
import type { SourceState } from './check-sources';
import { findingsIn, type Finding } from './finding';
import type { NodeState } from './node-state';

const { ok, note, warning } = findingsIn('perf events');

const reasonFor = ({ event, unavailable }: RefusedEvent): string =>
  unavailable.startsWith(`${event}: `) ? unavailable.slice(event.length + 2) : unavailable;

/** A finding for each reason, with the events that were refused for it. */
const byReason = (refused: readonly RefusedEvent[], say: typeof note): Finding[] =>
  [...groupBy(refused, reasonFor)].map(([why, ones]) =>
    say('events', `${ones.map(({ event }) => event).join(', ')}: ${why}`, ones[0]?.fix),
  );

/** Checks which of the configured events this machine counts, tried on doctor itself, even where the source is off. */
export function checkPerf(
  { settings }: Pick<NodeState, 'settings'>,
  place: Pick<Place, 'proc' | 'sys'>,
  calls?: PerfCalls,
): { readonly findings: readonly Finding[]; readonly perf: SourceState } {
  const { enabled, options } = chooseSource(perfFacts, settings);
  const paranoid = perfEventParanoid(place.proc);
  const level = `kernel.perf_event_paranoid is ${paranoid ?? 'not there'}`;
  const probed = probePerf({ ...place, options }, calls);
  if (isUnavailable(probed)) {
    const { unavailable: why, fix } = probed;
    const says = `none opens: ${why}; ${level}`;
    const say = enabled && fix !== null ? warning : note;
    return { findings: [say('events', says, fix)], perf: probed };
  }
  const { events, refused, notes } = probed;
  const would = enabled ? 'open' : 'would open, were the source switched on';
  // An unknown event name is the site's mistake; a counter that the CPU lacks is not.
  const isMistake = ({ event }: RefusedEvent): boolean => isUnavailable(resolveEvent(event, place));
  const lacking = refused.filter((event) => !isMistake(event));
  return {
    findings: [
      ok('events', `${events.join(', ')}: ${would}; ${level}`),
      ...byReason(lacking, note),
      ...byReason(refused.filter(isMistake), warning),
      ...notes.map((text) => note('events', text)),
    ],
    perf: { found: `${events.length} of ${events.length + refused.length} events` },
  };
}
