import { integer, number, object, type Schema, type Shape } from '../base/shape';

/**
 * Sums over records: a job on three hosts, or started three times, has three. One table: the type, the columns of the
 * roll-ups, the check and the JSON Schema are made from it.
 */
interface Total {
  /** A count; else an amount. */
  readonly whole: boolean;
  readonly help: string;
}

const count = (help: string): Total => ({ whole: true, help });
const amount = (help: string): Total => ({ whole: false, help });

export const TOTALS = {
  records: count('records'),
  jobs: count('distinct jobs and array tasks'),
  running: count('records of jobs that still run'),
  requested_gib_hours: amount(
    'requested memory (the limit, where nothing else was requested) x elapsed time; each host of a parallel job once',
  ),
  requested_with_used_gib_hours: amount(
    'requested_gib_hours of records with used_gib_hours, to compare with used_with_request_gib_hours',
  ),
  requested_with_peak_gib_hours: amount(
    'requested_gib_hours of records with a peak, to compare with peak_with_request_gib_hours',
  ),
  used_gib_hours: amount('resident memory integrated over time, of all records'),
  used_with_request_gib_hours: amount('used_gib_hours of jobs with a request'),
  peak_gib_hours: amount('peak of resident memory x elapsed time, of all records'),
  peak_with_request_gib_hours: amount('peak_gib_hours of jobs with a request'),
  unused_gib_hours: amount(
    'requested memory above the peak x elapsed time, of records with both: what one held above its own request takes nothing from others, but several records of one host of a parallel job count together',
  ),
  requested_with_grid_engine_gib_hours: amount(
    "requested_gib_hours of records with Grid Engine's figure alone, to compare with grid_engine_with_request_gib_hours",
  ),
  grid_engine_gib_hours: amount("Grid Engine's figure (maxvmem) x elapsed time, of records without a peak"),
  grid_engine_with_request_gib_hours: amount('grid_engine_gib_hours of jobs with a request'),
  unused_by_grid_engine_gib_hours: amount(
    "requested memory above Grid Engine's figure x elapsed time, of records without a peak",
  ),
  cpu_seconds: amount('CPU time'),
  slot_seconds: amount(
    'elapsed time (suspended time left out) x slots on the host (1 where unknown); each host of a parallel job once',
  ),
  above_request: count('records whose peak of resident memory is above the limit'),
  far_below: count('ended records whose peak is far below the limit'),
  limit_gib_hours: amount('memory limit x elapsed time; each host of a parallel job once'),
  energy_joules: amount('energy charged to the jobs, of records where it is known'),
  slot_seconds_with_energy: amount('slot seconds of records whose energy is known'),
  failed: count('records of jobs that ended badly'),
  failed_slot_seconds: amount('slot seconds of jobs that ended badly'),
  killed_by_memory: count('records of jobs that memory ended'),
  unsampled: count('ended records without a sample'),
  without_limit: count('records without a limit'),
  without_peak: count('records without a peak'),
  with_grid_engine: count("records without a peak, but with Grid Engine's figure (maxvmem)"),
  without_used: count('records without memory-hours'),
};

type TotalsName = keyof typeof TOTALS;
export type Totals = Readonly<Record<TotalsName, number>>;
export type MutableTotals = Record<TotalsName, number>;

export const TOTALS_NAMES = Object.keys(TOTALS) as readonly TotalsName[];

const ZEROS = Object.fromEntries(TOTALS_NAMES.map((name) => [name, 0])) as MutableTotals;

/** Totals of no records. */
export function noTotals(): MutableTotals {
  return { ...ZEROS };
}

/** Totals from cells in the order of TOTALS_NAMES, beginning at the index `at`. */
export function totalsAt(cells: readonly unknown[], at: number): Totals {
  const totals = noTotals();
  for (const [index, name] of TOTALS_NAMES.entries()) totals[name] = Number(cells[at + index]);
  return totals;
}

export function addTotals(to: MutableTotals, from: Totals): void {
  for (const name of TOTALS_NAMES) to[name] += from[name];
}

function shapeOf({ whole, help }: Total): Shape<number> {
  const { read, schema } = whole ? integer(0) : number();
  const described: Schema = { ...schema, description: help };
  return { read, schema: described };
}

export const totalsShape = object(
  Object.fromEntries(TOTALS_NAMES.map((name) => [name, shapeOf(TOTALS[name])])) as Readonly<
    Record<TotalsName, Shape<number>>
  >,
);
