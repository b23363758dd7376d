import type { Database } from 'better-sqlite3';
import { processes } from '../sources/job/processes';
import type { StoredSeries } from './series-table';

/** The table `sample` of node.db, read as series. */
export interface SampleReader {
  /** Series of a job from `fromMs` to `toMs`: those of these names that the samples hold, all of them for no name. */
  readonly series: (job: number, names: readonly string[], fromMs: number, toMs: number) => readonly StoredSeries[];
}

/** In the order of the metrics of `processes`. */
const COLUMNS = ['rss', 'vmem', 'swap', 'anonymous', 'cpu', 'processes', 'threads', 'read', 'written'] as const;

type Row = Readonly<Record<'at' | (typeof COLUMNS)[number], number>>;

export function createSampleReader(database: Database): SampleReader {
  const started = database.prepare<[number], number>('SELECT started FROM job WHERE id = ?').pluck();
  const select = database.prepare<[number, number, number], Row>(
    `SELECT at, ${COLUMNS.join(', ')} FROM sample WHERE job = ? AND at BETWEEN ? AND ? ORDER BY at`,
  );
  return {
    series: (job, names, fromMs, toMs) => {
      const start = started.get(job);
      const wanted = COLUMNS.flatMap((column, index) => {
        const metric = processes.metrics[index];
        return metric !== undefined && (names.length === 0 || names.includes(metric.name)) ? [{ column, metric }] : [];
      });
      if (start === undefined || wanted.length === 0) return [];
      const rows = select.all(job, fromMs - start, toMs - start);
      if (rows.length === 0) return [];
      const at = rows.map((row) => start + row.at);
      return wanted.map(({ column, metric }) => ({
        metric: metric.name,
        instance: '',
        at,
        values: rows.map((row) => row[column] / (metric.resolution ?? 1)),
      }));
    },
  };
}
