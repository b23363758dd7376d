import { emptyRecord, type Bracket, type GridEngineAccount, type JobRecord } from '../../src/record/record';
import type { StoredSample } from '../../src/sampler/node-store/sample-table';

const KEY = { cluster: 'c', job_id: 1, task_id: null, pe_task_id: null, host: 'h', run_id: '0badcafe.1.2' };

/** A record with these fields alone; by default of a finished job, by a sampler of root. */
export function recordOf(fields: Partial<JobRecord> = {}): JobRecord {
  const { status = 'finished', trust = 'root', revision = 1 } = fields;
  return { ...emptyRecord({ ...KEY, ...fields }, status, trust, revision), ...fields };
}

/** A bracket, proved if it has an upper end, else open. */
export function bracketOf(lower: number, upper: number | null = null, more: Partial<Bracket> = {}): Bracket {
  return {
    lower_bytes: lower,
    upper_bytes: upper,
    slack_bytes: 0,
    proved: upper !== null,
    exact: upper === lower,
    open: upper === null ? ['no-lineage'] : [],
    sources: ['sample'],
    at: null,
    command: null,
    ...more,
  };
}

/** Grid Engine's figures of a job with these fields; the others are 0 or unknown. */
export function accountOf(fields: Partial<GridEngineAccount> = {}): GridEngineAccount {
  return {
    wallclock_seconds: 0,
    cpu_seconds: 0,
    user_seconds: null,
    system_seconds: null,
    maxvmem_bytes: null,
    maxrss_bytes: null,
    mem_gib_seconds: null,
    io_gib: null,
    category: null,
    submit_command: null,
    deleted_by: null,
    lines: 1,
    ...fields,
  };
}

/** A sample as node.db keeps it. */
export function sampleOf(at: number, fields: Partial<StoredSample> = {}): StoredSample {
  return {
    at,
    rss: 1,
    vmem: 1,
    swap: 0,
    anonymous: 1,
    cpu: 1,
    processes: 1,
    threads: 1,
    read: 0,
    written: 0,
    largest: [],
    othersRss: 0,
    othersCpu: 0,
    ...fields,
  };
}
