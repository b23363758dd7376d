import { join } from 'node:path';
import { SqliteDatabase } from '../../native/sqlite';
import { readLoads, type Loads } from '../processes/job-load';
import { createSampleReader } from '../series/sample-series';
import { outboxState, type OutboxState } from './outbox-state';
import { SeriesTable, type StoredSeries } from '../series/series-table';

/** node.db for reading only: opened briefly, never made or migrated. */
export interface NodeReader {
  readonly path: string;
  /** The run of a job that has this run_id in its record; null: not here. */
  readonly runOf: (jobId: number, runId: string) => string | null;
  /** Runs of jobs that were sampled in a span of time (ms since the epoch), their records as JSON. */
  readonly runs: (fromMs: number, toMs: number) => readonly SampledRun[];
  /**
   * Series of a job, or (null) of the node, from `fromMs` to `toMs`: the metrics of these names, or all if there are no
   * names. The sampler's own readings of a job are among them, as `process_rss_bytes` and so on.
   */
  readonly readSeries: (
    run: string | null,
    names: readonly string[],
    fromMs: number,
    toMs: number,
  ) => readonly StoredSeries[];
  /** First and last time of the node's own series, in ms since the epoch; null: there are none. */
  readonly nodeSpan: () => readonly [from: number, to: number] | null;
  readonly outbox: () => OutboxState;
  readonly loads: (fromMs: number, toMs: number) => Loads;
  readonly close: () => void;
}

interface SampledRun {
  readonly run: string;
  readonly record: string;
  /** ms since the epoch. */
  readonly started: number;
  readonly changed: number;
}

/** Opens `STATE/node.db`. Throws what SQLite throws, and an Error where it has no tables yet. */
export function openNodeReader(stateDirectory: string): NodeReader {
  const path = join(stateDirectory, 'node.db');
  const database = new SqliteDatabase(path, { readonly: true, fileMustExist: true, timeout: 4000 });
  try {
    const version = Number(database.pragma('user_version', { simple: true }));
    if (version === 0) throw new Error('it is empty; the next job on this host fills it');
    database.pragma('trusted_schema = OFF');
    const series = new SeriesTable(database);
    const samples = createSampleReader(database);
    const runs = database.prepare<[string], { id: number; run: string }>('SELECT id, run FROM job WHERE run = ?');
    // "/" is the character after ".".
    const ofJob = database.prepare<[string, string], string>('SELECT run FROM job WHERE run >= ? AND run < ?').pluck();
    const sampled = database.prepare<[number, number], SampledRun>(
      'SELECT run, record, started, changed FROM job WHERE changed >= ? AND started <= ? ORDER BY started',
    );
    const span = database
      .prepare<[], [from: number | null, to: number | null]>(
        'SELECT min(at), max(at + span) FROM series WHERE job IS NULL',
      )
      .raw();
    return {
      path,
      runs: (fromMs, toMs) => sampled.all(fromMs, toMs),
      runOf: (jobId, runId) => ofJob.all(`${jobId}.`, `${jobId}/`).find((run) => run.endsWith(`.${runId}`)) ?? null,
      readSeries: (run, names, fromMs, toMs) => {
        if (run === null) return series.read(null, names, fromMs, toMs);
        const job = runs.get(run);
        if (job === undefined) return [];
        return [...samples.series(job.id, names, fromMs, toMs), ...series.read(job.id, names, fromMs, toMs)];
      },
      nodeSpan: () => {
        const [from, to] = span.get() ?? [];
        return from == null || to == null ? null : [from, to];
      },
      outbox: () => outboxState(database),
      loads: (fromMs, toMs) => readLoads(database, fromMs, toMs),
      close: () => {
        database.close();
      },
    };
  } catch (error) {
    database.close();
    throw error;
  }
}
