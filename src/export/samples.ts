import type { ColumnFacts } from '../record/plain-columns';
import { emptyRecord, recordOfJson, type JobRecord } from '../record/record';
import type { MetricSeries } from '../report/series/metric-series';
import type { NodeReader } from '../sampler/node-store/node-reader';
import type { StoredSeries } from '../sampler/series/series-table';
import { KEY, keyValues } from './records';
import { columnsOfRows, type Row, type RowPage, type Table } from './table';

/** How much of a job's time is read at once: a few thousand samples. */
const SPAN_MS = 3_600_000;

export const SAMPLE_COLUMNS: readonly ColumnFacts[] = [
  ...KEY.map((column) => ({ ...column, help: `${column.help}; null: of the host itself` })),
  { name: 'metric', type: 'text', unit: null, help: 'what was measured (qmemacct metrics)' },
  { name: 'instance', type: 'text', unit: null, help: 'which one of several (cpu3, sda); empty: there is one only' },
  { name: 'unit', type: 'text', unit: null, help: 'unit of the value' },
  { name: 'kind', type: 'text', unit: null, help: 'gauge: at that moment; counter: since its start' },
  { name: 'at', type: 'time', unit: null, help: 'when it was read' },
  { name: 'value', type: 'real', unit: null, help: 'in the unit of the row' },
];

/** Which samples: of these metrics (empty: all), from `since` to before `until` (ms since the epoch). */
interface SamplesQuery {
  readonly since: number;
  readonly until: number;
  readonly metrics: readonly string[];
}

/** The values of the columns that identify a job; record null: for samples of the host itself. */
const keyOf = (record: JobRecord | null, host: string): Row =>
  record === null ? KEY.map(({ name }) => (name === 'host' ? host : null)) : keyValues(record);

const UNKNOWN = { cluster: '', job_id: 0, task_id: null, pe_task_id: null, run_id: '' };

function rowsOf(key: Row, series: readonly MetricSeries[]): readonly Row[] {
  return series.flatMap(({ metric, instance, unit, kind, at, values }) =>
    values.map((value, index) => [...key, metric, instance, unit, kind, at[index] ?? 0, value]),
  );
}

/** The table with one row per metric value in this host's node.db, of its jobs and of the host itself. */
export function sampleTable(
  { since, until, metrics }: SamplesQuery,
  host: string,
  reader: NodeReader,
  describe: (stored: readonly StoredSeries[]) => readonly MetricSeries[],
): Table {
  async function* pages(): AsyncGenerator<RowPage> {
    const jobs = reader.runs(since, until).map(({ run, record, started, changed }) => {
      const parsed = recordOfJson(record);
      const known = parsed.ok ? parsed.value : emptyRecord({ ...UNKNOWN, host, run_id: run }, 'lost', 'root', 0);
      return { run, key: keyOf(known, host), from: Math.max(since, started), to: Math.min(until - 1, changed) };
    });
    const [first, last] = reader.nodeSpan() ?? [Infinity, 0];
    const node = { run: null, key: keyOf(null, host), from: Math.max(since, first), to: Math.min(until - 1, last) };
    const all = [node, ...jobs];
    for (const [done, { run, key, from, to }] of all.entries())
      for (let at = from; at <= to; at += SPAN_MS) {
        const rows = rowsOf(key, describe(reader.readSeries(run, metrics, at, Math.min(to, at + SPAN_MS - 1))));
        yield { columns: columnsOfRows(rows, SAMPLE_COLUMNS), rows: rows.length, done, of: all.length };
        await new Promise((resolve) => setImmediate(resolve));
      }
  }
  return { what: 'samples', columns: SAMPLE_COLUMNS, pages };
}
