import type { Command } from 'commander';
import { loadSettings } from '../../record/settings';
import { xmlWriter } from '../../gridengine/xml/write-xml';
import { riskLine } from '../../report/live/at-risk';
import { renderJobsCsv } from '../../report/live/csv';
import { renderQstatXml } from '../../report/live/gridengine-xml';
import { renderJobs, type JobsReport, type RisksReport } from '../../report/live/jobs';
import { renderJobsJson, renderRisksJson } from '../../report/live/json';
import {
  chooseJobs,
  chooseRisks,
  filterOf,
  jobsSorting,
  RISK_OPTIONS,
  XML_OPTIONS,
} from '../../report/live/live-options';
import { startWatching } from '../../report/live/watch-state';
import { commandAction, EXIT, usageError, type CommandContext, type LiveParts } from '../command';
import { addOptions, readOptions, wantsXml, watchInterval, type LiveCommandOptions } from '../live/arguments';
import { realLiveSources } from '../live/sources';
import { viewOnce, watchCluster, WIDEST_TABLE } from '../live/view';
import { outputFormat, screenOf, writeLines, type OutputFormat } from '../output';
import type { Terminal } from '../terminal';

/** `qmemacct live --owner bob` */
export function register(command: Command, context: CommandContext): void {
  addOptions(command, { ...XML_OPTIONS, ...RISK_OPTIONS })
    .option('--xml', 'print what "qstat -r -ext -urg -xml" does, well-formed')
    .option('--watch [seconds]', 'keep them up to date, with keys to sort and filter (? lists them)')
    .option(
      '--at-risk',
      'only jobs that are at their limit or will be soon, a line each; exit status 1 if there are none',
    )
    .action(
      commandAction<LiveCommandOptions>(context, (options, terminal) => showLive(options, terminal, context.live)),
    );
}

function writeReport(report: JobsReport, format: OutputFormat, options: LiveCommandOptions, terminal: Terminal): void {
  if (format === 'json') terminal.write(renderJobsJson(report));
  else if (format === 'csv') terminal.write(renderJobsCsv(report));
  else writeLines(terminal, renderJobs(report, screenOf(terminal, options, { widest: WIDEST_TABLE })));
}

/** The text is made for a mail: no heading, no colours. */
function writeRisks(report: RisksReport, format: OutputFormat, terminal: Terminal): void {
  const { view, risks } = report;
  const screen = screenOf(terminal, { color: false });
  if (format === 'json') terminal.write(renderRisksJson(report));
  else if (format === 'csv') terminal.write(renderJobsCsv({ view, jobs: risks.map(({ job }) => job), pending: null }));
  else
    writeLines(
      terminal,
      risks.map((risk) => riskLine(risk, screen)),
    );
}

/** Shows running jobs; resolves to the exit status. Rejects with CommandError or SettingsError. */
async function showLive(options: LiveCommandOptions, terminal: Terminal, parts: LiveParts = {}): Promise<number> {
  const format = outputFormat(options);
  const xml = wantsXml(options);
  const asked = readOptions(XML_OPTIONS, { ...options });
  const riskAsked = readOptions(RISK_OPTIONS, { ...options });
  const pending = asked.pending ?? false;
  const settings = loadSettings(options.config);
  const sources = parts.sources ?? realLiveSources;
  const interval = watchInterval(options, terminal, settings.poll_interval);
  if (interval !== null) {
    if (options.atRisk) throw usageError('--at-risk answers once; watch with --watch --sort risk');
    const start = startWatching('jobs', { filter: filterOf(asked), sorting: jobsSorting(asked), details: false });
    return watchCluster({ start, pending, interval, settings, sources }, options, terminal, parts.tty);
  }
  const { snapshot, view } = await viewOnce(sources, settings, terminal, { pending, known: 'jobsKnown' });
  if (options.atRisk) {
    const report = chooseRisks(view, riskAsked, terminal.now().getTime());
    writeRisks(report, format, terminal);
    return report.risks.length > 0 ? EXIT.found : EXIT.nothing;
  }
  const report = chooseJobs(view, asked);
  const queues = options.full ? filterOf(asked) : null;
  if (xml) terminal.write(renderQstatXml(snapshot, report, queues, xmlWriter()));
  else writeReport(report, format, options, terminal);
  return report.jobs.length > 0 || (report.pending?.length ?? 0) > 0 ? EXIT.found : EXIT.nothing;
}
