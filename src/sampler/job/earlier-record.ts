import type { Bracket, JobRecord } from '../../record/record';

/** Of two readings of one peak the higher lower end; whatever was between them nobody saw. */
function higher(a: Bracket | null, b: Bracket | null): Bracket | null {
  const best = a === null ? b : b === null || a.lower_bytes >= b.lower_bytes ? a : b;
  if (best === null) return null;
  const open = [...new Set([...best.open, ...(a?.open ?? []), ...(b?.open ?? []), 'sampler-lost' as const])].sort();
  return { ...best, upper_bytes: null, proved: false, exact: false, open };
}

const most = (a: number | null, b: number | null): number | null => (a === null ? b : b === null ? a : Math.max(a, b));

/**
 * A record completed by what a predecessor, which died in the middle of the job, had saved: higher peaks and totals.
 * Upper ends are open then.
 */
export function withEarlier(record: JobRecord, earlier: JobRecord): JobRecord {
  return {
    ...record,
    started_at: earlier.started_at ?? record.started_at,
    peak_rss: higher(record.peak_rss, earlier.peak_rss),
    peak_rss_swap: higher(record.peak_rss_swap, earlier.peak_rss_swap),
    peak_vmem: higher(record.peak_vmem, earlier.peak_vmem),
    peak_process_vmem: higher(record.peak_process_vmem, earlier.peak_process_vmem),
    peak_footprint: higher(record.peak_footprint, earlier.peak_footprint),
    cpu_seconds: most(record.cpu_seconds, earlier.cpu_seconds),
    processes: most(record.processes, earlier.processes),
    max_processes: most(record.max_processes, earlier.max_processes),
    max_threads: most(record.max_threads, earlier.max_threads),
    read_bytes: most(record.read_bytes, earlier.read_bytes),
    written_bytes: most(record.written_bytes, earlier.written_bytes),
    read_chars: most(record.read_chars, earlier.read_chars),
    written_chars: most(record.written_chars, earlier.written_chars),
    samples: record.samples === null ? earlier.samples : record.samples + (earlier.samples ?? 0),
    metrics: { ...earlier.metrics, ...record.metrics },
    notes: [
      ...earlier.notes.filter((note) => !record.notes.includes(note)),
      ...record.notes,
      'An earlier sampler of this job died: its peaks and totals are among these, what happened in between is not.',
    ],
  };
}
