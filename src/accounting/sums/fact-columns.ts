import { COVERAGE_REASONS } from '../../record/coverage';
import type { Facts } from '../../record/facts';
import { APART_MS } from '../../record/job-end';
import type { Cell } from '../cell-codec';
import type { JobKey } from './summer';

/** What sums and filters need of a record `r`, in SQL that both stores understand. */

export const SELF_REPORTED = 3;
const ACCOUNTING = 2;

/** The condition that sums count a row: self-reported records only if asked for. */
export const counted = (row: string, selfReported = false): string =>
  selfReported ? 'true' : `${row}.trust <> ${SELF_REPORTED}`;

/** As `endedBadly` (job-end.ts) says. */
export const FAILED = `(coalesce(r.failed, 0) <> 0 OR coalesce(r.exit_status, 0) <> 0 OR coalesce(r.signal, 0) <> 0
    OR coalesce(r.status <> 0 AND r.failed = 0 AND r.exit_status = 0 AND r.ge_wallclock_ms = 0
      AND r.ended_at - r.started_at >= ${APART_MS}, false))`;

/** As `isSampled` (coverage.ts) says. */
export const SAMPLED = '(coalesce(r.samples, 0) > 0)';

/** As `hostSlots` (facts.ts) says. */
export const SLOTS = `coalesce(r.host_slots, CASE WHEN r.trust <> ${ACCOUNTING} THEN 1
    WHEN r.pe_task_id IS NULL THEN coalesce(r.slots, 1) ELSE 0 END)`;

/** The slots that `cpuEfficiency` (efficiency.ts) compares with. */
export const KNOWN_SLOTS = `coalesce(r.host_slots, CASE WHEN r.trust = ${ACCOUNTING} AND r.pe_task_id IS NULL
    THEN coalesce(r.slots, 1) END)`;

/** As `activeSeconds` (efficiency.ts) says, in ms. */
export const ACTIVE = '(r.wallclock_ms - coalesce(r.suspended_ms, 0))';

/** Flags in one value, since each value read costs as much as evaluating the row; above these bits is the coverage. */
const FLAG = { running: 1, failed: 2, stands: 4, killed: 8, sampled: 16, alone: 32 } as const;
const REASON_SHIFT = 6;

/** As `countedByGridEngine` (cause.ts) says, where there is no peak. */
export const GRID_ENGINE = `CASE WHEN r.peak_rss_lower_bytes IS NULL AND r.ge_maxvmem_bytes > 0
    AND r.ge_maxvmem_bytes NOT IN (coalesce(r.h_vmem_limit_bytes, 0), coalesce(r.h_vmem_request_bytes, 0))
    THEN r.ge_maxvmem_bytes END`;
/** As `heldBytes` (cause.ts) says. */
export const HELD_BYTES = `coalesce(r.peak_rss_lower_bytes, ${GRID_ENGINE})`;

const SHARE = `(CAST(${HELD_BYTES} AS double precision) / nullif(r.limit_bytes, 0))`;
/** The bounds of a filter as conditions on `r`. */
export const BOUNDS = [
  ['peak_at_least', `${HELD_BYTES} >=`],
  ['peak_at_most', `${HELD_BYTES} <=`],
  ['limit_at_least', 'r.limit_bytes >='],
  ['limit_at_most', 'r.limit_bytes <='],
  ['share_at_least', `${SHARE} >=`],
  ['share_at_most', `${SHARE} <=`],
  ['wallclock_at_least', 'r.wallclock_ms / 1000.0 >='],
] as const;

/** How many columns `factColumns` are. */
export const FACT_COLUMNS = 10;

/** `sameJob`: FROM and WHERE of the records `m` of the job of `r`. */
export function factColumns(sameJob: string): string {
  const stands = `r.pe_task_id IS NULL OR r.pe_task_id LIKE '1.%' AND NOT EXISTS
      (SELECT 1 ${sameJob} AND m.pe_task_id IS NULL AND m.host_id = r.host_id AND ${counted('m')})`;
  // As `isAlone` (facts.ts), for records that stand for their hosts. An index finds a second task of the host (2.HOST).
  const alone = `r.pe_id IS NULL AND r.pe_task_id IS NULL
      OR r.pe_task_id IS NULL AND NOT EXISTS (SELECT 1 ${sameJob} AND m.id <> r.id
        AND (m.host_id = r.host_id OR r.host_slots IS NULL) AND ${counted('m')})
      OR r.pe_task_id LIKE '1.%' AND r.host_slots IS NOT NULL AND NOT EXISTS
        (SELECT 1 ${sameJob} AND m.pe_task_id = '2.' || substr(r.pe_task_id, 3) AND ${counted('m')})`;
  const bit = (condition: string, flag: number): string => `CASE WHEN ${condition} THEN ${flag} ELSE 0 END`;
  const flags = [
    `r.coverage * ${2 ** REASON_SHIFT}`,
    bit(SAMPLED, FLAG.sampled),
    `r.killed_by_memory * ${FLAG.killed}`,
    bit(stands, FLAG.stands),
    bit(FAILED, FLAG.failed),
    bit('r.status = 1', FLAG.running),
    bit(alone, FLAG.alone),
  ];
  return `${flags.join(' + ')}, CAST(${ACTIVE} AS double precision) * ${SLOTS}, r.wallclock_ms, r.cpu_ms, r.limit_bytes, r.requested_bytes,
    r.peak_rss_lower_bytes, r.rss_byte_seconds, r.energy_joules, ${GRID_ENGINE}`;
}

const numberAt = (cells: readonly Cell[], at: number): number | null => {
  const cell = cells[at];
  return typeof cell === 'number' ? cell : null;
};

/** The facts in the cells of `factColumns`, which begin at `at`. */
export function factsAt(cells: readonly Cell[], at: number): Facts {
  const flags = numberAt(cells, at) ?? 0;
  return {
    running: (flags & FLAG.running) !== 0,
    standsForHost: (flags & FLAG.stands) !== 0,
    alone: (flags & FLAG.stands) !== 0 && (flags & FLAG.alone) !== 0,
    slotMs: Math.max(0, numberAt(cells, at + 1) ?? 0),
    wallclock: numberAt(cells, at + 2),
    cpu: numberAt(cells, at + 3),
    limit: numberAt(cells, at + 4),
    requested: numberAt(cells, at + 5),
    peak: numberAt(cells, at + 6),
    used: numberAt(cells, at + 7),
    energy: numberAt(cells, at + 8),
    gridEngine: numberAt(cells, at + 9),
    failed: (flags & FLAG.failed) !== 0,
    killed: (flags & FLAG.killed) !== 0,
    sampled: (flags & FLAG.sampled) !== 0,
    reason: COVERAGE_REASONS[flags >> REASON_SHIFT] ?? 'other',
  };
}

const MOST_TASKS = 2 ** 20;
const MOST_JOBS = 2 ** 24;
const MOST_CLUSTERS = 2 ** 8;

/** The key of a job or array task; `cluster`: the cluster's number. A number if it fits: text costs twice the time. */
export function jobKey(cluster: number, job: number, task: number | null): JobKey {
  return cluster < MOST_CLUSTERS && job < MOST_JOBS && (task ?? 0) < MOST_TASKS
    ? (cluster * MOST_JOBS + job) * MOST_TASKS + (task ?? 0)
    : `${cluster}/${job}/${task ?? 0}`;
}
