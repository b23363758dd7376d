import type { Command } from 'commander';
import { FULL_SHARE, jobsAtRisk, type AtRisk } from '../../live/at-risk';
import { loadSettings } from '../../record/settings';
import { riskLine } from '../../report/live/at-risk';
import { renderJobsCsv } from '../../report/live/csv';
import { keepsJob } from '../../report/live/filter';
import { renderJobs, type JobsReport } from '../../report/live/jobs';
import { renderJobsJson } from '../../report/live/json';
import { selectJobs, selectPending } from '../../report/live/watch-selection';
import { startWatching } from '../../report/live/watch-state';
import type { CommandContext, GlobalOptions, LiveParts } from '../command';
import { CommandError, EXIT, usageError } from '../command';
import { filterOf, parseSpan, sortingOf, watchInterval } from '../live/arguments';
import { realLiveSources } from '../live/sources';
import { fetchView, nothingKnown } from '../live/view';
import { warnOfProblems, watchCluster, WIDEST_TABLE } from '../live/view';
import { outputFormat, screenOf, writeLines, type OutputFormat } from '../output';
import type { Terminal } from '../terminal';

export interface LiveOptions extends GlobalOptions {
  readonly owner?: string;
  readonly job?: string;
  readonly host?: string;
  readonly queue?: string;
  readonly project?: string;
  readonly sort?: string;
  readonly reverse?: boolean;
  readonly limit?: string;
  readonly pending?: boolean;
  readonly watch?: string | true;
  readonly atRisk?: boolean;
  readonly within: string;
}

/** `qmemacct live --owner bob` */
export function register(command: Command, context: CommandContext): void {
  command
    .option('-o, --owner <names>', 'of these users: names and globs, "alice,bob*"')
    .option('-j, --job <jobs>', 'these jobs or tasks: 4711, 4711.3, "47*"')
    .option('-H, --host <names>', 'on these hosts')
    .option('-q, --queue <names>', 'in these queues: all.q, "*@node01"')
    .option('-P, --project <names>', 'of these projects')
    .option('--sort <key>', 'share, risk, peak, used, request, slots, time, owner, name, host or job (default: share)')
    .option('-r, --reverse', 'the other way round')
    .option('--limit <n>', 'at most so many jobs (default: all)')
    .option('--pending', 'also the jobs that wait')
    .option('--watch [seconds]', 'go on showing them, with keys to sort and filter (? tells them)')
    .option(
      '--at-risk',
      'only jobs that are at their limit or will be soon, a line each; exit status 1 if there are none',
    )
    .option('--within <time>', 'how soon, for --at-risk: 30m, 2h, 1d', '1d')
    .action((_options: unknown, given: Command) =>
      context.finish(showLive(given.optsWithGlobals<LiveOptions>(), context.terminal, context.live)),
    );
}

const EVERYTHING = Infinity;
/** Who asks once waits for the answer. */
const NEVER = new AbortController().signal;

function limitOf(text: string | undefined): number {
  if (text === undefined) return EVERYTHING;
  const limit = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (limit < 1) throw usageError(`--limit: "${text}" is not a number of jobs; write 1 or more`);
  return limit;
}

function writeReport(report: JobsReport, format: OutputFormat, options: LiveOptions, terminal: Terminal): void {
  if (format === 'json') terminal.write(renderJobsJson(report));
  else if (format === 'csv') terminal.write(renderJobsCsv(report));
  else writeLines(terminal, renderJobs(report, screenOf(terminal, options, { widest: WIDEST_TABLE })));
}

/** For a mail: no head, no colours. */
function writeRisks(risks: readonly AtRisk[], report: JobsReport, options: LiveOptions, terminal: Terminal): void {
  const format = outputFormat(options);
  if (format !== 'text') {
    writeReport(report, format, options, terminal);
    return;
  }
  const screen = screenOf(terminal, { color: false });
  writeLines(
    terminal,
    risks.map((risk) => riskLine(risk, screen)),
  );
}

/** Shows running jobs; resolves to the exit status. Rejects with CommandError or SettingsError. */
async function showLive(options: LiveOptions, terminal: Terminal, parts: LiveParts = {}): Promise<number> {
  const format = outputFormat(options);
  const filter = filterOf(options);
  const sorting = sortingOf('jobs', options);
  const limit = limitOf(options.limit);
  const within = parseSpan('--within', options.within);
  const pending = options.pending ?? false;
  const settings = loadSettings(options.config);
  const sources = parts.sources ?? realLiveSources;
  const interval = watchInterval(options, terminal, settings.poll_interval);
  if (interval !== null) {
    if (options.atRisk) throw usageError('--at-risk answers once; watch with --watch --sort risk');
    const start = startWatching('jobs', { filter, sorting, details: false });
    return watchCluster({ start, pending, interval, settings, sources }, options, terminal, parts.tty);
  }
  const answer = await fetchView(sources, settings, { pending, signal: NEVER }, terminal.now);
  const { view } = answer;
  if (!answer.jobsKnown) throw new CommandError(nothingKnown(view), EXIT.unavailable);
  warnOfProblems(answer, terminal);
  if (options.atRisk) {
    const kept = { jobs: view.jobs.filter((job) => keepsJob(filter, job)) };
    const now = terminal.now().getTime();
    const risks = jobsAtRisk(kept, { withinMs: within, nowMs: now, share: FULL_SHARE }).slice(0, limit);
    writeRisks(risks, { view, jobs: risks.map(({ job }) => job), pending: null }, options, terminal);
    return risks.length > 0 ? EXIT.found : EXIT.nothing;
  }
  const report: JobsReport = {
    view,
    jobs: selectJobs(view, filter, sorting).slice(0, limit),
    pending: selectPending(view, filter, { key: 'priority', reverse: false })?.slice(0, limit) ?? null,
  };
  writeReport(report, format, options, terminal);
  return report.jobs.length > 0 || (report.pending?.length ?? 0) > 0 ? EXIT.found : EXIT.nothing;
}
