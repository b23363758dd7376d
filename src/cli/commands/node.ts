import { hostname } from 'node:os';
import type { Command } from 'commander';
import { recordOfJson } from '../../record/record';
import { loadSettings } from '../../record/settings';
import type { MetricSeries } from '../../report/series/metric-series';
import { renderNode, renderSeriesTable, type JobUse, type NodeReport, type ProcessUse } from '../../report/series/node';
import { renderSeriesCharts } from '../../report/series/chart';
import { renderSeriesCsv, renderSeriesJson } from '../../report/series/output';
import type { Loads } from '../../sampler/processes/job-load';
import { commandAction, type CommandContext, type GlobalOptions, EXIT } from '../command';
import { describeSeries, parseMetricNames, withNodeReader } from '../stores/node-database';
import { outputFormat, screenOf, warn, writeLines } from '../output';
import type { Terminal } from '../terminal';
import { addIntervalOptions } from '../common-options';
import { furtherBack, parseInterval } from '../arguments';

export interface NodeOptions extends GlobalOptions {
  readonly since: string;
  readonly until?: string;
  readonly metric?: string;
  readonly chart?: string;
  readonly prometheus?: string | true;
}

/** `qmemacct node --since 1h` */
export function register(command: Command, context: CommandContext): void {
  addIntervalOptions(command, '1h')
    .option('--metric <names>', 'only these metrics: "a,b"; the name of a source stands for all of its metrics')
    .option('--chart <metric>', 'draw this metric')
    .option(
      '--prometheus [file]',
      "what was read last, in Prometheus' text format; into a file, which is replaced as a whole: for node_exporter's textfile collector",
    )
    .action(commandAction<NodeOptions>(context, (options, terminal) => nodeAnswer(options, terminal, context.version)));
}

const UNKNOWN: JobUse['record'] = {
  cluster: '',
  job_id: 0,
  task_id: null,
  owner: null,
  job_name: null,
  status: 'lost',
};

/** The loads, with what is known about the jobs. */
function withRecords({ jobs, processes }: Loads): {
  readonly jobs: readonly JobUse[];
  readonly processes: readonly ProcessUse[];
} {
  const records = new Map(
    jobs.map(({ run, record }): [string, JobUse['record']] => {
      const parsed = recordOfJson(record);
      return [run, parsed.ok ? parsed.value : UNKNOWN];
    }),
  );
  const recordOf = (run: string): JobUse['record'] => {
    const { cluster, job_id, task_id, owner, job_name, status } = records.get(run) ?? UNKNOWN;
    return { cluster, job_id, task_id, owner, job_name, status };
  };
  return {
    jobs: jobs.map(({ run, cpu_seconds, seconds, max_rss_bytes }) => ({
      cpu_seconds,
      seconds,
      max_rss_bytes,
      record: recordOf(run),
    })),
    processes: processes.map(({ run, ...use }) => ({ ...use, record: recordOf(run) })),
  };
}

/** For JSON: the record's fields and the figures in one object. */
const flat = ({ record, ...use }: JobUse | ProcessUse): Readonly<Record<string, unknown>> => ({ ...record, ...use });

const PROCESSES_IN_JSON = 50;

function renderMachine(report: NodeReport, format: 'json' | 'csv', whole: boolean): string {
  const all = [{ context: [['host', report.host]] as const, series: report.series }];
  if (format === 'csv') return renderSeriesCsv(all, ['host']);
  return renderSeriesJson(all, {
    host: report.host,
    since: report.since,
    until: report.until,
    ...(whole
      ? { jobs: report.jobs.map(flat), processes: report.processes.slice(0, PROCESSES_IN_JSON).map(flat) }
      : {}),
  });
}

function renderScreen(report: NodeReport, options: NodeOptions, terminal: Terminal): string[] {
  const screen = screenOf(terminal, options);
  if (options.chart !== undefined) return renderSeriesCharts(report.series, screen.width, screen);
  return options.metric === undefined ? renderNode(report, screen) : renderSeriesTable(report.series, screen);
}

/** Shows this host; resolves to the exit status. Rejects with CommandError or SettingsError. */
async function showNode(options: NodeOptions, terminal: Terminal): Promise<number> {
  const format = outputFormat(options);
  const { since, until } = parseInterval(options.since, options.until, terminal.now());
  const names = [
    ...(options.metric === undefined ? [] : parseMetricNames('--metric', options.metric)),
    ...(options.chart === undefined ? [] : parseMetricNames('--chart', options.chart)),
  ];
  const whole = names.length === 0;
  return withNodeReader(loadSettings(options.config).state_dir, (reader) => {
    const [from, to] = [since.getTime(), until.getTime()];
    const series: readonly MetricSeries[] = describeSeries(reader.readSeries(null, names, from, to));
    const loads = whole && format !== 'csv' ? withRecords(reader.loads(from, to)) : { jobs: [], processes: [] };
    const report: NodeReport = { host: hostname(), since, until, series, ...loads };
    const found = series.length > 0 || loads.jobs.length > 0;
    if (!found)
      warn(
        terminal,
        `nothing was stored from ${options.since} on${furtherBack(since, terminal.now(), '1d')}; "qmemacct doctor" shows which sources are read`,
      );
    if (format !== 'text') terminal.write(renderMachine(report, format, whole));
    else if (found) writeLines(terminal, renderScreen(report, options, terminal));
    return found ? EXIT.found : EXIT.nothing;
  });
}

async function nodeAnswer(options: NodeOptions, terminal: Terminal, version: string): Promise<number> {
  if (options.prometheus === undefined) return showNode(options, terminal);
  const { writeNodeMetrics } = await import('../node-metrics.js');
  return writeNodeMetrics(options, options.prometheus, terminal, version);
}
