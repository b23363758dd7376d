import type { Database } from 'better-sqlite3';
import { COVERAGE_REASONS } from '../../record/coverage';
import type { Facts } from '../../record/facts';
import type { Dimension } from '../summary';
import { prepared } from './prepared';
import { factsQuery } from './queries';
import type { Condition } from './record-filter';

/** A record as sums see it. */
export interface FactRow {
  readonly countedAt: number;
  readonly cluster: number;
  /** One value per job and array task. */
  readonly job: JobKey;
  /** Numbers in the dictionaries: owner, project, queue, host, job name. */
  readonly keys: readonly [Cell, Cell, Cell, Cell, Cell];
  readonly facts: Facts;
}

export type JobKey = number | string;

/** Half-open, in ms. */
export interface Span {
  readonly since: number;
  readonly until: number;
}

type Cell = number | null;
/** A row of `factsQuery`. */
type Row = readonly [
  id: number,
  countedAt: number,
  cluster: number,
  job: JobKey,
  owner: Cell,
  project: Cell,
  queue: Cell,
  host: Cell,
  name: Cell,
  flags: number,
  slots: number,
  wallclock: Cell,
  cpu: Cell,
  limit: Cell,
  requested: Cell,
  peak: Cell,
  used: Cell,
  energy: Cell,
];

const FLAG = { running: 1, failed: 2, stands: 4, killed: 8, sampled: 16 } as const;
const REASON_SHIFT = 5;

const PAGE = 5_000;
const MOST_TASKS = 2 ** 20;
const MOST_JOBS = 2 ** 24;
const MOST_CLUSTERS = 2 ** 8;

/** A number where it fits: text costs twice the time. */
export function jobKey(cluster: number, job: number, task: number | null): JobKey {
  return cluster < MOST_CLUSTERS && job < MOST_JOBS && (task ?? 0) < MOST_TASKS
    ? (cluster * MOST_JOBS + job) * MOST_TASKS + (task ?? 0)
    : `${cluster}/${job}/${task ?? 0}`;
}

function factsOfRow(row: Row): Facts {
  const flags = row[9];
  return {
    running: (flags & FLAG.running) !== 0,
    standsForHost: (flags & FLAG.stands) !== 0,
    slots: row[10],
    wallclock: row[11],
    cpu: row[12],
    limit: row[13],
    requested: row[14],
    peak: row[15],
    used: row[16],
    energy: row[17],
    failed: (flags & FLAG.failed) !== 0,
    killed: (flags & FLAG.killed) !== 0,
    sampled: (flags & FLAG.sampled) !== 0,
    reason: COVERAGE_REASONS[flags >> REASON_SHIFT] ?? 'other',
  };
}

/**
 * Reads what sums need of the records that a condition selects in a span, oldest first, some at a time; of the keys those
 * of `dimensions`. Returns how many.
 */
export function factReader(
  db: Database,
  dimensions: readonly Dimension[],
): (condition: Condition, span: Span, take: (row: FactRow) => void) => number {
  return (condition, span, take) => {
    const page = prepared<object, Row>(db, factsQuery(condition, dimensions), 'raw');
    let since = Math.max(span.since, 0);
    let after = -1;
    let read = 0;
    for (;;) {
      const rows = page.all({ ...condition.parameters, since, until: span.until, after, limit: PAGE });
      for (const row of rows)
        take({
          countedAt: row[1],
          cluster: row[2],
          job: row[3],
          keys: [row[4], row[5], row[6], row[7], row[8]],
          facts: factsOfRow(row),
        });
      read += rows.length;
      const last = rows.at(-1);
      if (last === undefined || rows.length < PAGE) return read;
      since = last[1];
      after = last[0];
    }
  };
}
