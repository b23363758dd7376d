import type { Totals } from '../../record/totals';
import { formatMemoryTime, formatMemoryTimes, formatSlotTimes, plural } from '../format/units';

/** GiB x h that were requested and lay above the peak. */
export const unusedGibHours = ({ unused_gib_hours: unused }: Totals): number => Math.max(0, unused);

/** GiB x h in use of those that were asked for; where nothing was, all that were in use. */
export function usedOfRequested(totals: Totals): number {
  return totals.requested_with_used_gib_hours > 0 ? totals.used_with_request_gib_hours : totals.used_gib_hours;
}

/** Used over requested, of records that know both; null: none does. */
export function usedShare(totals: Totals): number | null {
  const asked = totals.requested_with_used_gib_hours;
  return asked > 0 ? totals.used_with_request_gib_hours / asked : null;
}

/** CPU time over the time of slots; null: there was none. */
export const cpuShare = ({ cpu_seconds: cpu, slot_seconds: slots }: Totals): number | null =>
  slots > 0 ? cpu / slots : null;

/** "12.3 of 48.0 slot·h". */
export function cpuAmount(totals: Totals, dot: string): string {
  const { texts, unit } = formatSlotTimes([totals.cpu_seconds / 3600, totals.slot_seconds / 3600], `slot${dot}`);
  return `${texts.join(' of ')} ${unit}`;
}

/** What was in use of what was asked for, as far as it is known. */
export function memoryAmount(totals: Totals, dot: string): string {
  const asked = totals.requested_with_used_gib_hours;
  const used = usedOfRequested(totals);
  const { texts, unit } = formatMemoryTimes([used, asked], dot);
  if (asked > 0) return `${texts.join(' of ')} ${unit}`;
  if (totals.requested_gib_hours <= 0) return `${formatMemoryTime(used, dot)}, nothing requested`;
  return `${formatMemoryTime(totals.requested_gib_hours, dot)} requested, use unknown`;
}

/** Sums of records that have no peak, by Grid Engine's figure (maxvmem). */
type GridEngineSums = Pick<
  Totals,
  | 'with_grid_engine'
  | 'requested_with_grid_engine_gib_hours'
  | 'grid_engine_gib_hours'
  | 'grid_engine_with_request_gib_hours'
  | 'unused_by_grid_engine_gib_hours'
>;

/** GiB x h that were requested and lay above Grid Engine's figure, where there is no peak. */
export const unusedByGridEngine = ({ unused_by_grid_engine_gib_hours: unused }: GridEngineSums): number =>
  Math.max(0, unused);

/** Both; as text with ~ where a part is by Grid Engine's figure. */
export const unusedOfAll = (totals: Totals): number => unusedGibHours(totals) + unusedByGridEngine(totals);
export const unusedText = (totals: Totals, format: (gibHours: number) => string): string =>
  `${totals.requested_with_grid_engine_gib_hours > 0 ? '~' : ''}${format(unusedOfAll(totals))}`;

/** What Grid Engine's figure says of the records without a peak, in a sentence; null: of none. */
export function gridEngineText(sums: GridEngineSums, dot: string): string | null {
  const { with_grid_engine: records, requested_with_grid_engine_gib_hours: asked } = sums;
  const held = asked > 0 ? sums.grid_engine_with_request_gib_hours : sums.grid_engine_gib_hours;
  if (records === 0) return null;
  const of = plural(records, 'record');
  const { texts, unit } = formatMemoryTimes([held, asked], dot);
  const amounts = asked > 0 ? `~${texts.join(' of ')} ${unit} requested` : `~${texts[0] ?? ''} ${unit}`;
  return `${of} by Grid Engine's figure (~, maxvmem: its own peak, seen every few seconds), in sums of their own: ${amounts}.`;
}
