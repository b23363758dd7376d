import type { LineageTotals } from './lineage';

const ns = (value: number): number => Math.round(value / 1e6) / 1000;
const us = (value: number): number => Math.round(value / 1e6);

/** What the exit records tell of the whole job, under the metric names of the `taskstats` source. */
export function lineageMetrics({ processes, ended, unsampled, sums }: LineageTotals): Readonly<Record<string, number>> {
  return {
    taskstats_processes: processes,
    taskstats_ended_processes: ended,
    taskstats_unsampled_processes: unsampled,
    taskstats_cpu_seconds: ns(sums.cpuNs),
    taskstats_minor_faults: sums.minorFaults,
    taskstats_major_faults: sums.majorFaults,
    taskstats_read_chars_bytes: sums.readChars,
    taskstats_write_chars_bytes: sums.writeChars,
    taskstats_read_syscalls: sums.readSyscalls,
    taskstats_write_syscalls: sums.writeSyscalls,
    taskstats_read_bytes: sums.readBytes,
    taskstats_write_bytes: sums.writeBytes,
    taskstats_cancelled_write_bytes: sums.cancelledWriteBytes,
    taskstats_voluntary_switches: sums.voluntarySwitches,
    taskstats_involuntary_switches: sums.involuntarySwitches,
    taskstats_rss_byte_seconds: us(sums.rssByteUs),
    taskstats_vmem_byte_seconds: us(sums.vmByteUs),
    taskstats_cpu_delay_seconds: ns(sums.cpuDelayNs),
    taskstats_block_io_delay_seconds: ns(sums.blockIoDelayNs),
    taskstats_swap_in_delay_seconds: ns(sums.swapInDelayNs),
    taskstats_free_pages_delay_seconds: ns(sums.freePagesDelayNs),
    taskstats_thrashing_delay_seconds: ns(sums.thrashingDelayNs),
    taskstats_compact_delay_seconds: ns(sums.compactDelayNs),
  };
}
