import { emptyRecord, type Bracket, type JobRecord } from '../../src/record/record';
import type { JobRun } from '../../src/report/job/job-run';
import { bracketOf } from '../support/records';

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

const START = Date.parse('2026-11-20T13:02:11Z');

/** ISO time, so many seconds after the start of the ordinary job. */
export function after(seconds: number): string {
  return new Date(START + seconds * 1000).toISOString();
}

/** A bracket as procfs alone gives it: no upper bound, the kernel's high-water mark as lower bound. */
export function openBracket(bytes: number, at: string | null, command: string | null): Bracket {
  return bracketOf(bytes, null, { open: ['no-exit-records', 'no-lineage'], sources: ['sample', 'mark'], at, command });
}

function risingSeries(peak: number): number[] {
  return Array.from({ length: 240 }, (_, index) => {
    const x = index / 239;
    const wave = 0.08 * Math.sin(index / 6);
    const shape = x < 0.35 ? 0.15 + (0.85 * x) / 0.35 : x < 0.8 ? 1 - 0.25 * (x - 0.35) : 0.35;
    return Math.round(peak * Math.min(1, Math.max(0.02, shape + wave)));
  });
}

/** Other series of the ordinary job: it reads first, then computes on most of its slots, and writes at the end. */
function othersOfOrdinary(): Readonly<Record<string, readonly number[]>> {
  const steps = (of: (x: number, index: number) => number): readonly number[] =>
    Array.from({ length: 240 }, (_, index) => of(index / 239, index));
  return {
    cpu_cores: steps((x, index) => Number((x < 0.08 ? 0.9 : 3.3 + 0.5 * Math.sin(index / 4)).toFixed(2))),
    read_bytes_per_second: steps((x) => (x < 0.08 ? 31_000_000 : 300_000)),
    written_bytes_per_second: steps((x) => (x > 0.9 ? 8_700_000 : 0)),
  };
}

/** A job on four slots that used a tenth of its memory. */
export const ordinary: JobRecord = {
  ...emptyRecord(
    {
      cluster: 'biology',
      job_id: 4711,
      task_id: null,
      pe_task_id: null,
      host: 'node07',
      run_id: '1f2e3d4c.2201.99120',
    },
    'finished',
    'root',
    START + 5_026_000,
  ),
  owner: 'bob',
  job_name: 'align_reads',
  queue: 'all.q',
  pe: 'smp',
  account: 'sge',
  slots: 4,
  host_slots: 4,
  submitted_at: after(-60),
  started_at: after(0),
  ended_at: after(5025),
  exit_status: 0,
  signal: 0,
  h_vmem: { request_bytes: 4 * GIB, limit_bytes: 16 * GIB, per: 'slot' },
  requests: { mem_free: { request_bytes: 2 * GIB, limit_bytes: 8 * GIB, per: 'slot' } },
  peak_rss: openBracket(1_644_167_168, after(1736), 'samtools'),
  peak_rss_swap: openBracket(1_644_167_168, after(1736), 'samtools'),
  peak_process_vmem: openBracket(2_254_857_830, after(1730), 'samtools'),
  peak_vmem: openBracket(4_831_838_208, after(1736), 'samtools'),
  peak_footprint: null,
  wallclock_seconds: 5025,
  cpu_seconds: 15_680.4,
  processes: 12,
  max_processes: 5,
  max_threads: 40,
  read_bytes: 13_207_024_435,
  written_bytes: 4_402_341_478,
  read_chars: 15_032_385_536,
  written_chars: 4_509_715_660,
  claimed_by_tree_only: 0,
  claimed_by_group_only: 1,
  samples: 5029,
  interval_seconds: 1,
  longest_gap_seconds: 1.013,
  unobserved_start_seconds: 0.098,
  rss_byte_seconds: 4_300_000_000_000,
  sampler: { cpu_seconds: 8.1, max_rss_bytes: 61 * MIB, mode: 'full' },
  series: { start: after(0), step_seconds: 21, rss_bytes: risingSeries(1_600_000_000), others: othersOfOrdinary() },
};

/** A job that requested mem_free, which nothing enforces: its address space is far larger than the request. */
export const reservingOnly: JobRecord = {
  ...ordinary,
  job_id: 4721,
  job_name: 'impute',
  h_vmem: null,
  requests: { mem_free: { request_bytes: 4 * GIB, limit_bytes: 16 * GIB, per: 'slot' } },
  peak_process_vmem: openBracket(40 * GIB, after(1730), 'java'),
  peak_footprint: openBracket(1_744_167_168, after(1736), 'java'),
};

/** Killed by Grid Engine when its resident memory passed h_vmem. */
export const killedAtLimit: JobRecord = {
  ...ordinary,
  job_id: 4712,
  job_name: 'assemble',
  pe: null,
  slots: 1,
  host_slots: 1,
  run_id: '1f2e3d4c.3301.99320',
  h_vmem: { request_bytes: 4 * GIB, limit_bytes: 4 * GIB, per: 'slot' },
  requests: {},
  peak_rss: openBracket(4_230_000_000, after(611), 'spades-core'),
  peak_rss_swap: openBracket(4_290_000_000, after(612), 'spades-core'),
  peak_process_vmem: openBracket(4_294_000_000, after(612), 'spades-core'),
  peak_vmem: openBracket(4_402_000_000, after(612), 'spades-core'),
  ended_at: after(612),
  wallclock_seconds: 612,
  cpu_seconds: 603,
  exit_status: 137,
  signal: 9,
  failed: 37,
  rss_byte_seconds: 1_300_000_000_000,
  samples: 615,
  claimed_by_group_only: 0,
  series: {
    start: after(0),
    step_seconds: 6,
    others: {},
    rss_bytes: Array.from({ length: 102 }, (_, index) => Math.round(4_230_000_000 * ((index + 1) / 102) ** 1.4)),
  },
};

/** No sampler could start under 50 MB of address space: figures from Grid Engine's `usage` only. */
export const unsampled: JobRecord = {
  ...emptyRecord(
    {
      cluster: 'biology',
      job_id: 4713,
      task_id: null,
      pe_task_id: null,
      host: 'node08',
      run_id: '1f2e3d4c.4401.99520',
    },
    'unsampled',
    'usage',
    START + 20_000,
  ),
  owner: 'alice',
  job_name: 'tiny.sh',
  queue: 'short.q',
  slots: 1,
  host_slots: 1,
  started_at: after(3),
  ended_at: after(15),
  exit_status: 0,
  signal: 0,
  h_vmem: { request_bytes: 50 * MIB, limit_bytes: 50 * MIB, per: 'slot' },
  peak_rss: bracketOf(5_242_880, null, { open: ['no-samples'], sources: ['usage'] }),
  wallclock_seconds: 12,
  cpu_seconds: 11.2,
  notes: ['No sampler was started: h_vmem=50M leaves no room for it and the limit could not be lifted.'],
};

/** Its sampler was killed while it ran. */
export const lost: JobRecord = {
  ...ordinary,
  job_id: 4714,
  job_name: 'train',
  run_id: '1f2e3d4c.5501.99720',
  status: 'lost',
  ended_at: null,
  exit_status: null,
  signal: null,
  wallclock_seconds: null,
  peak_rss: { ...openBracket(1_644_167_168, after(1736), 'python3'), open: ['no-exit-records', 'sampler-lost'] },
  peak_rss_swap: null,
  peak_vmem: null,
  notes: ['The sampler was last alive at 2026-11-20T13:40:02Z.'],
};

/** Still running on this host, 12 minutes after its start. */
export const running: JobRecord = {
  ...ordinary,
  job_id: 4715,
  job_name: 'blast',
  run_id: '1f2e3d4c.6601.99920',
  status: 'running',
  ended_at: null,
  exit_status: null,
  signal: null,
  wallclock_seconds: 723,
  cpu_seconds: 2603,
  peak_rss: openBracket(612_368_384, after(700), 'blastn'),
  peak_rss_swap: openBracket(612_368_384, after(700), 'blastn'),
  peak_process_vmem: openBracket(1_254_857_830, after(700), 'blastn'),
  peak_vmem: openBracket(1_831_838_208, after(700), 'blastn'),
  samples: 727,
  rss_byte_seconds: null,
  series: {
    start: after(0),
    step_seconds: 6,
    others: {},
    rss_bytes: Array.from({ length: 120 }, (_, index) => Math.round(612_368_384 * Math.min(1, (index + 4) / 60))),
  },
};

/** From hooks that ran as the job's owner; exit records and lineage give all upper bounds. */
export const selfReported: JobRecord = {
  ...ordinary,
  job_id: 4716,
  job_name: 'simulate',
  run_id: '1f2e3d4c.7701.99930',
  trust: 'self-reported',
  pe: null,
  slots: 1,
  host_slots: 1,
  h_vmem: { request_bytes: 2 * GIB, limit_bytes: 2 * GIB, per: 'slot' },
  requests: {},
  peak_rss: bracketOf(1_610_612_736, 1_612_000_000, {
    slack_bytes: 262_144,
    exact: true,
    sources: ['sample', 'exit-record'],
    at: after(1736),
    command: 'sim',
  }),
  peak_rss_swap: bracketOf(1_610_612_736, 1_744_830_464, {
    slack_bytes: 262_144,
    sources: ['sample', 'exit-record'],
    at: after(1736),
    command: 'sim',
  }),
  peak_process_vmem: bracketOf(1_700_000_000, 1_700_000_000, {
    sources: ['exit-record'],
    at: after(1736),
    command: 'sim',
  }),
  peak_vmem: null,
  cpu_seconds: 4990,
  unobserved_start_seconds: 0,
};

/** Java with a large heap reservation: its address space decides, not the memory it touched. */
export const reserving: JobRecord = {
  ...ordinary,
  job_id: 4717,
  job_name: 'gatk',
  run_id: '1f2e3d4c.8801.99940',
  peak_process_vmem: openBracket(Math.round(9.8 * GIB), after(40), 'java'),
};

/** A job whose name, owner, queue and command hold what could harm a terminal, a table or a page. */
export const hostile: JobRecord = {
  ...ordinary,
  job_id: 4718,
  job_name: '<&"> \u001b[31mred\u001b[0m \u202egnp.exe =cmd() ünïcödé 日本語\u0007',
  owner: "=cmd()|' /C calc'!A0",
  queue: 'all.q\u009b2J',
  project: '\ud800lone',
  run_id: '1f2e3d4c.9901.99950',
  requests: { 'mem\u001b]0;own\u0007_free': { request_bytes: GIB, limit_bytes: 4 * GIB, per: 'slot' } },
  peak_rss: openBracket(1_644_167_168, after(1736), '\u001b[2Jrm -rf'),
  notes: ['The command was "\u001b[31mx\u001b[0m".'],
};

/** Twenty array tasks on two hosts; task 7 was killed at its limit. */
export const arrayOfTwenty: readonly JobRecord[] = Array.from({ length: 20 }, (_, index): JobRecord => {
  const task = index + 1;
  const killed = task === 7;
  const peak = killed ? 2_120_000_000 : 600_000_000 + 31_000_000 * ((task * 7) % 11);
  const seconds = killed ? 310 : 1200 + 37 * ((task * 5) % 13);
  return {
    ...ordinary,
    job_id: 4720,
    task_id: task,
    job_name: 'sweep',
    pe: null,
    slots: 1,
    host_slots: 1,
    host: task % 2 === 0 ? 'node07' : 'node08',
    run_id: `1f2e3d4c.${String(10_000 + task)}.99950`,
    started_at: after(task),
    ended_at: after(task + seconds),
    wallclock_seconds: seconds,
    h_vmem: { request_bytes: 2 * GIB, limit_bytes: 2 * GIB, per: 'slot' },
    requests: {},
    peak_rss: openBracket(peak, after(200), 'fit'),
    peak_rss_swap: openBracket(peak, after(200), 'fit'),
    peak_process_vmem: openBracket(peak + 20_000_000, after(200), 'fit'),
    peak_vmem: null,
    cpu_seconds: seconds * 0.97,
    exit_status: killed ? 137 : 0,
    signal: killed ? 9 : 0,
    rss_byte_seconds: peak * seconds * 0.8,
  };
});

/** The first run of `ordinary`, which exited with status 99 (to be run again). */
export const firstRun: JobRecord = {
  ...ordinary,
  run_id: '1f2e3d4c.1101.98000',
  started_at: after(-900),
  ended_at: after(-600),
  wallclock_seconds: 300,
  cpu_seconds: 290,
  rss_byte_seconds: 240_000_000_000,
  exit_status: 99,
  peak_rss: openBracket(900_000_000, after(-700), 'samtools'),
};

/** Records as runs: each the first run of the only job of its number, unless `attempt` says otherwise. */
export function asRuns(records: readonly JobRecord[], attempt = 1): JobRun[] {
  return records.map((record) => ({ record, attempt, incarnation: 1 }));
}

/** A job on a node with a GPU, perf events and cgroup v2. */
export const wellWatched: JobRecord = {
  ...ordinary,
  job_id: 4760,
  job_name: 'train',
  metrics: {
    energy_package_joules: 412_345.678,
    energy_dram_joules: 4_120_000,
    gpu_energy_joules: 1_204_000,
    gpu_memory_peak_bytes: 34_359_738_368,
    gpu_utilization_mean_percent: 87.4,
    perf_cpu_cycles: 41_230_000_000_000,
    perf_instructions: 78_120_000_000_000,
    perf_ipc_ratio: 1.8947,
    perf_context_switches: 123_456,
    perf_cpu_migrations: 0,
    cgroup_peak_bytes: 1_700_000_000,
    cgroup_oom_kills: 2,
    pss_peak_bytes: 1_500_000_000,
    taskstats_processes: 13,
    taskstats_unsampled_processes: 1,
    taskstats_cpu_seconds: 15_680.25,
    taskstats_major_faults: 0,
    taskstats_voluntary_switches: 98_765,
    taskstats_read_chars_bytes: 15_032_385_536,
    taskstats_rss_byte_seconds: 15_483_600_000,
    taskstats_cpu_delay_seconds: 12.5,
    taskstats_swap_in_delay_seconds: 0.004,
    weather_celsius: -3.25,
  },
};

/** A bracket whose upper bound comes from exit records and lineage. */
export function provedBracket(lower: number, upper: number, at: string | null, command: string | null): Bracket {
  return bracketOf(lower, upper, {
    ...{ slack_bytes: 262_144, exact: upper - lower < MIB, sources: ['sample', 'mark', 'exit-record'] },
    ...{ at, command },
  });
}

const HOST_SLOTS = 16;

/** The master of an MPI job on so many hosts of 16 slots: it starts the tasks and uses little memory itself. */
export function mpiMaster(hosts: number): JobRecord {
  return {
    ...ordinary,
    job_id: 4800,
    job_name: 'cfd_solve',
    pe: 'orte',
    slots: hosts * HOST_SLOTS,
    host_slots: HOST_SLOTS,
    host: 'node01',
    queue: 'mpi.q',
    run_id: '1f2e3d4c.3001.99120',
    granted_hosts: Array.from({ length: hosts }, (_, index) => ({ host: mpiHost(index + 1), slots: HOST_SLOTS })),
    h_vmem: { request_bytes: 2 * GIB, limit_bytes: 2 * HOST_SLOTS * GIB, per: 'slot' },
    requests: {},
    peak_rss: provedBracket(30_000_000, 30_100_000, after(3), 'mpirun'),
    peak_rss_swap: provedBracket(30_000_000, 30_100_000, after(3), 'mpirun'),
    peak_process_vmem: provedBracket(220_000_000, 220_000_000, after(3), 'mpirun'),
    peak_vmem: null,
    cpu_seconds: 41,
    processes: 3,
    claimed_by_group_only: 0,
    rss_byte_seconds: 150_000_000_000,
    series: { start: after(0), step_seconds: 42, rss_bytes: Array.from({ length: 120 }, () => 30_000_000), others: {} },
  };
}

export const mpiHost = (number: number): string => `node${String(number).padStart(2, '0')}`;

/** The slave task on one of its hosts; the higher the host's number, the higher its peak. */
export function mpiTask(number: number, task = 1): JobRecord {
  const host = mpiHost(number);
  const peak = 4_000_000_000 + 350_000_000 * number + 10_000_000 * task;
  const cpu = 70_000 - 400 * ((number * 7) % 13);
  return {
    ...mpiMaster(4),
    host,
    pe_task_id: `${task}.${host}`,
    run_id: `1f2e3d4c.${4000 + 10 * number + task}.99400`,
    granted_hosts: null,
    job_name: null,
    slots: null,
    submitted_at: null,
    started_at: after(2 + (number % 3) / 4),
    ended_at: after(5020),
    wallclock_seconds: 5018,
    exit_status: 0,
    peak_rss: provedBracket(peak, peak + 20_000_000, after(2500), 'simpleFoam'),
    peak_rss_swap: provedBracket(peak, peak + 20_000_000, after(2500), 'simpleFoam'),
    peak_process_vmem: provedBracket(900_000_000, 900_000_000, after(2500), 'simpleFoam'),
    cpu_seconds: cpu,
    processes: 17,
    rss_byte_seconds: peak * 4000,
    series: {
      start: after(2),
      step_seconds: 42,
      others: {},
      rss_bytes: Array.from({ length: 120 }, (_, index) => Math.round(peak * Math.min(1, (index + 10) / 60))),
    },
  };
}
