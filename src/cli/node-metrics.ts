import { replaceFile } from '../base/replace-file';
import { UserError, reasonOf } from '../base/user-error';
import { renderMetrics } from '../export/prometheus/metric';
import { nodeMetrics, type NodeFigures } from '../export/prometheus/node-metrics';
import { loadSettings, type Settings } from '../record/settings';
import { runningRecords } from '../sampler/node-store/live-records';
import { metricFacts } from './metric-facts';
import { CommandError, EXIT, usageError, type GlobalOptions } from './command';
import { outputFormat } from './output';
import { describeSeries, withNodeReader } from './stores/node-database';
import type { Terminal } from './terminal';

/** Older readings do not show the present state: their source is no longer read, or the sampler has died. */
const RECENT_MS = 300_000;

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
    const from = nowMs - RECENT_MS;
    try {
      return {
        series: describeSeries(reader.readSeries(null, [], from, nowMs)),
        records: runningRecords(settings).filter(({ status, revision }) => status === 'running' && revision >= from),
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
