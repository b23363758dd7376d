import type { Command } from 'commander';
import { loadSettings } from '../../record/settings';
import { renderHostsCsv } from '../../report/live/csv';
import { asksForJobs } from '../../report/live/filter';
import { renderHosts, type HostsReport } from '../../report/live/hosts';
import { renderHostsJson } from '../../report/live/json';
import { selectHosts } from '../../report/live/watch-selection';
import { startWatching } from '../../report/live/watch-state';
import type { CommandContext, GlobalOptions, LiveParts } from '../command';
import { CommandError, EXIT } from '../command';
import { filterOf, sortingOf, watchInterval } from '../live/arguments';
import { realLiveSources } from '../live/sources';
import { fetchView, nothingKnown } from '../live/view';
import { warnOfProblems, watchCluster, WIDEST_TABLE } from '../live/view';
import { outputFormat, screenOf, writeLines } from '../output';
import type { Terminal } from '../terminal';

interface HostsOptions extends GlobalOptions {
  readonly jobs?: boolean;
  readonly job?: string;
  readonly owner?: string;
  readonly host?: string;
  readonly sort?: string;
  readonly reverse?: boolean;
  readonly watch?: string | true;
}

/** `qmemacct hosts -u` */
export function register(command: Command, context: CommandContext): void {
  command
    .option('-u, --jobs', 'with the jobs on each host and their tasks')
    .option('-j, --job <jobs>', 'hosts with these jobs or tasks, and only them (with -u): 4711, 4711.3, "47*"')
    .option('-o, --owner <names>', 'hosts with jobs of these users, and only them (with -u): "alice,bob*"')
    .option('-H, --host <names>', 'these hosts: names and globs, "node0*,big1"')
    .option('--sort <key>', 'host, used, now, requested, percent, total, free, slots, load or stranded (default: host)')
    .option('-r, --reverse', 'the other way round')
    .option('--watch [seconds]', 'go on showing them, with keys to sort and filter (? tells them)')
    .action((_options: unknown, given: Command) =>
      context.finish(showHosts(given.optsWithGlobals<HostsOptions>(), context.terminal, context.live)),
    );
}

/** Who asks once waits for the answer. */
const NEVER = new AbortController().signal;

/** Shows the hosts; resolves to the exit status. Rejects with CommandError or SettingsError. */
async function showHosts(options: HostsOptions, terminal: Terminal, parts: LiveParts = {}): Promise<number> {
  const format = outputFormat(options);
  const filter = filterOf({
    ...(options.job === undefined ? {} : { job: options.job }),
    ...(options.owner === undefined ? {} : { owner: options.owner }),
    ...(options.host === undefined ? {} : { host: options.host }),
  });
  const sorting = sortingOf('hosts', options);
  // Who asks for jobs wants to see them.
  const details = (options.jobs ?? false) || asksForJobs(filter);
  const settings = loadSettings(options.config);
  const sources = parts.sources ?? realLiveSources;
  const interval = watchInterval(options, terminal, settings.poll_interval);
  if (interval !== null) {
    const start = startWatching('hosts', { filter, sorting, details });
    return watchCluster({ start, pending: false, interval, settings, sources }, options, terminal, parts.tty);
  }
  const answer = await fetchView(sources, settings, { pending: false, signal: NEVER }, terminal.now);
  const { view } = answer;
  if (!answer.hostsKnown) throw new CommandError(nothingKnown(view), EXIT.unavailable);
  warnOfProblems(answer, terminal);
  const report: HostsReport = { view, hosts: selectHosts(view, filter, sorting), details };
  if (format === 'json') terminal.write(renderHostsJson(report));
  else if (format === 'csv') terminal.write(renderHostsCsv(report));
  else writeLines(terminal, renderHosts(report, screenOf(terminal, options, { widest: WIDEST_TABLE })));
  return report.hosts.length > 0 ? EXIT.found : EXIT.nothing;
}
