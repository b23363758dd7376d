import type { ColumnFacts, TableColumn, TableValue } from '../record/plain-columns';
import { ALL_FACTS } from '../sampler/figures/job-facts';
import type { Hdf5File, Hdf5Table } from './hdf5-file';
import { columnsOfRows } from './table';

/** How many rows are held in memory before they are written. */
const WAITING = 10_000;

const COUNTER = ', since its start (counter)';

type Metric = (typeof ALL_FACTS)[number]['metrics'][number];

const metricFacts = ({ name, unit, kind, help }: Metric): ColumnFacts => ({
  name,
  type: 'real',
  unit,
  help: kind === 'counter' ? `${help}${COUNTER}` : help,
});

interface MetricSource {
  readonly name: string;
  readonly metrics: readonly ColumnFacts[];
}

/** The source of each metric, by the metric's name; only metrics that this version knows. */
const SOURCES = new Map<string, MetricSource>(
  [...new Set(ALL_FACTS.map(({ name }) => name))].flatMap((name) => {
    const metrics = ALL_FACTS.filter((facts) => facts.name === name).flatMap((facts) => facts.metrics.map(metricFacts));
    return metrics.map((metric) => [metric.name, { name, metrics }] as const);
  }),
);

/** The columns that colmet puts before the counters, under its names; MORE: columns that colmet does not have. */
const COLMET: readonly (readonly [name: string, column: string])[] = [
  ['timestamp', 'at'],
  ['hostname', 'host'],
  ['job_id', 'job_id'],
];
const MORE = ['cluster', 'task_id', 'pe_task_id', 'run_id', 'owner', 'instance'];

const BACKEND: ColumnFacts = { name: 'metric_backend', type: 'text', unit: null, help: 'source of these metrics' };

type Line = TableValue[];

/** A table, and its rows that are not written yet. */
interface SourceTable {
  readonly columns: readonly ColumnFacts[];
  readonly lines: Map<string, Line>;
  written: Hdf5Table | null;
}

/**
 * Samples in colmet's layout: `/job_4711/SOURCE`, or `/job_0/SOURCE` for the host itself, with one row per time and
 * instance that holds all metrics of the source. A metric that this version does not know is a source of its own.
 */
export class SampleTables {
  private readonly tables = new Map<string, SourceTable>();
  private readonly places: ReadonlyMap<string, number>;
  private readonly key: readonly ColumnFacts[];
  private waiting = 0;

  constructor(
    private readonly file: Hdf5File,
    columns: readonly ColumnFacts[],
  ) {
    this.places = new Map(columns.map(({ name }, index) => [name, index]));
    const facts = (name: string): readonly ColumnFacts[] => columns.filter((column) => column.name === name);
    this.key = [
      ...COLMET.flatMap(([name, column]) => facts(column).map((known) => ({ ...known, name }))),
      BACKEND,
      ...MORE.flatMap(facts),
    ];
  }

  /** Adds a page of samples; those of one source, time and instance share a row. */
  add(columns: readonly TableColumn[], rows: number): void {
    for (let row = 0; row < rows; row++) {
      const valueOf = (name: string): TableValue => columns[this.places.get(name) ?? -1]?.[row] ?? null;
      const metric = String(valueOf('metric'));
      const unknown = {
        name: metric,
        metrics: [{ name: metric, type: 'real', unit: String(valueOf('unit')), help: metric }],
      } as const;
      const source = SOURCES.get(metric) ?? unknown;
      const table = this.table(`/job_${valueOf('job_id') ?? 0}/${source.name}`, source);
      const time = `${valueOf('run_id')} ${valueOf('pe_task_id')} ${valueOf('at')} ${valueOf('instance')}`;
      const line =
        table.lines.get(time) ??
        this.newLine(table, time, [
          ...COLMET.map(([name, column]) => valueOf(column) ?? (name === 'job_id' ? 0 : null)),
          source.name,
          ...MORE.map(valueOf),
        ]);
      line[this.key.length + source.metrics.findIndex(({ name }) => name === metric)] = valueOf('value');
    }
    if (this.waiting >= WAITING) this.flush();
  }

  flush(): void {
    for (const [path, table] of this.tables) {
      const rows = [...table.lines.values()].sort((a, b) => Number(a[0]) - Number(b[0]));
      if (rows.length === 0) continue;
      const columns = columnsOfRows(rows, table.columns);
      table.written ??= this.file.table(path, table.columns, columns);
      table.written.append(columns, rows.length);
      table.lines.clear();
    }
    this.waiting = 0;
  }

  private table(path: string, source: MetricSource): SourceTable {
    const known = this.tables.get(path);
    if (known !== undefined) return known;
    const made: SourceTable = { columns: [...this.key, ...source.metrics], lines: new Map(), written: null };
    this.tables.set(path, made);
    return made;
  }

  private newLine({ lines, columns }: SourceTable, time: string, key: Line): Line {
    const line = [...key, ...Array<null>(columns.length - key.length).fill(null)];
    lines.set(time, line);
    this.waiting++;
    return line;
  }
}
