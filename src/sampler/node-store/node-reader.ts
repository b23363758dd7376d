import { join } from 'node:path';
import { SqliteDatabase } from '../../native/sqlite';
import { readLoads } from '../processes/job-load';
import { createSampleReader } from '../series/sample-series';
import { outboxState } from './outbox-state';
import { SeriesTable, type StoredSeries } from '../series/series-table';

/** node.db for reading only: opened briefly, never made or migrated. */
export type NodeReader = ReturnType<typeof openNodeReader>;

interface SampledRun {
  readonly run: string;
  readonly record: string;
  /** ms since the epoch. */
  readonly started: number;
  readonly changed: number;
}

/** Opens `STATE/node.db`. Throws what SQLite throws, and an Error where it has no tables yet. */
export function openNodeReader(stateDirectory: string) {
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
      /** Runs of jobs that were sampled in a span of time (ms since the epoch), their records as JSON. */
      runs: (fromMs: number, toMs: number): readonly SampledRun[] => sampled.all(fromMs, toMs),
      /** The run of a job that has this run_id in its record; null: not here. */
      runOf: (jobId: number, runId: string): string | null =>
        ofJob.all(`${jobId}.`, `${jobId}/`).find((run) => run.endsWith(`.${runId}`)) ?? null,
      /**
       * Series of a job, or (null) of the node, from `fromMs` to `toMs`: the metrics of these names, or all if there are no
       * names. The sampler's own readings of a job are among them, as `process_rss_bytes` and so on.
       */
      readSeries: (
        run: string | null,
        names: readonly string[],
        fromMs: number,
        toMs: number,
      ): readonly StoredSeries[] => {
        if (run === null) return series.read(null, names, fromMs, toMs);
        const job = runs.get(run);
        if (job === undefined) return [];
        return [...samples.series(job.id, names, fromMs, toMs), ...series.read(job.id, names, fromMs, toMs)];
      },
      /** First and last time of the node's own series, in ms since the epoch; null: there are none. */
      nodeSpan: (): readonly [from: number, to: number] | null => {
        const [from, to] = span.get() ?? [];
        return from == null || to == null ? null : [from, to];
      },
      outbox: () => outboxState(database),
      loads: (fromMs: number, toMs: number) => readLoads(database, fromMs, toMs),
      close: (): void => {
        database.close();
      },
    };
  } catch (error) {
    database.close();
    throw error;
  }
}
