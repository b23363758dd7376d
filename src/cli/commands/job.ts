import type { Command } from 'commander';
import { jobSums } from '../../accounting/job-sum';
import { jobTaskName } from '../../record/job-name';
import { loadSettings } from '../../record/settings';
import { renderCsv } from '../../report/records/csv';
import { renderJob, type JobReport } from '../../report/job/job';
import { renderJson } from '../../report/records/json';
import { causeAccounts } from '../../report/why/causes';
import { withArrays } from '../job/array-tasks';
import type { CommandContext, GlobalOptions } from '../command';
import { CommandError, EXIT } from '../command';
import { commandStores } from '../stores/stores';
import { findJob, type JobSources } from '../job/find-job';
import { parseJobArgument, type JobArgument } from '../job/find-job';
import { realLiveSources, type LiveSources } from '../live/sources';
import { outputFormat, screenOf, warn, writeLines } from '../output';
import { realSources, type Sources } from '../stores/stores';
import { noStoreMessage, statusOfNothing } from '../stores/stores';
import type { Terminal } from '../terminal';

export interface JobOptions extends GlobalOptions {
  readonly all?: boolean;
  readonly at?: string;
  readonly tasks?: boolean;
  readonly allHosts?: boolean;
  readonly accounting?: string;
  readonly series?: string;
  readonly chart?: string;
}

/** `qmemacct job ID[.TASK] ...` */
export function register(command: Command, context: CommandContext): void {
  command
    .argument('<job...>', 'job number, or number.task for a task of an array job; run-7: one of "qmemacct run"')
    .option('--all', 'every job that has had this number, not only the newest')
    .option('--at <time>', 'the job that had this number at that time (7d, 2026-11-01, yesterday ...)')
    .option('--tasks', 'every task of an array job, or of a parallel one, as a line')
    .option('--all-hosts', 'every host of a parallel job as a line')
    .option(
      '--series <metrics>',
      'values over time, of "a,b" or of whole sources, as CSV or --json; on the host where it ran',
    )
    .option('--chart <metric>', 'draw this metric over time; on the host where it ran')
    .option('--accounting <path>', "read this accounting DB, not the site's and your own")
    .action((jobs: readonly string[], _options: unknown, given: Command) =>
      context.finish(showJobs(jobs, given.optsWithGlobals<JobOptions>(), context.terminal)),
    );
}

const label = (job: JobArgument): string => jobTaskName({ cluster: '', task_id: null, ...job });

async function findAll(
  jobs: readonly JobArgument[],
  at: Date | null,
  all: boolean,
  sources: JobSources,
): Promise<JobReport[]> {
  const reports: JobReport[] = [];
  for (const job of jobs)
    reports.push(await findJob({ ...job, all, ...(at === null ? {} : { at: at.getTime() }) }, sources));
  return reports;
}

async function readAt(text: string | undefined, now: Date): Promise<Date | null> {
  if (text === undefined) return null;
  const { parseTimeArgument } = await import('../arguments.js');
  return parseTimeArgument('--at', text, now);
}

function explainMissing(job: JobArgument, report: JobReport, searched: readonly string[]): string {
  const where = searched.length === 0 ? 'on this host' : `in ${searched.join(' or ')}`;
  if (report.newer > 0)
    return `job ${label(job)}: no such job by then; ${report.newer} came later, see them with --all`;
  return `job ${label(job)}: nothing known ${where}; a job gets there by its first heartbeat or when it ends ("qmemacct doctor" checks the hooks)`;
}

/** Shows jobs; resolves to the exit status. Rejects with CommandError, SettingsError or StoreError. */
export async function showJobs(
  names: readonly string[],
  options: JobOptions,
  terminal: Terminal,
  sources: Sources = realSources,
  live: LiveSources = realLiveSources,
): Promise<number> {
  const format = outputFormat(options);
  const jobs = names.map(parseJobArgument);
  const at = await readAt(options.at, terminal.now());
  const settings = loadSettings(options.config);
  const stores = await commandStores(options.accounting, settings, terminal, sources);
  try {
    const running = options.accounting === undefined ? sources.running(settings) : Promise.resolve([]);
    const reports = await findAll(jobs, at, options.all ?? false, { readers: stores.readers, running: () => running });
    const found = reports.filter(({ runs }) => runs.length > 0);
    if (found.length === 0 && stores.readers.length === 0)
      throw new CommandError(noStoreMessage(stores), EXIT.unavailable);
    stores.problems.forEach((problem) => warn(terminal, problem));
    jobs.forEach((job, index) => {
      const report = reports[index];
      if (report?.runs.length === 0) warn(terminal, explainMissing(job, report, stores.opened));
    });
    if (options.series !== undefined || options.chart !== undefined) {
      const { showJobSeries } = await import('../job/series.js');
      return found.length === 0
        ? statusOfNothing(stores)
        : await showJobSeries(found, options, settings.state_dir, terminal);
    }
    const runs = found.flatMap((report) => report.runs);
    if (format === 'csv') {
      terminal.write(renderCsv(runs));
      return found.length > 0 ? EXIT.found : statusOfNothing(stores);
    }
    const asked = options.accounting === undefined ? live : null;
    const whole = await withArrays(found, settings, asked, terminal.now());
    if (format === 'json') {
      const arrays = whole.flatMap((report) => [...(report.arrays?.values() ?? [])]);
      terminal.write(renderJson(runs, jobSums(runs), causeAccounts(runs, settings.grid_engine), arrays));
    } else {
      const screen = screenOf(terminal, options, settings);
      const shown = {
        allTasks: options.tasks ?? false,
        allHosts: (options.allHosts ?? options.tasks) === true,
        dialect: settings.grid_engine,
      };
      const parts = whole.map((report) => renderJob(report, shown, screen));
      parts.forEach((lines, index) => writeLines(terminal, index === 0 ? lines : ['', '', ...lines]));
    }
    return found.length > 0 ? EXIT.found : statusOfNothing(stores);
  } finally {
    await Promise.all(stores.readers.map((reader) => reader.close()));
  }
}
