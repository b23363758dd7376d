import { emptyRecord } from '../../src/record/record';
import type { Bracket, JobRecord, MemoryRequest } from '../../src/record/record';

/** Records as of a cluster with 500 hosts and 300 owners, to measure sizes and times; the same for the same seed. */

const GIB = 2 ** 30;

const digest = (number: number): string => (Math.imul(number, 0x9e3779b1) >>> 0).toString(16).padStart(8, '0');
const START = Date.UTC(2026, 0, 1);

/** mulberry32 (public domain): numbers in [0, 1). */
export function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

export interface RealisticRecords {
  readonly next: () => JobRecord;
}

export function realisticRecords(seed = 1): RealisticRecords {
  const random = seededRandom(seed);
  const whole = (most: number): number => Math.floor(random() * most);
  /** A number below `most`; small numbers are frequent, large ones rare. */
  const skewed = (most: number): number => Math.floor(random() ** 3 * most);
  const boots = Array.from({ length: 500 }, () =>
    whole(2 ** 32)
      .toString(16)
      .padStart(8, '0'),
  );
  let job = 1_000_000;
  let task: number | null = null;
  let now = START;

  const bracket = (
    lower: number,
    upper: number | null,
    at: number,
    command: string,
    more?: Partial<Bracket>,
  ): Bracket => ({
    lower_bytes: lower,
    upper_bytes: upper,
    slack_bytes: 65536 * (1 + whole(8)),
    proved: upper !== null,
    exact: upper !== null && upper - lower < 2 ** 20,
    open: upper === null ? ['no-lineage', 'no-exit-records'] : [],
    sources: ['sample', 'mark'],
    at: new Date(at).toISOString(),
    command,
    ...more,
  });

  const next = (): JobRecord => {
    if (task !== null && random() < 0.95) task++;
    else {
      job++;
      task = random() < 0.02 ? 1 : null;
    }
    now += whole(4000);
    const host = whole(500);
    const slots = random() < 0.2 ? 2 ** (1 + whole(4)) : 1;
    const wallMs = 1000 + Math.floor(random() ** 3 * 86_400_000);
    const started = now;
    const ended = started + wallMs;
    const perSlot = (1 + whole(8)) * 2 * GIB;
    const limit = perSlot * slots;
    const hVmem: MemoryRequest | null =
      random() < 0.95 ? { request_bytes: perSlot, limit_bytes: limit, per: 'slot' } : null;
    const rss = Math.floor((random() ** 2 * limit) / 4096) * 4096;
    const command = `tool${skewed(400)}`;
    const at = started + whole(wallMs);
    const closed = random() < 0.6;
    const peakRss = bracket(rss, closed ? rss + 4096 * whole(2000) : null, at, command);
    const swaps = random() < 0.1;
    const process = Math.floor((rss * (0.7 + random())) / 4096) * 4096;
    const cpu = Math.round(wallMs * slots * random() * 0.1) / 100;
    const wallclock = wallMs / 1000;
    const processes = 3 + skewed(300);
    const key = {
      cluster: 'hpc',
      job_id: job,
      task_id: task,
      pe_task_id: null,
      host: `node${String(host).padStart(4, '0')}.cluster.example.org`,
      run_id: `${boots[host] ?? ''}.${1000 + whole(4_000_000)}.${whole(400_000_000)}`,
    };
    const user = skewed(300);
    const step = skewed(3000);
    return {
      ...emptyRecord(key, 'finished', 'root', ended + 20),
      owner: `user${user}`,
      job_name: `pipeline_step_${step}.sh`,
      queue: ['all.q', 'long.q', 'short.q', 'gpu.q'][whole(4)] ?? null,
      project: `group${whole(40)}`,
      pe: slots > 1 ? 'smp' : null,
      account: 'sge',
      program: `${digest(step)}.${digest(user)}`,
      slots,
      host_slots: slots,
      submitted_at: new Date(Math.floor((started - whole(3_600_000)) / 1000) * 1000).toISOString(),
      started_at: new Date(started).toISOString(),
      ended_at: new Date(ended).toISOString(),
      exit_status: random() < 0.92 ? 0 : 1 + whole(140),
      signal: 0,
      h_vmem: hVmem,
      requests: random() < 0.4 ? { mem_free: { request_bytes: perSlot, limit_bytes: limit, per: 'slot' } } : {},
      peak_rss: peakRss,
      peak_rss_swap: swaps ? bracket(rss + 4096 * whole(100_000), null, at, command) : peakRss,
      peak_vmem: bracket(rss * 2 + 4096 * whole(100_000), null, started + whole(wallMs), command),
      peak_process_vmem: bracket(process, closed ? process : null, started + whole(wallMs), command, {
        slack_bytes: 0,
        sources: ['mark'],
      }),
      peak_footprint: bracket(Math.max(0, rss - 1024 * whole(50_000)), null, started + whole(wallMs), command, {
        slack_bytes: 0,
        open: ['no-page-accounting'],
        sources: ['sample'],
      }),
      wallclock_seconds: wallclock,
      cpu_seconds: cpu,
      processes,
      max_processes: 3 + whole(20),
      max_threads: 3 + whole(60),
      read_bytes: 4096 * skewed(20_000_000),
      written_bytes: 4096 * skewed(5_000_000),
      read_chars: skewed(100_000_000_000),
      written_chars: skewed(20_000_000_000),
      claimed_by_tree_only: 0,
      claimed_by_group_only: 0,
      samples: Math.ceil(wallclock) + 5,
      interval_seconds: 1,
      longest_gap_seconds: (1000 + whole(300)) / 1000,
      unobserved_start_seconds: (80 + whole(100)) / 1000,
      rss_byte_seconds: (rss * wallMs * (0.5 + random() / 2)) / 1000,
      sampler: {
        cpu_seconds: Math.round(wallclock * 2 + 150) / 1000,
        max_rss_bytes: (55 + whole(8)) * 2 ** 20 + 4096 * whole(256),
        mode: 'full',
      },
      notes: closed ? [] : [`the first ${80 + whole(100)} ms of the job were not sampled`],
    };
  };
  return { next };
}

/** The last heartbeat of the running job before `record`. */
export function heartbeatOf(record: JobRecord): JobRecord {
  return {
    ...record,
    status: 'running',
    ended_at: null,
    exit_status: null,
    signal: null,
    notes: [],
    revision: record.revision - 30_000,
  };
}

/** The accounting line of the same job, with the key of `record`. */
export function accountingLineOf(record: JobRecord): JobRecord {
  return {
    ...emptyRecord(record, 'finished', 'accounting', record.revision + 60_000),
    owner: record.owner,
    job_name: record.job_name,
    queue: record.queue,
    project: record.project,
    account: record.account,
    slots: record.slots,
    submitted_at: record.submitted_at,
    started_at: record.started_at,
    ended_at: record.ended_at,
    exit_status: record.exit_status,
    failed: 0,
    wallclock_seconds: record.wallclock_seconds,
    cpu_seconds: record.cpu_seconds,
    notes: [],
  };
}
