import { replaceFile } from '../base/replace-file';
import { UserError, reasonOf } from '../base/user-error';
import { renderMetrics } from '../export/prometheus/metric';
import { nodeMetrics, type NodeFigures } from '../export/prometheus/node-metrics';
import { loadSettings, type Settings } from '../record/settings';
import { ALL_FACTS } from '../sampler/figures/job-facts';
import { runningRecords } from '../sampler/node-store/live-records';
import type { NodeReader } from '../sampler/node-store/node-reader';
import type { StoredSeries } from '../sampler/series/series-table';
import { chooseSource } from '../sampler/source-settings';
import { metricFacts } from './metric-facts';
import { CommandError, EXIT, usageError, type GlobalOptions } from './command';
import { outputFormat } from './output';
import { describeSeries, withNodeReader } from './stores/node-database';
import type { Terminal } from './terminal';

/** Older readings do not show the present state: their source is no longer read, or the sampler has died. */
const RECENT_MS = 300_000;

/** The recent readings of the node, those of sources that are read more seldom as old as two of their intervals. */
function recentSeries(reader: NodeReader, settings: Settings, nowMs: number): readonly StoredSeries[] {
  const seldom = ALL_FACTS.map((source) => ({
    names: source.metrics.flatMap(({ name, scope }) => (scope === 'node' ? [name] : [])),
    forMs: 2 * chooseSource(source, settings).intervalMs,
  })).filter(({ names, forMs }) => names.length > 0 && forMs > RECENT_MS);
  const apart = new Set(seldom.flatMap(({ names }) => names));
  return [
    ...reader.readSeries(null, [], nowMs - RECENT_MS, nowMs).filter(({ metric }) => !apart.has(metric)),
    ...seldom.flatMap(({ names, forMs }) => reader.readSeries(null, names, nowMs - forMs, nowMs)),
  ];
}

function replaceWhole(path: string, text: string): void {
  try {
    replaceFile(path, text, 0o644);
  } catch (error) {
    throw new CommandError(
      `${path} can't be written: ${reasonOf(error)}; name a file in a directory that is there and can be written to`,
      EXIT.unavailable,
    );
  }
}

/** The present figures of this host's samplers and sources. Rejects with UserError if node.db can't be read. */
export async function nodeFigures(settings: Settings, nowMs: number, version: string): Promise<NodeFigures> {
  return withNodeReader(settings.state_dir, (reader) => {
    try {
      return {
        series: describeSeries(recentSeries(reader, settings, nowMs)),
        records: runningRecords(settings).filter(
          ({ status, revision }) => status === 'running' && revision >= nowMs - RECENT_MS,
        ),
        outbox: reader.outbox(),
        version,
        nowMs,
        mostJobs: settings.metrics_jobs,
      };
    } catch (error) {
      throw new UserError(`${reader.path} can't be read: ${reasonOf(error)}`, {
        hint: '"qmemacct doctor" says what helps',
        cause: error,
      });
    }
  });
}

/** Prints or writes (to a path) this host's Prometheus metrics; resolves to the exit status. Rejects with UserError. */
export async function writeNodeMetrics(
  options: GlobalOptions,
  to: string | true,
  terminal: Terminal,
  version: string,
): Promise<number> {
  if (outputFormat(options) !== 'text') throw usageError('--prometheus is a format: leave --json and --csv out');
  const figures = await nodeFigures(loadSettings(options.config), terminal.now().getTime(), version);
  const text = renderMetrics(nodeMetrics(metricFacts()), figures);
  if (to === true) terminal.write(text);
  else replaceWhole(to, text);
  return EXIT.found;
}
