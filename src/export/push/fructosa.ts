import type { Point } from './point';

/**
 * The paths under which FrUCToSA's agents sent to Graphite, HOST.SENSOR.KEY, for sites with dashboards built on them.
 * Each line: the sensor, the factor from our unit to the sensor's, and pairs KEY=METRIC, the metric without
 * `qmemacct_node_`. Several instances (disks, interfaces) are added up, as psutil does.
 */
const SENSORS = `
VirtualMemory 1 total=meminfo_memtotal_bytes free=meminfo_memfree_bytes available=meminfo_memavailable_bytes
VirtualMemory 1 used=meminfo_used_bytes active=meminfo_active_bytes inactive=meminfo_inactive_bytes
VirtualMemory 1 buffers=meminfo_buffers_bytes cached=meminfo_cached_bytes slab=meminfo_slab_bytes
VirtualMemory 1 shared=meminfo_shmem_bytes
VirtualMemory 100 percent=meminfo_used_ratio
SwapMemory 1 total=swap_total_bytes used=swap_used_bytes free=swap_free_bytes
SwapMemory 1 sin=swap_in_bytes_total sout=swap_out_bytes_total
SwapMemory 100 percent=swap_used_ratio
CPUStats 1 ctx_switches=cpu_context_switches_total interrupts=cpu_interrupts_total soft_interrupts=cpu_softirqs_total
CPUFreq 1e-6 current=cpufreq_mean_hertz min=cpufreq_mean_minimum_hertz max=cpufreq_mean_maximum_hertz
CPUPercent 100 =cpu_per_cpu_busy_ratio
CPUCount 1 =cpu_logical
BootTime 1 =cpu_boot_timestamp_seconds
DiskUsage 1 total=diskusage_total_bytes used=diskusage_used_bytes free=diskusage_available_bytes
DiskUsage 100 percent=diskusage_used_ratio
DiskIOCounters 1 read_count=disk_reads_total read_bytes=disk_read_bytes_total
DiskIOCounters 1 write_count=disk_writes_total write_bytes=disk_written_bytes_total
DiskIOCounters 1 read_merged_count=disk_reads_merged_total write_merged_count=disk_writes_merged_total
DiskIOCounters 1000 read_time=disk_read_seconds_total write_time=disk_write_seconds_total
DiskIOCounters 1000 busy_time=disk_busy_seconds_total
NetIOCounters 1 bytes_recv=network_received_bytes_total packets_recv=network_received_packets_total
NetIOCounters 1 errin=network_received_errors_total dropin=network_received_dropped_total
NetIOCounters 1 bytes_sent=network_sent_bytes_total packets_sent=network_sent_packets_total
NetIOCounters 1 errout=network_sent_errors_total dropout=network_sent_dropped_total
`;
const CPU_TIMES = ['user', 'nice', 'system', 'idle', 'iowait', 'irq', 'softirq', 'steal', 'guest', 'guest_nice'];

interface Place {
  /** `SENSOR` or `SENSOR.KEY`. */
  readonly name: string;
  readonly factor: number;
}

/** FrUCToSA's place for each of our metrics, by name. */
export const FRUCTOSA_PLACES: ReadonlyMap<string, Place> = new Map([
  ...SENSORS.trim()
    .split('\n')
    .flatMap((line) => {
      const [sensor = '', factor, ...pairs] = line.split(' ');
      return pairs.map((pair): readonly [string, Place] => {
        const [key = '', ours = ''] = pair.split('=');
        return [`qmemacct_node_${ours}`, { name: key === '' ? sensor : `${sensor}.${key}`, factor: Number(factor) }];
      });
    }),
  ...CPU_TIMES.flatMap((key): readonly (readonly [string, Place])[] => [
    [`qmemacct_node_cpu_${key}_seconds_total`, { name: `CPUTimes.${key}`, factor: 1 }],
    [`qmemacct_node_cpu_${key}_ratio`, { name: `CPUTimesPercent.${key}`, factor: 100 }],
  ]),
]);

/** Paths and values of one round; none for what FrUCToSA did not measure, such as file systems other than /. */
export function fructosaPaths(points: readonly Point[]): readonly { readonly path: string; readonly value: number }[] {
  const values = new Map<string, number>();
  for (const { metric, labels, value } of points) {
    const place = FRUCTOSA_PLACES.get(metric);
    if (place === undefined || (labels.path ?? '/') !== '/') continue;
    const [host = ''] = (labels.host ?? '').split('.');
    const cpu = labels.cpu === undefined ? '' : `.${labels.cpu.replace(/\D/g, '')}`;
    const path = `${host}.${place.name}${cpu}`;
    values.set(path, (values.get(path) ?? 0) + value * place.factor);
  }
  return [...values].map(([path, value]) => ({ path, value }));
}
