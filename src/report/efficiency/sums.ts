import type { Totals } from '../../record/totals';
import { unusedGibHours } from '../records/unused';
import type { Fitting, Sums } from './report';

const SECONDS_PER_HOUR = 3600;
const JOULES_PER_KWH = 3_600_000;

const ratio = (part: number, whole: number): number | null => (whole > 0 ? part / whole : null);

/** What the period's jobs asked for in the mean. */
export function fittingOf(totals: Totals): Fitting {
  const limited = Math.max(0, totals.records - totals.without_limit);
  const slotHours = (totals.slot_seconds / SECONDS_PER_HOUR) * (ratio(limited, totals.records) ?? 0);
  return {
    gib_per_slot: ratio(totals.requested_gib_hours, slotHours),
    gib_hours_per_job: ratio(totals.requested_gib_hours, limited),
  };
}

/** A store's totals as the report shows them. */
export function toSums(totals: Totals, fitting: Fitting): Sums {
  const waste = unusedGibHours(totals);
  const fits = (each: number | null): number | null => (each === null || each <= 0 ? null : waste / each);
  return {
    records: totals.records,
    jobs: totals.jobs,
    running: totals.running,
    core_hours: totals.slot_seconds / SECONDS_PER_HOUR,
    cpu_hours: totals.cpu_seconds / SECONDS_PER_HOUR,
    cpu_efficiency: ratio(totals.cpu_seconds, totals.slot_seconds),
    requested_gib_hours: totals.requested_gib_hours,
    limit_gib_hours: totals.limit_gib_hours,
    used_gib_hours: totals.used_gib_hours,
    peak_gib_hours: totals.peak_gib_hours,
    // Where a limit is missing, used memory has nothing to compare with: such records may push this above 1.
    memory_efficiency: ratio(totals.used_gib_hours, totals.requested_with_used_gib_hours),
    peak_efficiency: ratio(totals.peak_gib_hours, totals.requested_with_peak_gib_hours),
    waste_gib_hours: waste,
    waste_slot_hours: fits(fitting.gib_per_slot),
    waste_jobs: fits(fitting.gib_hours_per_job),
    energy_kwh: totals.slot_seconds_with_energy > 0 ? totals.energy_joules / JOULES_PER_KWH : null,
    energy_coverage: ratio(totals.slot_seconds_with_energy, totals.slot_seconds) ?? 0,
    failed: totals.failed,
    failed_core_hours: totals.failed_slot_seconds / SECONDS_PER_HOUR,
    killed_by_memory: totals.killed_by_memory,
    above_request: totals.above_request,
    far_below: totals.far_below,
    unsampled: totals.unsampled,
    without_limit: totals.without_limit,
    without_peak: totals.without_peak,
    with_grid_engine: totals.with_grid_engine,
    requested_with_grid_engine_gib_hours: totals.requested_with_grid_engine_gib_hours,
    grid_engine_gib_hours: totals.grid_engine_gib_hours,
    without_used: totals.without_used,
  };
}
