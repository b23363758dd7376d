import { dirname, join } from 'node:path';
import type { JobReport } from '../../report/job/job';
import type { JobRun } from '../../report/job/job-run';
import type { MetricSeries } from '../../report/series/metric-series';
import { renderSeriesCharts } from '../../report/series/chart';
import { renderSeriesCsv, renderSeriesJson, type SeriesContext, type SeriesOf } from '../../report/series/output';
import { jobName, jobTaskName } from '../../record/job-name';
import type { NodeReader } from '../../sampler/node-store/node-reader';
import type { JobRecord } from '../../record/record';
import { loadSettings } from '../../record/settings';
import { CommandError, EXIT, usageError } from '../command';
import { describeSeries, parseMetricNames, openNodeDatabase, type NodeDatabase } from '../stores/node-database';
import { outputFormat, screenOf, warn, writeLines } from '../output';
import { ownStorePath } from '../stores/stores';
import type { Terminal } from '../terminal';
import type { JobOptions } from '../commands/job';

const RSS = 'process_rss_bytes';
const CONTEXT = ['job_id', 'task_id', 'pe_task_id', 'host', 'run_id'] as const;

const contextOf = (record: JobRecord): SeriesContext => CONTEXT.map((field) => [field, record[field]] as const);

function nameOf(record: JobRecord): string {
  return `job ${jobTaskName(record)} on ${record.host}`;
}

/** Series of one run from the node.db that has the run; null: none has. */
function readRun(record: JobRecord, names: readonly string[], readers: readonly NodeReader[]): MetricSeries[] | null {
  for (const reader of readers) {
    const run = reader.runOf(record.job_id, record.run_id);
    if (run !== null) return [...describeSeries(reader.readSeries(run, names, 0, Number.MAX_SAFE_INTEGER))];
  }
  return null;
}

/** The memory curve in the record itself: the largest value in each of equal steps, not single samples. */
function curveOfRecord({ series }: JobRecord): MetricSeries[] {
  if (series === null) return [];
  const start = Date.parse(series.start);
  const at = series.rss_bytes.map((_, index) => start + (index + 1) * series.step_seconds * 1000);
  return [{ metric: RSS, instance: '', unit: 'bytes', kind: 'gauge', at, values: series.rss_bytes }];
}

const readersOf = (databases: readonly NodeDatabase[]): NodeReader[] =>
  databases.flatMap((database) => ('reader' in database ? [database.reader] : []));

/** Why this run has no series here, and where it may have some. */
function explain(record: JobRecord, databases: readonly NodeDatabase[], config: string): string {
  const there = `there "sudo qmemacct job ${jobName(record)} --series ..." reads them`;
  if (databases.some((database) => 'isForbidden' in database && database.isForbidden))
    return `${nameOf(record)}: its series are on that host, for root alone; ${there} (the memory chart is in "qmemacct job ${jobName(record)}")`;
  const days = loadSettings(config).keep_samples_days;
  return `${nameOf(record)}: no series here; they stay on the host where it ran, for ${days} days; ${there}`;
}

function renderCharts(all: readonly SeriesOf[], terminal: Terminal, options: JobOptions): string[] {
  const screen = screenOf(terminal, options);
  return all.flatMap(({ context, series }, index) => {
    const values = new Map(context);
    const task = values.get('task_id') ?? null;
    const title = `Job ${values.get('job_id') ?? ''}${task === null ? '' : `.${task}`} on ${values.get('host') ?? ''}`;
    const charts = renderSeriesCharts(series, screen.width, screen);
    return [...(index === 0 ? [] : ['', '']), ...(all.length > 1 ? [screen.safe(title), ''] : []), ...charts];
  });
}

/** Shows series of jobs from this host's node.db; resolves to the exit status. Rejects with CommandError. */
export async function showJobSeries(
  reports: readonly JobReport[],
  options: JobOptions,
  stateDirectory: string,
  terminal: Terminal,
): Promise<number> {
  const chart = options.chart !== undefined;
  if (chart && options.series !== undefined) throw usageError('--chart and --series exclude each other: give one');
  const format = outputFormat(options);
  if (chart && format !== 'text') throw usageError('--chart draws; for programs there is --series');
  const names = chart
    ? parseMetricNames('--chart', options.chart ?? '')
    : parseMetricNames('--series', options.series ?? '');
  const own = join(dirname(ownStorePath(terminal.env)), 'run-state');
  const databases = await Promise.all([stateDirectory, own].map(openNodeDatabase));
  const readers = readersOf(databases);
  try {
    const all: SeriesOf[] = [];
    const problems: string[] = [];
    for (const { record } of reports.flatMap(({ runs }): readonly JobRun[] => runs)) {
      const stored = readRun(record, names, readers);
      const series = stored ?? (chart && names.includes(RSS) ? curveOfRecord(record) : []);
      if (stored === null && series.length === 0) problems.push(explain(record, databases, options.config));
      else if (series.length === 0) problems.push(`${nameOf(record)}: nothing was read of ${names.join(', ')}`);
      else all.push({ context: contextOf(record), series });
    }
    if (all.length === 0 && problems.length > 0) {
      const unavailable = readers.length === 0;
      throw new CommandError(problems.join('\n'), unavailable ? EXIT.unavailable : EXIT.nothing);
    }
    problems.forEach((problem) => warn(terminal, problem));
    if (chart) writeLines(terminal, renderCharts(all, terminal, options));
    else terminal.write(format === 'json' ? renderSeriesJson(all) : renderSeriesCsv(all, CONTEXT));
    return EXIT.found;
  } finally {
    for (const reader of readers) reader.close();
  }
}
