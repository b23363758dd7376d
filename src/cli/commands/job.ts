import type { Command } from 'commander';
import { callerName } from '../../base/user-name';
import type { ListedJob } from '../../gridengine/qstat/job-list';
import type { JobQuery } from '../../accounting/store';
import type { UnfinishedJob } from '../../live/unfinished-job';
import { jobSums, type JobSum } from '../../accounting/job-sum';
import { jobTaskName } from '../../record/job-name';
import type { JobRecord } from '../../record/record';
import { loadSettings, type Settings } from '../../record/settings';
import { nextRequests } from '../../report/advice/next-request';
import { ARRAY_FIELDS } from '../../report/job/array';
import { isArray, type ArrayProgress } from '../../report/job/array-progress';
import { renderJob, type JobReport } from '../../report/job/job';
import { latestRuns, recordsOf, type JobViewOptions } from '../../report/job/job-run';
import { OWNER_COLUMNS } from '../../report/records/columns';
import { toJobLines } from '../../report/records/lines';
import { renderRecordTable } from '../../report/records/list';
import { causeAccounts, type CauseAccount } from '../../report/why/causes';
import { kindsNear } from '../../report/rules/kinds';
import { withClasses } from '../../report/rules/judge';
import { loadRules, type RuleSet } from '../../report/rules/rule-set';
import { writerOf } from '../records/accounts';
import { findDistinct, historyOf } from '../records/find';
import {
  knowsWorst,
  runsOfTasks,
  sayNoTasks,
  statusOfWorst,
  taskChoiceOf,
  taskOptionsOf,
  type TaskOptions,
} from '../job/task-options';
import { askLists, hasRecent, withArrays } from '../job/array-tasks';
import { commandAction, type CommandContext, type GlobalOptions, CommandError, EXIT, usageError } from '../command';
import {
  ACCOUNTING_OPTION,
  commandStores,
  noStoreMessage,
  readStores,
  realSources,
  emptyExitStatus,
  type OpenStores,
  type Sources,
} from '../stores/stores';
import { RUN_FIELDS, wholeRuns } from '../job/whole-runs';
import {
  findJob,
  findNewest,
  parseJobArguments,
  type FewFields,
  type JobArgument,
  type JobSources,
} from '../job/find-job';
import { formatAge } from '../../report/live/live-column';
import { renderUnfinished, unfinishedLine } from '../../report/job/unfinished';
import { askFor, findUnfinished, mayRunOn, NOBODY_ASKED, type AskedJobs } from '../job/may-be-unfinished';
import { withStates } from '../job/listed-states';
import { arrayLines, findArray, type ArrayContext } from '../job/array-screen';
import { realLiveSources, type LiveSources } from '../live/sources';
import { outputFormat, screenOf, textOrJson, warn, writeLines, writePieces } from '../output';
import type { Terminal } from '../terminal';

export interface JobOptions extends GlobalOptions, TaskOptions {
  readonly all?: boolean;
  readonly at?: string;
  readonly allHosts?: boolean;
  readonly accounting?: string;
  readonly series?: string;
  readonly chart?: string;
  readonly full?: boolean;
  readonly brief?: boolean;
  readonly retry?: boolean;
}

/** `qmemacct job ID[.TASK] ...` */
export function register(command: Command, context: CommandContext): void {
  command
    .argument(
      '[job...]',
      'number, number.task, 26,27, 100-120, a job name, an output file (sim.o4711), run-7 (of "qmemacct run"), or "last"',
    )
    .option('--full', 'show everything that is known')
    .option('--brief', 'six lines, as seff shows')
    .option(
      '--retry',
      'what to request now if lack of memory ended it (exit status 0); 1: it ended otherwise, 4: not known, or not yet',
    )
    .option('--all', 'every job that has had this number, not only the newest')
    .option('--at <time>', 'the job that had this number at that time (7d, 2026-11-01, yesterday ...)')
    .option('--tasks', 'every task of an array job, or of a parallel one, as a line')
    .option('--worst <n>', 'the n tasks of an array job that came closest to their limit')
    .option('--failed', 'the tasks of an array job that ended badly')
    .option('--limit <n>', 'at most this many tasks of an array job')
    .option('--all-hosts', 'every host of a parallel job as a line')
    .option(
      '--series <metrics>',
      'values over time, of "a,b" or of whole sources, as CSV or --json; on the host where it ran',
    )
    .option('--chart <metric>', 'draw this metric over time; on the host where it ran')
    .option(...ACCOUNTING_OPTION)
    .action(commandAction<JobOptions, [readonly string[]]>(context, showJobs));
}

interface Named extends Pick<JobArgument, 'job_id' | 'cluster'> {
  readonly task_id?: number | null;
}

/** The jobs and tasks that Grid Engine still has. */
const listedBy = ({ jobs }: AskedJobs): ReadonlySet<string> =>
  new Set(jobs.map(({ job, task }) => label({ job_id: job, task_id: task })));

const label = ({ job_id, task_id = null, cluster = '' }: Named): string => jobTaskName({ cluster, job_id, task_id });

/** Where jobs are looked for, and what their runs are judged by. */
interface JobContext extends JobSources, ArrayContext {
  readonly stores: OpenStores;
}

async function findAll(
  jobs: readonly JobArgument[],
  query: Pick<JobQuery, 'all' | 'at'>,
  few: FewFields,
  context: JobContext,
): Promise<JobReport[]> {
  const { readers, history, rules } = context;
  const reports: JobReport[] = [];
  for (const job of jobs) {
    const report = await findJob({ ...job, ...query }, context, few);
    // Runs that are read again page by page are advised then.
    const runs = few.paged ? report.runs : await history.advise(report.runs);
    const { of: kindOf } = await kindsNear(recordsOf(runs), (near) => findDistinct(near, readers));
    reports.push({ ...report, runs, judges: { rules, kindOf } });
  }
  return reports;
}

async function readAt(text: string | undefined, now: Date): Promise<Date | null> {
  if (text === undefined) return null;
  const { parseTimeArgument } = await import('../arguments.js');
  return parseTimeArgument('--at', text, now);
}

/** Job numbers for the words: a name or "last" becomes the caller's newest such job. */
async function numbersOf(
  words: ReturnType<typeof parseJobArguments>,
  terminal: Terminal,
  sources: JobSources,
): Promise<readonly JobArgument[]> {
  const jobs: JobArgument[] = [];
  for (const word of words) {
    if ('job_id' in word) {
      jobs.push(word);
      continue;
    }
    const user = callerName();
    const found = await findNewest(word, user, terminal.now(), sources);
    if (found !== null) jobs.push(found);
    else warn(terminal, `no job${word.name === null ? '' : ` named ${word.name}`} of ${user} is known`);
  }
  return jobs;
}

/** Each job once: `sim.o4711 sim.e4711` name the same one, and a task is left out where its whole job is named. */
function distinct(jobs: readonly JobArgument[]): readonly JobArgument[] {
  const named = new Map(jobs.map((job) => [label(job), job]));
  return [...named.values()].filter((job) => job.task_id === undefined || !named.has(label({ ...job, task_id: null })));
}

function explainMissing(
  job: JobArgument,
  report: JobReport,
  searched: readonly string[],
  { problem, listedAt }: AskedJobs,
  now: Date,
): string {
  const where = searched.length === 0 ? 'on this host' : `in ${searched.join(' or ')}`;
  if (report.newer > 0)
    return `job ${label(job)}: no such job by that time; ${report.newer} came later, see them with --all`;
  const grid = problem === null ? '' : `; whether it waits is unknown: ${problem}`;
  // Lists that several commands share can be older than the job.
  if (problem === null && listedAt !== null)
    return `job ${label(job)}: nothing known ${where}, nor in Grid Engine's lists of ${formatAge(now.getTime() - listedAt)} ago; one submitted since appears within seconds ("qmemacct doctor" checks the hooks)`;
  return `job ${label(job)}: nothing known ${where}; a job appears with its first heartbeat or when it ends ("qmemacct doctor" checks the hooks)${grid}`;
}

/** Records of jobs, and what Grid Engine says about jobs that have not ended. */
interface Found {
  readonly reports: readonly JobReport[];
  readonly unfinished: AskedJobs;
}

/** Whether jobs are shown as one line each: several are, unless an option such as --full or --brief asks for more. */
function asLines({ reports, unfinished: { jobs } }: Found, options: JobOptions, settings: Settings): boolean {
  const { detail, tasks, allTasks } = viewOf(options, settings);
  const numbers = new Set([...reports.map(({ job_id }) => job_id), ...jobs.map(({ job }) => job)]);
  return numbers.size > 1 && detail === undefined && tasks === undefined && !allTasks && options.allHosts !== true;
}

function renderText(found: Found, options: JobOptions, settings: Settings, terminal: Terminal): void {
  const { reports } = found;
  const unfinished = found.unfinished.jobs;
  const screen = screenOf(terminal, options, settings);
  const shown = viewOf(options, settings);
  const lastRunOf = ({ job, task }: UnfinishedJob): JobRecord | null => {
    const report = reports.find(({ job_id, task_id }) => job_id === job && (task_id ?? null) === task);
    return recordsOf(latestRuns(report?.runs ?? []))[0] ?? null;
  };
  if (asLines(found, options, settings)) {
    const lines = reports.flatMap(({ runs }) => toJobLines(recordsOf(latestRuns(runs)), 'time'));
    writeLines(
      terminal,
      renderRecordTable(lines, { columns: OWNER_COLUMNS, chosen: false, width: screen.width }, screen).lines,
    );
    writeLines(
      terminal,
      unfinished.map((job) => unfinishedLine(job, screen, lastRunOf(job))),
    );
    return;
  }
  const parts = reports.map((report) => renderJob(report, shown, screen));
  const listed = unfinished.map((job) =>
    renderUnfinished(job, screen, { full: options.full, lastRun: lastRunOf(job) }),
  );
  writeParts([...listed, ...parts], terminal);
}

const writeParts = (parts: readonly (readonly string[])[], terminal: Terminal): void =>
  parts.forEach((lines, index) => writeLines(terminal, index === 0 ? lines : ['', '', ...lines]));

function viewOf(options: JobOptions, settings: Settings): JobViewOptions {
  const tasks = taskChoiceOf(options);
  return {
    detail: options.full ? 'full' : options.brief ? 'brief' : undefined,
    allTasks: options.tasks ?? false,
    ...(tasks === null ? {} : { tasks }),
    allHosts: (options.allHosts ?? options.tasks) === true,
    dialect: settings.grid_engine,
  };
}

/** Shows a single array job if few facts per task suffice; resolves to the exit status; null: the options need more. */
async function showArray(
  [job, ...others]: readonly JobArgument[],
  options: JobOptions,
  context: JobContext,
  terminal: Terminal,
): Promise<number | null> {
  const { at, retry, series, chart } = options;
  if (job === undefined || job.task_id !== undefined || others.length > 0) return null;
  if ((at ?? series ?? chart) !== undefined || retry || outputFormat(options) !== 'text') return null;
  const { rules, settings, live, stores } = context;
  const array = await findArray(job, context, rules);
  if (array === null) return null;
  const screen = screenOf(terminal, options, settings);
  const asked = live !== null && hasRecent(array.tasks, terminal.now()) ? live : null;
  const mayContinue = asked !== null && job.cluster === undefined && mayRunOn(array.tasks);
  const unfinished = mayContinue
    ? await askFor([{ job: job.job_id, task: null }], settings, asked, terminal.now())
    : NOBODY_ASKED;
  stores.problems.forEach((problem) => warn(terminal, problem));
  const shown = await arrayLines(array, viewOf(options, settings), screen, { ...context, live: asked });
  writeParts(
    [...unfinished.jobs.map((one) => renderUnfinished(one, screen, { full: options.full })), shown.lines],
    terminal,
  );
  return statusOfWorst(options, () => shown.knowsWorst, terminal);
}

/** `listed`: the jobs and tasks that Grid Engine still has; null: it was not asked, or did not answer. */
async function retryOne(
  [report, ...others]: readonly JobReport[],
  listed: ReadonlySet<string> | null,
  options: JobOptions,
  settings: Settings,
  terminal: Terminal,
): Promise<number> {
  const format = textOrJson(options, '--retry');
  if (report === undefined || others.length > 0) throw usageError('--retry takes one job: name it');
  const { showRetry } = await import('../job/retry.js');
  const runs = listed?.has(label(report)) ? [] : report.runs;
  return showRetry({ ...report, runs, mayWait: listed === null }, format, settings.grid_engine, terminal);
}

async function listedJobs(settings: Settings, live: LiveSources): Promise<readonly ListedJob[]> {
  const snapshot = await askLists(settings, live);
  return [...(snapshot?.running.value ?? []), ...(snapshot?.pending?.value ?? [])];
}

/** The fields to read for a job with many runs: those its screen shows, or those needed to read the runs again. */
function fewOf(options: JobOptions, { rules }: RuleSet): FewFields {
  const paged = outputFormat(options) !== 'text' && options.retry !== true;
  if (paged) return { fields: taskChoiceOf(options) === null ? RUN_FIELDS : ARRAY_FIELDS, paged };
  return { fields: [...ARRAY_FIELDS, ...rules.flatMap((rule) => rule.fields)], paged };
}

/** Writes the wanted runs as JSON or CSV; where there are many, page by page. Rejects with StoreError. */
async function writeRuns(
  { reports, unfinished }: Found,
  arrays: readonly ArrayProgress[],
  options: JobOptions,
  { readers, history, settings }: JobContext,
  terminal: Terminal,
): Promise<void> {
  const tasks = taskChoiceOf(options);
  const writer = writerOf(outputFormat(options) === 'csv' ? 'csv' : 'json');
  const sums: JobSum[] = [];
  const causes: CauseAccount[] = [];
  for (const report of reports) {
    const wanted = tasks === null ? report.runs : runsOfTasks(report.runs, tasks);
    for await (const page of wholeRuns(report, wanted, readers)) {
      const { judges } = report;
      const advised = await history.advise(page);
      const runs = judges === undefined ? advised : withClasses(advised, judges.rules, judges.kindOf);
      writePieces(terminal, writer.some(nextRequests(runs)));
      for (const sum of jobSums(runs)) sums.push(sum);
      for (const cause of causeAccounts(runs, settings.grid_engine)) causes.push(cause);
    }
  }
  writePieces(terminal, writer.end(sums, causes, arrays, unfinished.jobs));
}

async function writeFound(found: Found, options: JobOptions, context: JobContext, terminal: Terminal): Promise<void> {
  const { settings, live } = context;
  const format = outputFormat(options);
  // Neither shows what Grid Engine's lists say of jobs with a record.
  const isPlain = format === 'csv' || (format === 'text' && asLines(found, options, settings));
  const whole = isPlain ? found.reports : await withArrays(found.reports, settings, live, terminal.now());
  if (format === 'text') {
    const reports = isPlain ? whole : await withStates(whole, settings, live, terminal.now());
    renderText({ ...found, reports }, options, settings, terminal);
    return;
  }
  const arrays = whole.flatMap((report) => [...(report.arrays?.values() ?? [])]);
  await writeRuns(found, arrays, options, context, terminal);
}

/** Shows the records of jobs, and what Grid Engine says about those that have not ended; resolves to the exit status. */
async function showRecords(
  jobs: readonly JobArgument[],
  query: Pick<JobQuery, 'all' | 'at'>,
  options: JobOptions,
  context: JobContext,
  terminal: Terminal,
): Promise<number> {
  const { settings, live, stores, rules } = context;
  const reports = await findAll(jobs, query, fewOf(options, rules), context);
  sayNoTasks(reports, options, terminal);
  const isSeries = options.series !== undefined || options.chart !== undefined;
  const unfinished =
    live === null || isSeries
      ? NOBODY_ASKED
      : await findUnfinished(reports, settings, live, stores.readers, terminal.now());
  const found = reports.filter(({ runs }) => runs.length > 0);
  const nothing = found.length === 0 && unfinished.jobs.length === 0;
  if (nothing && stores.readers.length === 0) throw new CommandError(noStoreMessage(stores), EXIT.unavailable);
  stores.problems.forEach((problem) => warn(terminal, problem));
  const listed = listedBy(unfinished);
  if (options.retry) {
    const answered = live === null || unfinished.problem !== null ? null : listed;
    return retryOne(reports, answered, options, settings, terminal);
  }
  jobs.forEach((job, index) => {
    const report = reports[index];
    if (report?.runs.length === 0 && !listed.has(label(job)))
      warn(terminal, explainMissing(job, report, stores.opened, unfinished, terminal.now()));
  });
  if (isSeries && found.length > 0) {
    const { showJobSeries } = await import('../job/series.js');
    return showJobSeries(found, options, settings.state_dir, terminal);
  }
  if (!isSeries) await writeFound({ reports: found, unfinished }, options, context, terminal);
  if (nothing) return unfinished.problem === null ? emptyExitStatus(stores) : EXIT.unavailable;
  const arrays = found.filter(({ runs }) => isArray(runs));
  return statusOfWorst(options, () => arrays.length === 0 || arrays.some(knowsWorst), terminal);
}

/** `live`: Grid Engine, asked about jobs as they are now; null: it is not asked. */
async function contextOf(
  stores: OpenStores,
  settings: Settings,
  {
    options,
    sources,
    live,
  }: { readonly options: JobOptions; readonly sources: Sources; readonly live: LiveSources | null },
  terminal: Terminal,
): Promise<JobContext> {
  const running = options.accounting === undefined ? sources.running(settings) : Promise.resolve([]);
  const rules = await loadRules(settings.rules_file);
  if (rules.problem !== null) warn(terminal, rules.problem);
  const { readers } = stores;
  return {
    readers,
    stores,
    running: () => running,
    ...(live === null ? {} : { listed: () => listedJobs(settings, live) }),
    history: historyOf(readers, terminal.now()),
    rules,
    settings,
    live,
  };
}

function requireUsable(options: JobOptions): void {
  outputFormat(options);
  if (options.full && options.brief) throw usageError('--full and --brief exclude each other: give one of them');
  const [ofTasks] = options.retry ? taskOptionsOf(options) : [];
  if (ofTasks !== undefined) throw usageError(`--retry covers all tasks of a job: leave --${ofTasks} out`);
}

/** Shows jobs; resolves to the exit status. Rejects with CommandError, SettingsError or StoreError. */
export async function showJobs(
  names: readonly string[],
  options: JobOptions,
  terminal: Terminal,
  sources: Sources = realSources,
  live: LiveSources = realLiveSources,
): Promise<number> {
  requireUsable(options);
  const words = parseJobArguments(names);
  const at = await readAt(options.at, terminal.now());
  const settings = loadSettings(options.config);
  const asked = options.accounting === undefined && at === null ? live : null;
  return readStores(await commandStores(options.accounting, settings, terminal, sources), async (stores) => {
    const context = await contextOf(stores, settings, { options, sources, live: asked }, terminal);
    const jobs = distinct(await numbersOf(words, terminal, context));
    const query = { all: options.all ?? false, ...(at === null ? {} : { at: at.getTime() }) };
    return (
      (await showArray(jobs, options, context, terminal)) ??
      (await showRecords(jobs, query, options, context, terminal))
    );
  });
}
