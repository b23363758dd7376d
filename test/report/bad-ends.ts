import type { GridEngineAccount, JobRecord } from '../../src/record/record';
import { after, openBracket, ordinary, provedBracket } from './sample-records';
import { accountOf } from '../support/records';

const GIB = 1024 ** 3;

/** The accounting line of a job that ran ten minutes. */
export const tenMinutesOf = (fields: Partial<GridEngineAccount> = {}): GridEngineAccount =>
  accountOf({
    ...{ wallclock_seconds: 600, cpu_seconds: 500, user_seconds: 490, system_seconds: 10 },
    category: '-l h_vmem=4G',
    ...fields,
  });

/** A job that ended well: one slot, 4 GiB of h_vmem, a quarter of it used in ten minutes. */
export const modest: JobRecord = {
  ...ordinary,
  job_id: 4730,
  job_name: 'sim',
  pe: null,
  slots: 1,
  host_slots: 1,
  h_vmem: { request_bytes: 4 * GIB, limit_bytes: 4 * GIB, per: 'slot' },
  requests: {},
  peak_rss: provedBracket(GIB, 1.1 * GIB, after(30), 'sim'),
  peak_rss_swap: provedBracket(GIB, 1.1 * GIB, after(30), 'sim'),
  peak_process_vmem: provedBracket(1.2 * GIB, 1.2 * GIB, after(30), 'sim'),
  peak_vmem: provedBracket(1.5 * GIB, 1.6 * GIB, after(30), 'sim'),
  ended_at: after(600),
  wallclock_seconds: 600,
  cpu_seconds: 500,
  rss_byte_seconds: 600 * GIB,
  samples: 600,
  series: null,
};

const KILLED = { exit_status: 137, signal: 9 };

/** One job for each common cause of a bad end. */
export const BAD_ENDS = {
  'stopped-at-h_rt': {
    ...modest,
    ...KILLED,
    failed: 37,
    grid_engine: tenMinutesOf({ category: '-U staff -l h_rt=600,h_vmem=4G', maxvmem_bytes: 1.05 * GIB }),
  },
  'refused-memory': {
    ...modest,
    exit_status: 1,
    signal: 0,
    peak_process_vmem: openBracket(3.97 * GIB, after(580), 'python3'),
    grid_engine: tenMinutesOf({ maxvmem_bytes: 1.05 * GIB }),
    failed: 0,
  },
  deleted: {
    ...modest,
    ...KILLED,
    failed: 100,
    grid_engine: tenMinutesOf({ category: '-l h_rt=36000,h_vmem=4G', maxvmem_bytes: 1.05 * GIB }),
  },
  'out-of-memory': { ...modest, ...KILLED, metrics: { cgroup_oom_kills: 1, cgroup_oom_events: 1 } },
  'killed-nobody-knows-why': { ...modest, ...KILLED, host: 'node\u001b[31m07' },
  crashed: { ...modest, exit_status: 139, signal: 11, failed: 100, grid_engine: tenMinutesOf() },
  'never-ran': {
    ...modest,
    status: 'unsampled',
    trust: 'accounting',
    exit_status: 0,
    signal: null,
    failed: 26,
    started_at: null,
    ended_at: null,
    wallclock_seconds: 0,
    cpu_seconds: 0,
    peak_rss: null,
    peak_rss_swap: null,
    peak_process_vmem: null,
    peak_vmem: null,
    rss_byte_seconds: null,
    samples: null,
    interval_seconds: null,
    longest_gap_seconds: null,
    unobserved_start_seconds: null,
    processes: null,
    max_processes: null,
    max_threads: null,
    read_bytes: null,
    written_bytes: null,
    read_chars: null,
    written_chars: null,
    sampler: null,
    notes: ['It never started: an output file could not be opened.'],
    grid_engine: tenMinutesOf({ wallclock_seconds: 0, cpu_seconds: 0 }),
  },
} satisfies Readonly<Record<string, JobRecord>>;
