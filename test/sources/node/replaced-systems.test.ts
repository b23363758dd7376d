import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NODE_SOURCES } from '../../../src/sources/registry';

/** Where a value of a replaced system is found: metrics that give it (added up, or one for each part), or why there are none. */
type Home = readonly string[] | { readonly none: string };

const METRICS = new Set(NODE_SOURCES.flatMap(({ metrics }) => metrics.map(({ name }) => name)));

const named = (prefix: string, unit: string, words: readonly string[]): Readonly<Record<string, Home>> =>
  Object.fromEntries(words.map((word) => [word, [`${prefix}_${word}_${unit}`]]));

const CPU_MODES = ['user', 'nice', 'system', 'idle', 'iowait', 'irq', 'softirq', 'steal', 'guest', 'guest_nice'];

/** FrUCToSA's sensors (through psutil), each with its fields; "" for a sensor of one value. */
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
  SensorsTemperatures: { current: { none: "the hardware sensors' source has it" } },
  SensorsFans: { current: { none: "the hardware sensors' source has it" } },
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
const COLMET: Readonly<Record<string, Home>> = {
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

function assertHomes(homes: Readonly<Record<string, Home>>, system: string): void {
  for (const [name, home] of Object.entries(homes))
    if ('none' in home) assert.match(home.none, /\w+ \w+/, `${system} ${name}`);
    else {
      assert.ok(home.length > 0, `${system} ${name}`);
      for (const metric of home) assert.ok(METRICS.has(metric), `${system} ${name}: no metric ${metric}`);
    }
}

describe('what the replaced systems read of a node', () => {
  it("FrUCToSA: each of its 21 sensors' values has a metric, or a reason for none", () => {
    assert.equal(Object.keys(FRUCTOSA).length, 21);
    for (const [sensor, homes] of Object.entries(FRUCTOSA)) assertHomes(homes, sensor);
  });

  it('colmet: each of the 65 columns of procstats (one never filled) has a metric, or a reason for none', () => {
    assert.equal(Object.keys(COLMET).length, 65);
    assertHomes(COLMET, 'colmet');
  });
});
