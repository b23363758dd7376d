import { openPostgresHistory } from '../../src/accounting/postgres/postgres-history';
import { openPostgresReader } from '../../src/accounting/postgres/postgres-store';
import type { AccountingReader } from '../../src/accounting/store';
import { startServer, type Server } from '../accounting/postgres/server';
import { FIRST_JOB, inBatches, lineRecord, parsedLine, type Progress } from './history-fill';
import { siteWeek, WEEK_MS, type Week } from './history-week';

/** The same years of a site in a PostgreSQL of its own: one week merged, the others its copies. */

const RUNS_PER_WEEK = 50_000;
/** The role of hosts that deliver. */
export const HOOKS = 'hooks';
/** Settings of a site on a machine of this size. */
const SETTINGS = [
  'fsync = on',
  'shared_buffers = 2GB',
  'work_mem = 32MB',
  'max_wal_size = 4GB',
  'max_locks_per_transaction = 1024',
];

export interface PostgresHistory {
  readonly records: number;
  readonly weeks: number;
  readonly week: Week;
  /** Half-open, ms. */
  readonly since: number;
  readonly until: number;
  readonly merged: number;
  readonly mergedMs: number;
  readonly rolledMs: number;
  /** Size of tables and indexes. */
  readonly bytes: number;
  readonly open: () => AccountingReader;
  /** The URL for this role, else for the admin. */
  readonly url: (role?: string) => string;
  readonly remove: () => Promise<void>;
}

const TIMES = new Set(['submitted_at', 'started_at', 'ended_at', 'revision', 'peak_rss_at']);

/** How a column of a row is made from the one of the first week. */
function moved(column: string, week: number, jobs: number): string {
  const ms = week * WEEK_MS;
  if (column === 'id') return "nextval('qmemacct.record_id_seq')";
  if (column === 'job_id') return `job_id + ${week * jobs}`;
  if (TIMES.has(column)) return `${column} + ${ms}`;
  if (column === 'run_id')
    return `CASE WHEN run_id ~ '^accounting[.][1-9][0-9]*$' THEN 'accounting.' || (substr(run_id, 12)::bigint + ${ms / 1000}) ELSE run_id END`;
  return column;
}

async function copyWeeks(
  server: Server,
  database: string,
  week: Week,
  weeks: number,
  progress: Progress,
): Promise<void> {
  const run = (sql: string): Promise<readonly object[]> => server.run(database, sql);
  await run('CREATE TABLE first_week AS SELECT * FROM qmemacct.record');
  const found = (await run(
    "SELECT column_name AS name FROM information_schema.columns WHERE table_schema = 'qmemacct' AND table_name = 'record' AND column_name <> 'counted_at'",
  )) as readonly { readonly name: string }[];
  const names = found.map(({ name }) => name);
  for (let later = 1; later < weeks; later++) {
    await run(
      `INSERT INTO qmemacct.record (${names.join(', ')}) OVERRIDING SYSTEM VALUE
       SELECT ${names.map((name) => moved(name, later, week.jobs)).join(', ')} FROM first_week ORDER BY id`,
    );
    progress(`history in PostgreSQL: week ${later + 1} of ${weeks}`);
  }
  await run(`DROP TABLE first_week;
    DELETE FROM qmemacct.stale_hour;
    INSERT INTO qmemacct.stale_hour SELECT DISTINCT counted_at / 3600000, 1 FROM qmemacct.record`);
  await run('VACUUM ANALYZE');
}

/** Fills a database with about `size` records that end at `until` (ms). */
export async function fillPostgres(
  size: number,
  until: number,
  seed: number,
  progress: Progress,
): Promise<PostgresHistory> {
  const weeks = Math.max(1, Math.round(size / RUNS_PER_WEEK));
  const since = until - weeks * WEEK_MS;
  const week = siteWeek(seed, Math.round(size / weeks), since);
  const server = await startServer({ settings: SETTINGS, shared: true });
  try {
    const database = await server.database();
    await server.run(database, `CREATE ROLE ${HOOKS} LOGIN IN ROLE qmemacct_deliver`);
    const store = openPostgresHistory(server.url(database));
    const sampled = week.runs.flatMap(({ record }) =>
      record === null ? [] : { ...record, job_id: FIRST_JOB + record.job_id },
    );
    progress('history in PostgreSQL: the first week');
    const began = performance.now();
    await inBatches(sampled, (batch) => store.merge(batch));
    const mergedMs = performance.now() - began;
    const lines = week.runs.map((run) => lineRecord(run, parsedLine(run)));
    await inBatches(lines, (batch) => store.merge(batch));
    await copyWeeks(server, database, week, weeks, progress);
    progress('history in PostgreSQL: sums of the days');
    const rolling = performance.now();
    await store.rollUp({});
    const rolledMs = performance.now() - rolling;
    await store.close();
    await server.run(database, 'VACUUM ANALYZE');
    const [sizes] = (await server.run(
      database,
      "SELECT sum(pg_total_relation_size(c.oid))::double precision AS bytes FROM pg_class AS c WHERE c.relnamespace = 'qmemacct'::regnamespace AND c.relkind = 'r'",
    )) as readonly { readonly bytes: number }[];
    return {
      records: week.runs.length * weeks,
      weeks,
      week,
      since,
      until,
      merged: sampled.length,
      mergedMs,
      rolledMs,
      bytes: sizes?.bytes ?? NaN,
      open: () => openPostgresReader(server.url(database)),
      url: (role) => server.url(database, role),
      remove: () => server.remove(),
    };
  } catch (error) {
    await server.remove();
    throw error;
  }
}
