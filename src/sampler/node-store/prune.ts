import type { Database } from 'better-sqlite3';
import { DAY_MS, HOUR_MS } from '../../base/units';
import { monotonicMs } from '../../base/monotonic';

/** Most rows of a table that one transaction drops, which takes milliseconds: other samplers wait for its lock. */
const ROWS = 500;
/** The same for series: merged rows have many pages each. */
const SERIES_ROWS = 100;

const SAMPLE_MS = 'at + (SELECT started FROM job WHERE job.id = sample.job)';
/**
 * Samples up to a time, in the order in which they were saved. Later ones belong to a job that began while the clock was
 * ahead, and tell nothing about the age of others.
 */
const UP_TO = `sample WHERE ${SAMPLE_MS} <= ? ORDER BY id`;
const OLDEST_SAMPLE = `SELECT ${SAMPLE_MS} FROM ${UP_TO} LIMIT 1`;
const OLDEST_SERIES = 'SELECT at + span FROM series ORDER BY at + span LIMIT 1';
const ENDED_JOBS = 'SELECT id FROM job WHERE finished = 1 AND changed < ? ORDER BY changed LIMIT 20';

const deletion = (table: string, which: string): string => `DELETE FROM ${table} WHERE id IN (${which})`;

/** What to drop. While there are no samples (series), all processes (metrics) stay: later ones may refer to them. */
const DROP = {
  // `seen` is a whole hour.
  processes: deletion(
    'process',
    `SELECT id FROM process WHERE seen < (${OLDEST_SAMPLE}) - ${HOUR_MS} ORDER BY seen LIMIT ${ROWS}`,
  ),
  // `seen` is a whole day, and a merged row spans hours.
  metrics: deletion('metric', `SELECT id FROM metric WHERE seen < (${OLDEST_SERIES}) - ${2 * DAY_MS} LIMIT ${ROWS}`),
  samples: deletion(
    'sample',
    `SELECT id FROM (SELECT id, ${SAMPLE_MS} AS ms FROM ${UP_TO} LIMIT ${ROWS}) WHERE ms < ? OR ms > ?`,
  ),
  series: deletion('series', `SELECT id FROM series WHERE at + span < ? ORDER BY at + span LIMIT ${SERIES_ROWS}`),
  jobs: deletion('job', ENDED_JOBS),
} as const;

/** Pages that one transaction gives back to the file system. */
const PAGES = 500;

interface Size {
  readonly usedBytes: number;
  readonly fileBytes: number;
  readonly freePages: number;
}

function sizeOf(database: Database): Size {
  const value = (name: string): number => Number(database.pragma(name, { simple: true }));
  const [pages, freePages, pageSize] = [value('page_count'), value('freelist_count'), value('page_size')];
  return { usedBytes: (pages - freePages) * pageSize, fileBytes: pages * pageSize, freePages };
}

/** Gives pages of a file larger than `mostBytes` back to the file system. Returns whether there may be more. */
function shrink(database: Database, mostBytes: number): boolean {
  const { fileBytes, freePages } = sizeOf(database);
  if (fileBytes <= mostBytes || freePages === 0) return false;
  database.pragma(`incremental_vacuum(${PAGES})`);
  return sizeOf(database).fileBytes < fileBytes;
}

/**
 * Drops samples and series older than `before` (ms since the epoch) and, while node.db uses more than `mostBytes`, the
 * oldest ones, whether their job runs or not; a finished job goes when all that is kept is newer than its end. Records
 * of running jobs and the outbox stay. Works in short transactions for about `forMs`; the next call goes on. Freed
 * pages are used again; the file shrinks if it is larger than `mostBytes`. Throws what SQLite throws.
 */
export function prune(database: Database, before: number, mostBytes: number, forMs: number): void {
  const now = Date.now();
  const oldestSample = database.prepare<[number], number>(OLDEST_SAMPLE).pluck();
  const oldestSeries = database.prepare<[], number>(OLDEST_SERIES).pluck();
  const processes = database.prepare<[number]>(DROP.processes);
  const samples = database.prepare<[number, number, number]>(DROP.samples);
  const series = database.prepare<[number]>(DROP.series);
  const jobs = database.prepare<[number]>(DROP.jobs);
  // A finished job may still have rows that were saved late: too many, perhaps, for one cascading deletion.
  const ofJobs = ['sample', 'series', 'process'].map((table) =>
    database.prepare<[number]>(deletion(table, `SELECT id FROM ${table} WHERE job IN (${ENDED_JOBS}) LIMIT ${ROWS}`)),
  );
  /** Returns whether there may be more to drop. */
  const dropSome = database.transaction((): boolean => {
    if (processes.run(now).changes > 0) return true;
    const isFull = sizeOf(database).usedBytes > mostBytes;
    const limit = isFull ? Infinity : before;
    const oldest = Math.min(oldestSample.get(now) ?? Infinity, oldestSeries.get() ?? Infinity);
    const ended = Math.min(oldest, limit);
    if (ofJobs.some((statement) => statement.run(ended).changes === ROWS)) return true;
    if (jobs.run(ended).changes > 0) return true;
    if (oldest >= limit && !isFull) return false;
    const end = Math.min(oldest + HOUR_MS, limit);
    // If space is needed, samples from the future go with those that were saved at the same time.
    const gone = samples.run(isFull ? Infinity : now, end, now).changes + series.run(end).changes;
    return gone > 0;
  });
  const until = monotonicMs() + forMs;
  while (dropSome.immediate() && monotonicMs() < until);
  while (shrink(database, mostBytes) && monotonicMs() < until);
  database.prepare(DROP.metrics).run();
}
