import type { Database } from 'better-sqlite3';
import { processes } from '../../sources/job/processes';
import type { StoredSeries } from './series-table';

/** The table's columns and their metrics. */
const COLUMNS = {
  rss: 'process_rss_bytes',
  vmem: 'process_vmem_bytes',
  swap: 'process_swap_bytes',
  anonymous: 'process_anonymous_bytes',
  cpu: 'process_cpu_seconds',
  processes: 'process_count',
  threads: 'process_threads',
  read: 'process_read_bytes',
  written: 'process_written_bytes',
} as const;

type Column = keyof typeof COLUMNS;
type Row = { readonly at: number } & Readonly<Record<Column, number | null>>;

const NAMES = Object.keys(COLUMNS) as readonly Column[];

/** Reads the table `sample` of node.db as series. */
export function createSampleReader(database: Database) {
  const started = database.prepare<[number], number>('SELECT started FROM job WHERE id = ?').pluck();
  const select = database.prepare<[number, number, number], Row>(
    `SELECT at, ${NAMES.join(', ')} FROM sample WHERE job = ? AND at BETWEEN ? AND ? ORDER BY at`,
  );
  return {
    /** Series of a job from `fromMs` to `toMs`: those of `names` that the samples hold, or all if there are no names. */
    series: (job: number, names: readonly string[], fromMs: number, toMs: number): readonly StoredSeries[] => {
      const start = started.get(job);
      const wanted = NAMES.flatMap((column) => {
        const metric = processes.metrics.find(({ name }) => name === COLUMNS[column]);
        return metric !== undefined && (names.length === 0 || names.includes(metric.name)) ? [{ column, metric }] : [];
      });
      if (start === undefined || wanted.length === 0) return [];
      const rows = select.all(job, fromMs - start, toMs - start);
      return wanted.flatMap(({ column, metric }) => {
        const known = rows.flatMap(({ at, [column]: value }) => (value === null ? [] : [{ at: start + at, value }]));
        if (known.length === 0) return [];
        const values = known.map(({ value }) => value / (metric.resolution ?? 1));
        return [{ metric: metric.name, instance: '', at: known.map(({ at }) => at), values }];
      });
    },
  };
}
