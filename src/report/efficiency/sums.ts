import { JOULES_PER_KWH } from '../../base/units';
import type { Totals } from '../../record/totals';
import { unusedGibHours } from '../records/unused';
import type { Fitting } from './report';

const SECONDS_PER_HOUR = 3600;

const ratio = (part: number, whole: number): number | null => (whole > 0 ? part / whole : null);

/** The mean requests of the period's jobs. */
export function fittingOf(totals: Totals): Fitting {
  const limited = Math.max(0, totals.records - totals.without_limit);
  const slotHours = (totals.slot_seconds / SECONDS_PER_HOUR) * (ratio(limited, totals.records) ?? 0);
  return {
    gib_per_slot: ratio(totals.requested_gib_hours, slotHours),
    gib_hours_per_job: ratio(totals.requested_gib_hours, limited),
  };
}

/** A store's totals as the report shows them. */
export function toSums(totals: Totals, fitting: Fitting) {
  const waste = unusedGibHours(totals);
  const fits = (each: number | null): number | null => (each === null || each <= 0 ? null : waste / each);
  return {
    /** Distinct jobs and array tasks. */
    jobs: totals.jobs,
    records: totals.records,
    running: totals.running,
    /** Wallclock x slots. */
    core_hours: totals.slot_seconds / SECONDS_PER_HOUR,
    cpu_hours: totals.cpu_seconds / SECONDS_PER_HOUR,
    /** CPU time over slot hours. */
    cpu_efficiency: ratio(totals.cpu_seconds, totals.slot_seconds),
    /** The requested memory (the limit, where nothing else was requested) x wallclock. */
    requested_gib_hours: totals.requested_gib_hours,
    limit_gib_hours: totals.limit_gib_hours,
    /** The part of `requested_gib_hours` from records whose integral is known, and from those whose peak is known. */
    requested_with_used_gib_hours: totals.requested_with_used_gib_hours,
    requested_with_peak_gib_hours: totals.requested_with_peak_gib_hours,
    /** Integral of resident memory over time; and the part of it from jobs with a request. */
    used_gib_hours: totals.used_gib_hours,
    used_with_request_gib_hours: totals.used_with_request_gib_hours,
    /** Peak of resident memory x wallclock; and the part of it from jobs with a request. */
    peak_gib_hours: totals.peak_gib_hours,
    peak_with_request_gib_hours: totals.peak_with_request_gib_hours,
    /** Integral over request, and peak over request, of the records that have both figures. */
    memory_efficiency: ratio(totals.used_with_request_gib_hours, totals.requested_with_used_gib_hours),
    peak_efficiency: ratio(totals.peak_with_request_gib_hours, totals.requested_with_peak_gib_hours),
    /** Request minus peak, x wallclock, of the same records: memory that was kept from others and not used. */
    waste_gib_hours: waste,
    /** What would have fitted into the waste, by the period's `fitting`. */
    waste_slot_hours: fits(fitting.gib_per_slot),
    waste_jobs: fits(fitting.gib_hours_per_job),
    /** The energy charged to the jobs; and the share of the slot hours for which it is known. */
    energy_kwh: totals.slot_seconds_with_energy > 0 ? totals.energy_joules / JOULES_PER_KWH : null,
    energy_coverage: ratio(totals.slot_seconds_with_energy, totals.slot_seconds) ?? 0,
    failed: totals.failed,
    /** Wallclock x slots of the failed records: time taken from others, mostly for nothing. */
    failed_core_hours: totals.failed_slot_seconds / SECONDS_PER_HOUR,
    killed_by_memory: totals.killed_by_memory,
    above_request: totals.above_request,
    far_below: totals.far_below,
    /** Ended records without a sample. */
    unsampled: totals.unsampled,
    without_limit: totals.without_limit,
    without_peak: totals.without_peak,
    /** Records without a peak for which Grid Engine has a figure (maxvmem); their request and figure x wallclock. */
    with_grid_engine: totals.with_grid_engine,
    requested_with_grid_engine_gib_hours: totals.requested_with_grid_engine_gib_hours,
    grid_engine_gib_hours: totals.grid_engine_gib_hours,
    /** The part of `grid_engine_gib_hours` from jobs with a request. */
    grid_engine_with_request_gib_hours: totals.grid_engine_with_request_gib_hours,
    /** Request minus Grid Engine's figure, x wallclock. */
    unused_by_grid_engine_gib_hours: totals.unused_by_grid_engine_gib_hours,
    without_used: totals.without_used,
  };
}

/** Sums over records: a job on three hosts, or started three times, has three. */
export type Sums = ReturnType<typeof toSums>;
