/**
 * One job's account on one host: what the sampler writes, the outbox carries, the accounting DB merges and
 * `--json` prints. The field names are the published contract (schema 1): fields may be added, never renamed.
 */

export const RECORD_SCHEMA = 1;

/** Who says so, best first; a record of lower rank never overrides a field of a higher one. */
export type Trust = 'root' | 'usage' | 'accounting' | 'self-reported';

export type RecordStatus = 'finished' | 'running' | 'lost' | 'unsampled';

/** Why an end of a bracket is open: nothing that was seen rules out a higher value. */
export type OpenReason =
  | 'no-lineage'
  | 'no-exit-records'
  | 'no-samples'
  | 'start-gap'
  | 'end-gap'
  | 'exec'
  | 'failed-read'
  | 'fallen-mark'
  | 'sampler-lost'
  | 'no-page-accounting'
  | 'lost-records'
  | 'listener-lost'
  | 'unknown-origin'
  | 'swap'
  | 'unseen-host'
  | 'unseen-task';

/** Where the ends of a bracket came from; `limit`: its upper end is no more than a limit, nothing measured it. */
export type BracketSource = 'sample' | 'mark' | 'usage' | 'exit-record' | 'cgroup' | 'limit';

/** A peak as proved bounds, in bytes. `slack_bytes` is already inside both ends. */
export interface Bracket {
  readonly lower_bytes: number;
  /** null: open, for the reasons in `open`. */
  readonly upper_bytes: number | null;
  readonly slack_bytes: number;
  readonly proved: boolean;
  /** proved, and the ends within max(1 MiB, 1 %) of each other. */
  readonly exact: boolean;
  readonly open: readonly OpenReason[];
  readonly sources: readonly BracketSource[];
  /** When the lower end was seen (ISO 8601, UTC); null where only `usage` knows it. */
  readonly at: string | null;
  /** The command that held most at that moment. */
  readonly command: string | null;
}

/** A memory request of the job, scaled as Grid Engine scales it. */
export interface MemoryRequest {
  readonly request_bytes: number | null;
  /** On this host: request x slots unless the complex is consumable JOB; null: unlimited. */
  readonly limit_bytes: number | null;
  readonly per: 'slot' | 'job';
}

export interface SamplerCost {
  readonly cpu_seconds: number;
  readonly max_rss_bytes: number;
  /** "full", or "small" where the job's limits could not be lifted. */
  readonly mode: 'full' | 'small';
}

/** Memory over time for the chart: of each step the largest rss_sum that was sampled. */
export interface MemorySeries {
  readonly start: string;
  readonly step_seconds: number;
  readonly rss_bytes: readonly number[];
}

/** What a parallel job was granted on one of its hosts. */
export interface GrantedSlots {
  readonly host: string;
  readonly slots: number;
}

/**
 * What Grid Engine's own accounting says of the job on this host, under its dialect's meaning; where it wrote several
 * lines for one run (midnight's intermediate ones), their sums and largest.
 */
export interface GridEngineAccount {
  readonly wallclock_seconds: number;
  /** `cpu`, and what rusage says of it. */
  readonly cpu_seconds: number;
  readonly user_seconds: number | null;
  readonly system_seconds: number | null;
  readonly maxvmem_bytes: number | null;
  readonly maxrss_bytes: number | null;
  /** The integral of memory over CPU time. */
  readonly mem_gib_seconds: number | null;
  readonly io_gib: number | null;
  /** The options that the job was submitted with, as Grid Engine normalised them; the user chooses them. */
  readonly category: string | null;
  /** Who deleted the job, where the dialect tells. */
  readonly deleted_by: string | null;
  readonly lines: number;
}

/** What identifies a record (with `pe_task_id` null for the job's master task). */
export interface RecordKey {
  readonly cluster: string;
  readonly job_id: number;
  /** null unless the job is an array job. */
  readonly task_id: number | null;
  readonly pe_task_id: string | null;
  readonly host: string;
  /** boot id (8 hex digits) . shepherd's pid . its start time in clock ticks. */
  readonly run_id: string;
}

export interface JobRecord extends RecordKey {
  readonly owner: string | null;
  readonly job_name: string | null;
  readonly queue: string | null;
  readonly project: string | null;
  readonly pe: string | null;
  readonly account: string | null;
  /** Slots of the whole job, and those on this host. */
  readonly slots: number | null;
  readonly host_slots: number | null;
  /** Of a parallel job's master: its hosts, as Grid Engine granted them (at most 4,096). */
  readonly granted_hosts: readonly GrantedSlots[] | null;
  readonly submitted_at: string | null;
  readonly started_at: string | null;
  readonly ended_at: string | null;
  readonly exit_status: number | null;
  /** Signal number that ended the job's first process; 0: none. */
  readonly signal: number | null;
  /** Grid Engine's `failed` code; null until joined from accounting. */
  readonly failed: number | null;
  readonly status: RecordStatus;
  readonly trust: Trust;
  readonly h_vmem: MemoryRequest | null;
  /** Every other memory request or limit that is in force, by complex name. */
  readonly requests: Readonly<Record<string, MemoryRequest>>;
  readonly peak_rss: Bracket | null;
  readonly peak_rss_swap: Bracket | null;
  readonly peak_vmem: Bracket | null;
  readonly peak_process_vmem: Bracket | null;
  readonly peak_footprint: Bracket | null;
  readonly wallclock_seconds: number | null;
  readonly cpu_seconds: number | null;
  /** CPU time over wallclock x slots on this host. */
  readonly cpu_efficiency: number | null;
  /** peak_rss.lower_bytes over the h_vmem limit of this host. */
  readonly memory_efficiency: number | null;
  /** Distinct processes that were seen. */
  readonly processes: number | null;
  readonly max_processes: number | null;
  readonly max_threads: number | null;
  readonly read_bytes: number | null;
  readonly written_bytes: number | null;
  /** Through read and write calls, page cache included. */
  readonly read_chars: number | null;
  readonly written_chars: number | null;
  /** Processes claimed by one way only (tree without group id, or the reverse). */
  readonly claimed_by_tree_only: number | null;
  readonly claimed_by_group_only: number | null;
  readonly samples: number | null;
  readonly interval_seconds: number | null;
  readonly longest_gap_seconds: number | null;
  /** From the start of the job to its first sample. */
  readonly unobserved_start_seconds: number | null;
  /** Integral of rss_sum over time. */
  readonly rss_byte_seconds: number | null;
  readonly sampler: SamplerCost | null;
  /** Grid Engine's own figures; null until joined from accounting. */
  readonly grid_engine: GridEngineAccount | null;
  /** What the other sources say of the whole job, by metric name (`qmemacct metrics`), in the metric's unit. */
  readonly metrics: Readonly<Record<string, number>>;
  readonly series: MemorySeries | null;
  /** Plain sentences on what the reader should know about these figures. */
  readonly notes: readonly string[];
  /** When this record was made (ms since the epoch): of two of equal rank the later one wins. */
  readonly revision: number;
}

/** All fields unknown: the base that every producer fills. */
export function emptyRecord(key: RecordKey, status: RecordStatus, trust: Trust, revision: number): JobRecord {
  return {
    cluster: key.cluster,
    job_id: key.job_id,
    task_id: key.task_id,
    pe_task_id: key.pe_task_id,
    host: key.host,
    run_id: key.run_id,
    owner: null,
    job_name: null,
    queue: null,
    project: null,
    pe: null,
    account: null,
    slots: null,
    host_slots: null,
    granted_hosts: null,
    submitted_at: null,
    started_at: null,
    ended_at: null,
    exit_status: null,
    signal: null,
    failed: null,
    status,
    trust,
    h_vmem: null,
    requests: {},
    peak_rss: null,
    peak_rss_swap: null,
    peak_vmem: null,
    peak_process_vmem: null,
    peak_footprint: null,
    wallclock_seconds: null,
    cpu_seconds: null,
    cpu_efficiency: null,
    memory_efficiency: null,
    processes: null,
    max_processes: null,
    max_threads: null,
    read_bytes: null,
    written_bytes: null,
    read_chars: null,
    written_chars: null,
    claimed_by_tree_only: null,
    claimed_by_group_only: null,
    samples: null,
    interval_seconds: null,
    longest_gap_seconds: null,
    unobserved_start_seconds: null,
    rss_byte_seconds: null,
    sampler: null,
    grid_engine: null,
    metrics: {},
    series: null,
    notes: [],
    revision,
  };
}

/** Text form of the key: unique per record, stable. */
export function recordKeyText(key: RecordKey): string {
  return [key.cluster, key.job_id, key.task_id ?? '', key.pe_task_id ?? '', key.host, key.run_id].join('/');
}
