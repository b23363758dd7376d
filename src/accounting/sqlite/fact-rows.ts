import type { Database } from 'better-sqlite3';
import { STATUSES } from '../../sampler/parse-record';
import { COVERAGE_REASONS } from '../coverage';
import { factsOf } from '../facts';
import type { Facts } from '../facts';
import type { Words } from './dictionary';
import { factsQuery, READ_RECORD } from './queries';
import type { Condition } from './record-filter';
import { fromRow } from './row';
import type { RecordRow } from './row';

/** A record as sums see it. */
export interface FactRow {
  readonly countedAt: number;
  readonly cluster: number;
  /** One value per job and array task. */
  readonly job: JobKey;
  /** Numbers in the dictionaries: owner, project, queue, host, job name. */
  readonly keys: readonly [number | null, number | null, number | null, number, number | null];
  readonly facts: Facts;
}

export type JobKey = number | string;

/** Half-open, in ms. */
export interface Span {
  readonly since: number;
  readonly until: number;
}

type Cell = number | null;
const PAGE = 20_000;
const RUNNING = STATUSES.indexOf('running');
const MOST_TASKS = 2 ** 20;
const MOST_JOBS = 2 ** 24;
const MOST_CLUSTERS = 2 ** 8;

/** A number where it fits: text costs twice the time. */
export function jobKey(cluster: number, job: number, task: number | null): JobKey {
  return cluster < MOST_CLUSTERS && job < MOST_JOBS && (task ?? 0) < MOST_TASKS
    ? (cluster * MOST_JOBS + job) * MOST_TASKS + (task ?? 0)
    : `${cluster}/${job}/${task ?? 0}`;
}

/** Reads what sums need of the records that a condition selects in a span, oldest first, some at a time. */
export function factReader(
  db: Database,
  words: Words,
): (condition: Condition, span: Span, take: (row: FactRow) => void) => number {
  const whole = db.prepare<[number], RecordRow>(READ_RECORD);
  /** What a row of an earlier schema does not say of itself. */
  const factsOfOld = (id: number, stands: boolean): Facts => {
    const row = whole.get(id);
    if (row === undefined) throw new Error(`record ${id} has gone`);
    return factsOf(fromRow(row, null, words).record, stands);
  };
  return (condition, span, take) => {
    const page = db.prepare<object, readonly Cell[]>(factsQuery(condition)).raw();
    let since = Math.max(span.since, 0);
    let after = -1;
    let read = 0;
    for (;;) {
      const rows = page.all({ ...condition.parameters, since, until: span.until, after, limit: PAGE });
      for (const row of rows) {
        const [id, counted, cluster, job, task, owner, project, queue, host, name, status, stands, slots] = row;
        const [wallclock, cpu, limit, requested, peak, used, energy, failed, exit, signal, judged] = row.slice(13);
        const bad = Boolean(failed) || Boolean(exit) || Boolean(signal);
        since = counted ?? 0;
        after = id ?? 0;
        take({
          countedAt: since,
          cluster: cluster ?? 0,
          job: jobKey(cluster ?? 0, job ?? 0, task ?? null),
          keys: [owner ?? null, project ?? null, queue ?? null, host ?? 0, name ?? null],
          facts:
            judged == null
              ? factsOfOld(after, stands === 1)
              : {
                  running: status === RUNNING,
                  standsForHost: stands === 1,
                  slots: slots ?? 1,
                  wallclock: wallclock ?? null,
                  cpu: cpu ?? null,
                  limit: limit ?? null,
                  requested: requested ?? null,
                  peak: peak ?? null,
                  used: used ?? null,
                  energy: energy ?? null,
                  failed: bad,
                  killed: judged % 2 === 1,
                  sampled: Math.floor(judged / 2) % 2 === 0,
                  reason: COVERAGE_REASONS[Math.floor(judged / 4)] ?? 'other',
                },
        });
      }
      read += rows.length;
      if (rows.length < PAGE) return read;
    }
  };
}
