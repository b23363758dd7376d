import { closeSync, openSync, renameSync, rmSync, writeFileSync } from 'node:fs';
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

/** What is older says nothing of now: a source that is read no more, a sampler that has died. */
const RECENT_MS = 300_000;

/**
 * Under a name that nobody else has, so that neither a reader sees half of it nor a link leads elsewhere: the directory
 * may be another user's.
 */
function replaceWhole(path: string, text: string): void {
  const temporary = `${path}.${process.pid}.new`;
  try {
    rmSync(temporary, { force: true });
    const file = openSync(temporary, 'wx', 0o644);
    try {
      writeFileSync(file, text);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw new CommandError(
      `${path} can't be written: ${reasonOf(error)}; name a file in a directory that is there and can be written to`,
      EXIT.unavailable,
    );
  }
}

/** What this host's samplers and sources say now. Rejects with UserError where node.db can't be read. */
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

/** This host's metrics for Prometheus, printed or (a path) written; resolves to the exit status. Rejects with CommandError. */
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
