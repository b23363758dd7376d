import { jobTaskName } from '../../record/job-name';
import type { JobRecord } from '../../record/record';
import { formatInterval, formatMoment } from '../format/local-time';
import { summarize, type MetricSeries } from './metric-series';
import { renderSection, SECTION_INDENT } from '../screen/layout';
import type { Screen } from '../screen/screen';
import { formatValue, seriesName } from './chart';
import { renderTable } from '../screen/table';
import { spread } from '../job/title';
import { formatBytes, formatDuration, formatNumber } from '../format/units';

/** What a job used in the interval of the report. */
export interface JobUse {
  readonly cpu_seconds: number;
  /** For how many seconds it was seen in that interval. */
  readonly seconds: number;
  readonly max_rss_bytes: number;
  readonly record: Pick<JobRecord, 'cluster' | 'job_id' | 'task_id' | 'owner' | 'job_name' | 'status'>;
}

export interface ProcessUse extends JobUse {
  readonly pid: number;
  readonly command: string;
}

export interface NodeReport {
  readonly host: string;
  readonly since: Date;
  readonly until: Date;
  readonly series: readonly MetricSeries[];
  /** Highest load first. */
  readonly jobs: readonly JobUse[];
  readonly processes: readonly ProcessUse[];
}

/** The metrics that are shown first. */
const SUMMARY: readonly { readonly heading: string; readonly shown: RegExp }[] = [
  { heading: 'Load', shown: /^loadavg_(1min|runnable)$/ },
  { heading: 'CPU', shown: /^cpu_(busy|user|system|iowait|steal)_percent$/ },
  { heading: 'Memory', shown: /^meminfo_(mem_?)?(total|available|dirty|cached|shmem)_bytes$/ },
  { heading: 'Swap', shown: /^swap_(used|in|out)_bytes$/ },
  { heading: 'Pressure', shown: /^pressure_(cpu|memory|io)_some_avg10_percent$/ },
  { heading: 'Disk', shown: /^disk_(read_bytes|written_bytes|busy_seconds)$|^diskusage_used_percent$/ },
  { heading: 'Network', shown: /^(network|infiniband)_(received|sent)_bytes$/ },
  { heading: 'Files', shown: /^(lustre|nfs)_(read|write|written)_bytes$/ },
  { heading: 'GPU', shown: /^(nvidia|drm)_(utilization_percent|memory_used_bytes|busy_percent)$/ },
  { heading: 'Heat', shown: /_celsius$/ },
  { heading: 'Power', shown: /_watts$|^rapl(perf)?_energy_joules$/ },
];

const MOST_ROWS = 6;
const MOST_JOBS = 8;
const MOST_PROCESSES = 10;

const HEADS = [
  { head: '', shrinksTo: 24 },
  { head: 'latest', align: 'right' },
  { head: 'mean', align: 'right' },
  { head: 'max', align: 'right' },
] as const;

interface Row {
  readonly cells: readonly string[];
  readonly mean: number;
}

function rowOf(series: MetricSeries, screen: Screen): Row[] {
  const summary = summarize(series);
  if (summary === null) return [];
  const { latest, mean, max } = summary;
  return [
    {
      cells: [seriesName(series, screen), ...[latest, mean, max].map((value) => formatValue(series, value, screen))],
      mean,
    },
  ];
}

/** All series with latest, mean and largest value, each on a line. */
export function renderSeriesTable(series: readonly MetricSeries[], screen: Screen): string[] {
  return renderTable(
    HEADS,
    series.flatMap((one) => rowOf(one, screen)).map(({ cells }) => cells),
    screen,
  );
}

function renderSummary(series: readonly MetricSeries[], screen: Screen): string[] {
  const sections = SUMMARY.map(({ heading, shown }) => {
    const rows = series.filter(({ metric }) => shown.test(metric)).flatMap((one) => rowOf(one, screen));
    // Of many rows (64 CPUs, ten interfaces) those with the highest means, in the order of the metrics.
    const least = rows.map(({ mean }) => mean).sort((a, b) => b - a)[MOST_ROWS - 1] ?? -Infinity;
    const kept = rows.filter(({ mean }) => mean >= least).slice(0, MOST_ROWS);
    return { heading, kept, left: rows.length - kept.length };
  }).filter(({ kept }) => kept.length > 0);
  if (sections.length === 0) return [];
  const table = renderTable(
    HEADS,
    sections.flatMap(({ kept }) => kept.map(({ cells }) => cells)),
    screen,
    screen.width - SECTION_INDENT,
  );
  const [head = '', ...body] = table;
  let line = 0;
  return [
    `${' '.repeat(SECTION_INDENT)}${head}`,
    ...sections.flatMap(({ heading, kept, left }) => {
      const own = body.slice(line, (line += kept.length));
      return renderSection(
        heading,
        left > 0 ? [...own, screen.style.faint(`and ${left} more: --metric NAME`)] : own,
        screen,
      );
    }),
  ];
}

const useCells = (use: JobUse): string[] => [
  formatDuration(use.cpu_seconds),
  use.seconds > 0 ? formatNumber(use.cpu_seconds / use.seconds) : '',
  formatBytes(use.max_rss_bytes),
];

const USE_HEADS = [
  { head: 'CPU time', align: 'right' },
  { head: 'CPUs', align: 'right' },
  { head: 'peak memory', align: 'right' },
] as const;

function renderJobs(jobs: readonly JobUse[], screen: Screen): string[] {
  return renderTable(
    [
      { head: 'job', align: 'right' },
      { head: 'owner', shrinksTo: 8 },
      { head: 'name', shrinksTo: 8 },
      ...USE_HEADS,
      { head: '' },
    ],
    jobs
      .slice(0, MOST_JOBS)
      .map((use) => [
        jobTaskName(use.record),
        screen.safe(use.record.owner ?? ''),
        screen.safe(use.record.job_name ?? ''),
        ...useCells(use),
        use.record.status === 'running' ? 'running' : '',
      ]),
    screen,
    screen.width - SECTION_INDENT,
  );
}

function renderProcesses(processes: readonly ProcessUse[], screen: Screen): string[] {
  return renderTable(
    [
      { head: 'pid', align: 'right' },
      { head: 'command', shrinksTo: 8 },
      { head: 'job', align: 'right' },
      { head: 'owner', shrinksTo: 8 },
      ...USE_HEADS,
    ],
    processes
      .slice(0, MOST_PROCESSES)
      .map((use) => [
        String(use.pid),
        screen.safe(use.command),
        jobTaskName(use.record),
        screen.safe(use.record.owner ?? ''),
        ...useCells(use),
      ]),
    screen,
    screen.width - SECTION_INDENT,
  );
}

/** One screen on a host: its most important series, and the jobs and processes with the highest load. */
export function renderNode(report: NodeReport, screen: Screen): string[] {
  const { host, since, until, series, jobs, processes } = report;
  const span = formatInterval(since, until, screen.glyphs.arrow, formatMoment);
  const summary = renderSummary(series, screen);
  const parts = [
    summary.length === 0 ? ['No series of the node in this time.'] : summary,
    renderSection('Jobs', renderJobs(jobs, screen), screen),
    renderSection('Busy', renderProcesses(processes, screen), screen),
  ].filter((lines) => lines.length > 0);
  return [
    spread(`Host ${screen.safe(host)}`, span, screen, screen.style.title, screen.style.faint),
    ...parts.flatMap((lines) => ['', ...lines]),
  ];
}
