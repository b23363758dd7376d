import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import type { HistoryStore, ImportedFile } from '../../../src/accounting/history-store';
import { emptyRecord } from '../../../src/record/record';
import type { Bracket, JobRecord } from '../../../src/record/record';
import { bracketOf, recordOf } from '../../support/records';

/** Opens a new, empty store, which is closed and removed after the test. */
export type OpenStore = (t: TestContext) => Promise<HistoryStore>;

export const GIB = 2 ** 30;
export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;
export const T0 = Date.UTC(2026, 10, 1);

export const iso = (ms: number): string => new Date(ms).toISOString();

/** The record of a root sampler of a job that ran for an hour until `endedAt`. */
export function job(id: number, endedAt: number, fields: Partial<JobRecord> = {}): JobRecord {
  return recordOf({
    cluster: 'cell',
    job_id: id,
    host: 'node1',
    run_id: `0badcafe.${id}.1`,
    revision: endedAt,
    owner: 'bob',
    submitted_at: iso(endedAt - 2 * HOUR),
    started_at: iso(endedAt - HOUR),
    ended_at: iso(endedAt),
    wallclock_seconds: 3600,
    host_slots: 2,
    cpu_seconds: 1800,
    h_vmem: { request_bytes: 4 * GIB, limit_bytes: 8 * GIB, per: 'slot' },
    peak_rss: bracketOf(GIB, null, { open: ['exec'], at: iso(endedAt - 1), command: 'sort' }),
    rss_byte_seconds: 3600 * 0.5 * GIB,
    samples: 3600,
    ...fields,
  });
}

/** The same records as records of another job, so that they don't meet others in one store. */
export const ofJob = (id: number, records: readonly JobRecord[]): readonly JobRecord[] =>
  records.map((record) => ({ ...record, job_id: id }));

/** A peak for `job` whose lower bound is `bytes`. */
export function peakOf(bytes: number): Bracket {
  return { ...(job(1, T0).peak_rss ?? assert.fail()), lower_bytes: bytes };
}

/** The largest values that a record may have. */
export const LARGEST_VALUES = { wallclock_seconds: 1e12, cpu_seconds: 1e12, slots: 1e6, host_slots: 1e6 } as const;

/** The record of the same run's accounting line, before it is joined with `record`. */
export function lineOf(record: JobRecord, fields: Partial<JobRecord> = {}): JobRecord {
  const start = Math.floor(Date.parse(record.started_at ?? iso(0)) / 1000) * 1000;
  const end = Math.floor(Date.parse(record.ended_at ?? iso(0)) / 1000) * 1000;
  const wallclock = Math.round((end - start) / 1000);
  const key = { ...record, run_id: `accounting.${start / 1000}`, ...fields };
  return {
    ...emptyRecord(key, 'finished', 'accounting', end),
    owner: record.owner,
    job_name: record.job_name,
    queue: 'all.q',
    project: 'physics',
    submitted_at: record.submitted_at,
    started_at: iso(start),
    ended_at: iso(end),
    exit_status: 0,
    failed: 0,
    slots: 2,
    wallclock_seconds: wallclock,
    cpu_seconds: 1799,
    grid_engine: {
      wallclock_seconds: wallclock,
      cpu_seconds: 1799,
      user_seconds: 1700,
      system_seconds: 99,
      maxvmem_bytes: 2 * GIB,
      maxrss_bytes: GIB,
      mem_gib_seconds: 3600,
      io_gib: 0.5,
      category: '-l h_vmem=4G',
      submit_command: null,
      deleted_by: null,
      lines: 1,
    },
    ...fields,
  };
}

/** An accounting file of Grid Engine, and how far it was read. */
export const FILE: ImportedFile = {
  cluster: 'cell',
  head: 'abc',
  headBytes: 4096,
  path: '/x/accounting',
  device: 1,
  inode: 2,
  offset: 5000,
  tail: 'xyz',
  lines: 10,
};
