import { metricsOf, type Metric, type Reading } from '../../sources/source';

/** What the readings of the source `pss` say of a whole job. */
interface PssSums {
  readonly readings: number;
  /** The largest sums over the job's processes, in bytes. */
  readonly peaks: Readonly<Record<string, number>>;
  /** Most processes that one reading left out. */
  readonly mostSkipped: number;
  /** Readings that left processes out: their sums are too low. */
  readonly incomplete: number;
}

export const NO_PSS: PssSums = { readings: 0, peaks: {}, mostSkipped: 0, incomplete: 0 };

const { gauge, counter } = metricsOf('pss', 'job');

const peakFact = (name: string, what: string): Metric =>
  gauge(name, 'bytes', `${what}, summed over the job's processes: the largest sum that was read.`);

/** Per-process metrics of the source `pss` that are summed, and the facts that their largest sums become. */
const PEAKS: ReadonlyMap<string, Metric> = new Map([
  ['pss_bytes', peakFact('peak', 'Resident memory with shared pages divided (Pss)')],
  ['pss_anon_bytes', peakFact('anon_peak', 'Anonymous part of Pss (Pss_Anon)')],
  ['pss_file_bytes', peakFact('file_peak', 'Part of Pss that maps files (Pss_File)')],
  ['pss_shmem_bytes', peakFact('shmem_peak', 'Shared memory in Pss (Pss_Shmem)')],
  ['pss_swap_bytes', peakFact('swap_peak', 'Swapped memory with shared pages divided (SwapPss)')],
  ['pss_uss_bytes', peakFact('uss_peak', 'Memory that no other process maps (USS)')],
  ['pss_footprint_bytes', peakFact('footprint_peak', 'Pss_Anon + Pss_Shmem + SwapPss')],
]);

/** What `pssMetrics` puts into a record. */
export const PSS_FACTS: readonly Metric[] = [
  ...PEAKS.values(),
  counter('samples', 'count', 'Readings of PSS.'),
  counter('incomplete_samples', 'count', 'Readings of PSS that left processes out: these sums are too low.'),
  gauge('skipped_peak_processes', 'count', 'Processes that one reading of PSS left out, at most.'),
];

/** Adds one reading. A reading without any process changes nothing. */
export function addPss(sums: PssSums, readings: readonly Reading[]): PssSums {
  const now = new Map<string, number>();
  let skipped = 0;
  for (const { metric, value, pid } of readings) {
    if (metric === 'pss_skipped_processes') skipped += value;
    if (pid !== undefined && PEAKS.has(metric)) now.set(metric, (now.get(metric) ?? 0) + value);
  }
  if (now.size === 0 && skipped === 0) return sums;
  const peaks = { ...sums.peaks };
  for (const [quantity, bytes] of now) peaks[quantity] = Math.max(bytes, peaks[quantity] ?? 0);
  return {
    readings: sums.readings + 1,
    peaks,
    mostSkipped: Math.max(sums.mostSkipped, skipped),
    incomplete: sums.incomplete + (skipped > 0 ? 1 : 0),
  };
}

/** The facts for `metrics` of a record; empty where nothing was read. */
export function pssMetrics(sums: PssSums): Readonly<Record<string, number>> {
  if (sums.readings === 0) return {};
  const peaks = [...PEAKS].flatMap(([metric, { name }]) => {
    const peak = sums.peaks[metric];
    return peak === undefined ? [] : [[name, peak] as const];
  });
  return {
    ...Object.fromEntries(peaks),
    pss_samples: sums.readings,
    pss_incomplete_samples: sums.incomplete,
    pss_skipped_peak_processes: sums.mostSkipped,
  };
}

/** Share of one core: 1 GiB in small pages costs 14 ms, so 10 GiB allow an interval of 30 s, 1 TiB one of 48 min. */
const SHARE_OF_CORE = 0.005;

/** When to read next, in ms from now: after `intervalMs`, or later where the last reading was expensive. */
export function nextPssDelayMs(readings: readonly Reading[], intervalMs: number): number {
  const seconds = readings.find(({ metric }) => metric === 'pss_read_seconds')?.value ?? 0;
  return Math.max(intervalMs, (seconds * 1000) / SHARE_OF_CORE);
}
