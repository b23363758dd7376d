import type { Command } from 'commander';
import { xmlWriter } from '../../gridengine/xml/write-xml';
import { loadSettings } from '../../record/settings';
import { renderHostsCsv } from '../../report/live/csv';
import { asksForJobs } from '../../report/live/filter';
import { renderQhostXml } from '../../report/live/gridengine-xml';
import { renderHosts, type HostsReport } from '../../report/live/hosts';
import { renderHostsJson } from '../../report/live/json';
import { chooseHosts, filterOf, HOSTS_OPTIONS, hostsSorting } from '../../report/live/live-options';
import { startWatching } from '../../report/live/watch-state';
import { commandAction, EXIT, type CommandContext, type LiveParts } from '../command';
import { addOptions, readOptions, wantsXml, watchInterval, type LiveCommandOptions } from '../live/arguments';
import { realLiveSources } from '../live/sources';
import { viewOnce, watchCluster, WIDEST_TABLE } from '../live/view';
import { outputFormat, screenOf, writeLines } from '../output';
import type { Terminal } from '../terminal';

interface HostsCommandOptions extends Omit<LiveCommandOptions, 'atRisk' | 'full'> {
  readonly jobs?: boolean;
}

/** `qmemacct hosts -u` */
export function register(command: Command, context: CommandContext): void {
  addOptions(command, HOSTS_OPTIONS)
    .option('-u, --jobs', 'with the jobs on each host and their tasks')
    .option('--xml', 'print what "qhost -F -q -j -xml" does, well-formed')
    .option('--watch [seconds]', 'keep them up to date, with keys to sort and filter (? lists them)')
    .action(
      commandAction<HostsCommandOptions>(context, (options, terminal) => showHosts(options, terminal, context.live)),
    );
}

/** `hosts`; resolves to the exit status. Rejects with CommandError or SettingsError. */
async function showHosts(options: HostsCommandOptions, terminal: Terminal, parts: LiveParts = {}): Promise<number> {
  const format = outputFormat(options);
  const xml = wantsXml(options);
  const asked = readOptions(HOSTS_OPTIONS, { ...options });
  const filter = filterOf(asked);
  // A filter by jobs implies that the jobs are to be shown.
  const details = (options.jobs ?? false) || asksForJobs(filter);
  const settings = loadSettings(options.config);
  const sources = parts.sources ?? realLiveSources;
  const interval = watchInterval(options, terminal, settings.poll_interval);
  if (interval !== null) {
    const start = startWatching('hosts', { filter, sorting: hostsSorting(asked), details });
    return watchCluster({ start, pending: false, interval, settings, sources }, options, terminal, parts.tty);
  }
  const { snapshot, view } = await viewOnce(sources, settings, terminal, { pending: false, known: 'hostsKnown' });
  const report: HostsReport = { ...chooseHosts(view, asked), details };
  if (xml) terminal.write(renderQhostXml(snapshot, report.hosts, xmlWriter()));
  else if (format === 'json') terminal.write(renderHostsJson(report));
  else if (format === 'csv') terminal.write(renderHostsCsv(report));
  else writeLines(terminal, renderHosts(report, screenOf(terminal, options, { widest: WIDEST_TABLE })));
  return report.hosts.length > 0 ? EXIT.found : EXIT.nothing;
}
