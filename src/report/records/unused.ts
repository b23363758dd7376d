import type { Totals } from '../../record/totals';
import { formatMemoryTime, formatMemoryTimes, formatSlotTimes, plural } from '../format/units';

/** Memory requested above the peak, in GiB x h. */
export const unusedGibHours = ({ unused_gib_hours: unused }: Totals): number => Math.max(0, unused);

/** Memory in use by jobs with a request, in GiB x h; where no job has one, by all jobs. */
export function usedOfRequested(totals: Totals): number {
  return totals.requested_with_used_gib_hours > 0 ? totals.used_with_request_gib_hours : totals.used_gib_hours;
}

/** Used over requested memory, for records with both figures; null: no record has both. */
export function usedShare(totals: Totals): number | null {
  const asked = totals.requested_with_used_gib_hours;
  return asked > 0 ? totals.used_with_request_gib_hours / asked : null;
}

/** CPU time over slot time; null: there was no slot time. */
export const cpuShare = ({ cpu_seconds: cpu, slot_seconds: slots }: Totals): number | null =>
  slots > 0 ? cpu / slots : null;

/** "12.3 of 48.0 slot·h". */
export function cpuAmount(totals: Totals, dot: string): string {
  const { texts, unit } = formatSlotTimes([totals.cpu_seconds / 3600, totals.slot_seconds / 3600], `slot${dot}`);
  return `${texts.join(' of ')} ${unit}`;
}

/** "12.3 of 48.0 GiB·h": used of requested memory, as far as it is known. */
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

/** Memory requested above Grid Engine's figure, where there is no peak, in GiB x h. */
export const unusedByGridEngine = ({ unused_by_grid_engine_gib_hours: unused }: GridEngineSums): number =>
  Math.max(0, unused);

/** Memory unused by the peaks and by Grid Engine's figures together; as text with ~ if a part is by the latter. */
export const unusedOfAll = (totals: Totals): number => unusedGibHours(totals) + unusedByGridEngine(totals);
export const unusedText = (totals: Totals, format: (gibHours: number) => string): string =>
  `${totals.requested_with_grid_engine_gib_hours > 0 ? '~' : ''}${format(unusedOfAll(totals))}`;

/** What Grid Engine's figure says of the records without a peak, in a sentence; null: no record has it. */
export function gridEngineText(sums: GridEngineSums, dot: string): string | null {
  const { with_grid_engine: records, requested_with_grid_engine_gib_hours: asked } = sums;
  const held = asked > 0 ? sums.grid_engine_with_request_gib_hours : sums.grid_engine_gib_hours;
  if (records === 0) return null;
  const of = plural(records, 'record');
  const { texts, unit } = formatMemoryTimes([held, asked], dot);
  const amounts = asked > 0 ? `~${texts.join(' of ')} ${unit} requested` : `~${texts[0] ?? ''} ${unit}`;
  return `${of} by Grid Engine's figure (~, maxvmem: its own peak, seen every few seconds), in sums of their own: ${amounts}.`;
}
