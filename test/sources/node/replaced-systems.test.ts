import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ALL_FACTS } from '../../../src/sampler/figures/job-facts';
import { emptyRecord } from '../../../src/record/record';
import { NAMED_EVENTS } from '../../../src/sources/job/perf-event-names';

/**
 * Where qmemacct has a value of a replaced system: metrics (added up, or one for each part), "record." and a field of
 * a job's record, or why it has neither.
 */
type Home = readonly string[] | { readonly none: string };

const KEY = { cluster: '', job_id: 1, task_id: null, pe_task_id: null, host: '', run_id: '' };

const PLACES: ReadonlySet<string> = new Set([
  ...ALL_FACTS.flatMap(({ metrics }) => metrics.map(({ name }) => name)),
  ...Object.keys(emptyRecord(KEY, 'finished', 'root', 0)).map((field) => `record.${field}`),
]);

const named = (prefix: string, unit: string, words: readonly string[]): Readonly<Record<string, Home>> =>
  Object.fromEntries(words.map((word) => [word, [`${prefix}_${word}_${unit}`]]));

const CPU_MODES = ['user', 'nice', 'system', 'idle', 'iowait', 'irq', 'softirq', 'steal', 'guest', 'guest_nice'];

/** FrUCToSA's sensors (through psutil), each with its fields; "": the sensor has one value. */
const FRUCTOSA: Readonly<Record<string, Readonly<Record<string, Home>>>> = {
  CPUPercent: { 'core index': ['cpu_per_cpu_busy_percent'] },
  VirtualMemory: {
    total: ['meminfo_memtotal_bytes'],
    available: ['meminfo_memavailable_bytes'],
    percent: ['meminfo_used_percent'],
    used: ['meminfo_used_bytes'],
    free: ['meminfo_memfree_bytes'],
    active: ['meminfo_active_bytes'],
    inactive: ['meminfo_inactive_bytes'],
    buffers: ['meminfo_buffers_bytes'],
    cached: ['meminfo_cached_bytes', 'meminfo_sreclaimable_bytes'],
    shared: ['meminfo_shmem_bytes'],
    slab: ['meminfo_slab_bytes'],
  },
  CPUTimes: named('cpu', 'seconds', CPU_MODES),
  CPUTimesPercent: named('cpu', 'percent', CPU_MODES),
  CPUCount: { '': ['cpu_logical'] },
  CPUStats: {
    ctx_switches: ['cpu_context_switches'],
    interrupts: ['cpu_interrupts'],
    soft_interrupts: ['cpu_softirqs'],
    syscalls: { none: 'always 0 on Linux' },
  },
  CPUFreq: {
    current: ['cpufreq_mean_hertz'],
    min: ['cpufreq_mean_minimum_hertz'],
    max: ['cpufreq_mean_maximum_hertz'],
  },
  SwapMemory: {
    total: ['swap_total_bytes'],
    used: ['swap_used_bytes'],
    free: ['swap_free_bytes'],
    percent: ['swap_used_percent'],
    sin: ['swap_in_bytes'],
    sout: ['swap_out_bytes'],
  },
  DiskPartitions: {
    count: ['mounts_partitions'],
    'device, mountpoint, fstype, opts': { none: 'a list of words, no sample; findmnt shows it' },
  },
  DiskUsage: {
    total: ['diskusage_total_bytes'],
    used: ['diskusage_used_bytes'],
    free: ['diskusage_available_bytes'],
    percent: ['diskusage_used_percent'],
  },
  DiskIOCounters: {
    read_count: ['disk_reads'],
    write_count: ['disk_writes'],
    read_bytes: ['disk_read_bytes'],
    write_bytes: ['disk_written_bytes'],
    read_time: ['disk_read_seconds'],
    write_time: ['disk_write_seconds'],
    read_merged_count: ['disk_reads_merged'],
    write_merged_count: ['disk_writes_merged'],
    busy_time: ['disk_busy_seconds'],
  },
  NetIOCounters: {
    bytes_sent: ['network_sent_bytes'],
    bytes_recv: ['network_received_bytes'],
    packets_sent: ['network_sent_packets'],
    packets_recv: ['network_received_packets'],
    errin: ['network_received_errors'],
    errout: ['network_sent_errors'],
    dropin: ['network_received_dropped'],
    dropout: ['network_sent_dropped'],
  },
  NetConnections: {
    count: ['sockets_tcp', 'sockets_tcp6', 'sockets_udp', 'sockets_udp6', 'sockets_unix'],
    status: ['tcpstates_sockets'],
    'fd, addresses, pid': { none: 'a list of words, no sample; ss shows it' },
  },
  NetIFAddrs: { addresses: { none: 'a list of words, no sample; ip address shows it' } },
  NetIFStats: {
    isup: ['network_up'],
    duplex: ['network_full_duplex'],
    speed: ['network_speed_bits_per_second'],
    mtu: ['network_mtu_bytes'],
  },
  SensorsTemperatures: {
    current: ['hwmon_temperature_celsius', 'thermal_temperature_celsius'],
    high: ['hwmon_temperature_max_celsius'],
    critical: ['hwmon_temperature_critical_celsius'],
    'chip, label': { none: 'words: the instance of the metric' },
  },
  SensorsFans: { current: ['hwmon_fan_rpm'], 'chip, label': { none: 'words: the instance of the metric' } },
  SensorsBattery: {
    percent: ['battery_charge_percent'],
    secsleft: ['battery_left_seconds'],
    power_plugged: ['battery_plugged'],
  },
  BootTime: { '': ['cpu_boot_timestamp'] },
  Users: {
    count: ['users_sessions', 'users_sessions_of_user'],
    'terminal, host, started, pid': { none: 'words, no sample; who shows them' },
  },
  SlurmJobs: { '': { none: "the jobs of another batch system; qmemacct's records are Grid Engine's jobs" } },
};

const MEMINFO_BYTES = [
  ...['memtotal', 'memfree', 'buffers', 'cached', 'swapcached', 'active', 'inactive', 'unevictable', 'mlocked'],
  ...['swaptotal', 'swapfree', 'dirty', 'writeback', 'anonpages', 'mapped', 'shmem', 'slab', 'sreclaimable'],
  ...['sunreclaim', 'kernelstack', 'pagetables', 'nfs_unstable', 'bounce', 'writebacktmp', 'commitlimit'],
  ...['committed_as', 'vmalloctotal', 'vmallocused', 'vmallocchunk', 'anonhugepages', 'directmap4k', 'directmap2m'],
  ...['hugepagesize', 'hardwarecorrupted'],
];

const sameNames = (names: readonly string[], suffix = ''): Readonly<Record<string, Home>> =>
  Object.fromEntries(names.map((name) => [name, [`${name}${suffix}`]]));

/** The columns of colmet's procstats. */
const PROCSTATS: Readonly<Record<string, Home>> = {
  ...sameNames(['uptime_total', 'uptime_idle'], '_seconds'),
  ...sameNames(
    MEMINFO_BYTES.map((name) => `meminfo_${name}`),
    '_bytes',
  ),
  ...sameNames(['total', 'free', 'rsvd', 'surp'].map((name) => `meminfo_hugepages_${name}`)),
  ...sameNames(
    ['pgpgin', 'pgpgout', 'pswpin', 'pswpout'].map((name) => `vmstat_${name}`),
    '_bytes',
  ),
  ...sameNames(['vmstat_pgfault', 'vmstat_pgmajfault']),
  ...Object.fromEntries(
    ['user', 'nice', 'system', 'idle', 'iowait', 'irq', 'softirq'].map((mode) => [
      `stat_cpu_${mode}`,
      [`cpu_${mode}_seconds`],
    ]),
  ),
  // These two columns hold the field before the one that they are named after.
  stat_cpu_guest: ['cpu_steal_seconds'],
  stat_cpu_guest_nice: ['cpu_guest_seconds'],
  stat_intr: ['cpu_interrupts'],
  stat_ctxt: ['cpu_context_switches'],
  stat_processes: ['cpu_forks'],
  stat_procs_blocked: ['cpu_procs_blocked'],
  ...sameNames(['loadavg_1min', 'loadavg_5min', 'loadavg_15min', 'loadavg_runnable']),
  loadavg_total_threads: ['loadavg_threads'],
  involved_jobs: { none: 'the records of the jobs that ran at the time say it' },
};

const SCALED: Home = { none: 'the same CPU time on all but some POWER machines, which scale it by the clock' };
const HOW_OFTEN: Home = { none: 'the time of all waits is kept; how often threads waited, their switches tell' };
const INVOLVED: Home = { none: 'the records of the jobs that ran at the time say it' };

/** The columns of colmet's other backends; perfhw's by the event counted. */
const COLMET: Readonly<Record<string, Readonly<Record<string, Home>>>> = {
  taskstats: {
    ...Object.fromEntries(['cpu', 'blkio', 'swapin', 'freepages'].map((what) => [`${what}_count`, HOW_OFTEN])),
    cpu_delay_total: ['taskstats_cpu_delay_seconds'],
    blkio_delay_total: ['taskstats_block_io_delay_seconds'],
    swapin_delay_total: ['taskstats_swap_in_delay_seconds'],
    freepages_delay_total: ['taskstats_free_pages_delay_seconds'],
    cpu_run_real_total: ['record.cpu_seconds'],
    cpu_run_virtual_total: ['taskstats_cpu_seconds'],
    cpu_scaled_run_real_total: SCALED,
    ac_btime: ['record.started_at'],
    ac_etime: ['record.wallclock_seconds'],
    // User and system time apart where the job has a control group, their sum always.
    ac_utime: ['cgroup_cpu_user_seconds', 'record.cpu_seconds'],
    ac_stime: ['cgroup_cpu_system_seconds', 'record.cpu_seconds'],
    ac_utimescaled: SCALED,
    ac_stimescaled: SCALED,
    ac_minflt: ['taskstats_minor_faults'],
    ac_majflt: ['taskstats_major_faults'],
    nvcsw: ['taskstats_voluntary_switches'],
    nivcsw: ['taskstats_involuntary_switches'],
    read_syscalls: ['taskstats_read_syscalls'],
    write_syscalls: ['taskstats_write_syscalls'],
    coremem: ['taskstats_rss_byte_seconds'],
    virtmem: ['taskstats_vmem_byte_seconds'],
    read_char: ['taskstats_read_chars_bytes', 'record.read_chars'],
    write_char: ['taskstats_write_chars_bytes', 'record.written_chars'],
    read_bytes: ['taskstats_read_bytes', 'record.read_bytes'],
    write_bytes: ['taskstats_write_bytes', 'record.written_bytes'],
    cancelled_write_bytes: ['taskstats_cancelled_write_bytes'],
  },
  'taskstats, switched off': {
    version: { none: 'of the interface, not of the job' },
    ac_exitcode: ['record.exit_status', 'record.signal'],
    'ac_flag, ac_nice, ac_shed, ac_pad': { none: 'flags of single threads, which no sum makes sense of' },
    ac_comm: ['record.peak_rss'],
    'ac_uid, ac_gid': ['record.owner'],
    'ac_pid, ac_ppid': { none: 'numbers of single threads; samples name the largest processes by theirs' },
    hiwater_rss: ['record.peak_rss'],
    hiwater_vm: ['record.peak_vmem', 'record.peak_process_vmem'],
  },
  jobproc: {
    rchar: ['record.read_chars'],
    wchar: ['record.written_chars'],
    syscr: ['taskstats_read_syscalls'],
    syscw: ['taskstats_write_syscalls'],
    read_bytes: ['process_read_bytes', 'record.read_bytes'],
    write_bytes: ['process_written_bytes', 'record.written_bytes'],
    cancelled_write_bytes: ['taskstats_cancelled_write_bytes'],
    VmRSS: ['process_rss_bytes'],
    // The last two count pages that several processes share once.
    RssShmem: ['process_shmem_bytes', 'pss_shmem_bytes', 'cgroup_shmem_bytes'],
    VmSize: ['process_vmem_bytes'],
  },
  perfhw: Object.fromEntries(
    [
      ...['cpu_cycles', 'instructions', 'cache_references', 'cache_misses', 'branch_instructions', 'branch_misses'],
      ...['bus_cycles', 'ref_cpu_cycles', 'cache_l1d', 'cache_ll', 'cache_dtlb', 'cache_itlb', 'cache_bpu'],
      ...['cache_node', 'cache_op_read', 'cache_op_prefetch', 'cache_result_access', 'cpu_clock', 'task_clock'],
      ...['page_faults', 'context_switches', 'cpu_migrations', 'page_faults_min', 'page_faults_maj'],
      ...['alignment_faults', 'emulation_faults', 'dummy', 'bpf_output'],
    ].map((event) => [event, [`perf_${event}${event.endsWith('_clock') ? '_seconds' : ''}`]]),
  ),
  nvidia: {
    power: ['nvidia_power_watts'],
    temperature: ['nvidia_temperature_celsius'],
    'utilization-gpu': ['nvidia_utilization_percent', 'gpu_utilization_mean_percent'],
    'utilization-memory': ['nvidia_memory_utilization_percent'],
    'memory-total': ['nvidia_memory_total_bytes'],
    // The total minus the used memory.
    'memory-free': ['nvidia_memory_total_bytes', 'nvidia_memory_used_bytes'],
    'memory-used': ['nvidia_memory_used_bytes', 'gpu_memory_peak_bytes'],
  },
  RAPL: {
    'counter_N, energy': ['rapl_energy_joules', 'raplperf_energy_joules'],
    'counter_N, max range': { none: 'where the counter wraps: used when it is read, and no figure of the node' },
    involved_jobs: INVOLVED,
  },
  temperature: { counter_N: ['thermal_temperature_celsius'] },
  infiniband: {
    portXmitData: ['infiniband_transmitted_bytes'],
    portRcvData: ['infiniband_received_bytes'],
    portXmitPkts: ['infiniband_transmitted_packets'],
    portRcvPkts: ['infiniband_received_packets'],
    involved_jobs: INVOLVED,
  },
  lustre: {
    lustre_nb_read: ['lustre_reads'],
    lustre_bytes_read: ['lustre_read_bytes'],
    lustre_nb_write: ['lustre_writes'],
    lustre_bytes_write: ['lustre_write_bytes'],
    involved_jobs: INVOLVED,
  },
  ipmipower: { average_power_consumption: ['ipmi_average_power_watts'], involved_jobs: INVOLVED },
};

/** The columns of JoReMon's three kinds of lines. */
const JOREMON: Readonly<Record<string, Home>> = {
  JobID: ['record.job_id'],
  Type: { none: 'one record holds what its three kinds of lines hold' },
  PID: { none: 'a record is of all processes; samples name the largest ones by their numbers' },
  CWD: { none: 'Grid Engine keeps it with the job (qstat -j), and no figure depends on it' },
  // A peak names the command that held most.
  CMD: ['record.job_name', 'record.peak_rss'],
  User: ['record.owner'],
  Hostname: ['record.host'],
  Timestamp: { none: 'every value of a series has its time' },
  CPUTime: ['process_cpu_seconds', 'record.cpu_seconds'],
  ClockTime: ['record.wallclock_seconds'],
  // Differences of the series; the mean from the record.
  CPUPercent: ['process_cpu_seconds', 'record.cpu_seconds', 'record.wallclock_seconds'],
  PeakCPUPercent: ['process_cpu_seconds'],
  RBytesFromDisk: ['process_read_bytes', 'record.read_bytes'],
  WBytesFromDisk: ['process_written_bytes', 'record.written_bytes'],
  RBytesTotal: ['record.read_chars'],
  WBytesTotal: ['record.written_chars'],
  RSS: ['process_rss_bytes'],
  PeakRSS: ['record.peak_rss'],
  VMS: ['process_vmem_bytes'],
};

function assertHomes(homes: Readonly<Record<string, Home>>, system: string): void {
  for (const [name, home] of Object.entries(homes))
    if ('none' in home) assert.match(home.none, /\w+ \w+/, `${system} ${name}`);
    else {
      assert.ok(home.length > 0, `${system} ${name}`);
      for (const place of home) assert.ok(PLACES.has(place), `${system} ${name}: there is no ${place}`);
    }
}

describe('a value of a replaced system', () => {
  it("has a metric or a reason for none, for each value of FrUCToSA's 21 sensors", () => {
    assert.equal(Object.keys(FRUCTOSA).length, 21);
    for (const [sensor, homes] of Object.entries(FRUCTOSA)) assertHomes(homes, sensor);
  });

  it("has a metric or a reason for none, for each of the 65 columns of colmet's procstats", () => {
    assert.equal(Object.keys(PROCSTATS).length, 65);
    assertHomes(PROCSTATS, 'colmet');
  });

  it("has a metric or a reason for none, for each column of colmet's other backends and perfhw's 28 events", () => {
    assert.equal(Object.keys(COLMET.taskstats ?? {}).length, 30);
    assert.equal(Object.keys(COLMET.perfhw ?? {}).length, 28);
    for (const [backend, homes] of Object.entries(COLMET)) assertHomes(homes, backend);
    // Events keep colmet's names, so that its configuration can be kept.
    const events = new Set(NAMED_EVENTS.map(({ name }) => name));
    for (const event of Object.keys(COLMET.perfhw ?? {})) assert.ok(events.has(event), event);
  });

  it("has a metric or a reason for none, for each of JoReMon's 19 columns", () => {
    assert.equal(Object.keys(JOREMON).length, 19);
    assertHomes(JOREMON, 'JoReMon');
  });
});
