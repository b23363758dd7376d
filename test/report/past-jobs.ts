import type { JobRecord } from '../../src/record/record';
import { killedAtLimit, openBracket, ordinary } from './sample-records';

const MINUTE = 60_000;
const FIRST = Date.parse('2026-11-01T10:00:00Z');
const GIB = 1024 ** 3;

/**
 * Jobs whose names differ in digits only, each started ten minutes after the one before; each runs five.
 * `first`: ms.
 */
export function pastJobs(
  count: number,
  more: (index: number) => Partial<JobRecord> = () => ({}),
  first = FIRST,
): JobRecord[] {
  return Array.from({ length: count }, (_, index) => {
    const at = (minutes: number): string => new Date(first + (index * 10 + minutes) * MINUTE).toISOString();
    return {
      ...ordinary,
      job_id: 1000 + index,
      job_name: `step_${index}`,
      run_id: `badcafe.${index + 1}.2`,
      submitted_at: at(0),
      started_at: at(1),
      ended_at: at(6),
      wallclock_seconds: 300,
      revision: Date.parse(at(6)),
      series: null,
      ...more(index),
    };
  });
}

/** How a job of `pastJobs` ends at a limit of 4 GiB, 1 GiB a slot. */
export function stoppedAtLimit(): Partial<JobRecord> {
  const { exit_status, signal, failed, peak_rss, peak_rss_swap, peak_process_vmem } = killedAtLimit;
  const h_vmem = { request_bytes: GIB, limit_bytes: 4 * GIB, per: 'slot' } as const;
  return { h_vmem, exit_status, signal, failed, peak_rss, peak_rss_swap, peak_process_vmem };
}

/** Fields of a job whose largest address space was so many GiB. */
export const needing = (gib: number): Partial<JobRecord> => ({
  peak_process_vmem: openBracket(gib * GIB, null, null),
});
