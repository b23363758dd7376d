import { hostname } from 'node:os';
import { MIB } from '../../base/units';
import { UserError, reasonOf } from '../../base/user-error';
import { nodeMetrics } from '../../export/prometheus/node-metrics';
import { SERVER_METRICS } from '../../export/prometheus/server-metrics';
import { pointsOf, pointsOfText, type Point } from '../../export/push/point';
import { socketGet } from '../../live/socket-get';
import type { SinkSettings } from '../../record/export-sinks';
import type { Settings } from '../../record/settings';
import { metricFacts } from '../metric-facts';
import { nodeFigures } from '../node-metrics';

const LIMITS = { timeoutMs: 30_000, mostBytes: 256 * MIB };

/** The answer of the site's server to /metrics. Rejects with UserError. */
async function clusterText({ serve_socket: socket }: Settings): Promise<string> {
  const { status, text } = await socketGet(socket, '/metrics', LIMITS).catch((error: unknown) => {
    throw new UserError(`"qmemacct serve" at ${socket} does not answer: ${reasonOf(error)}`, {
      hint: 'what = "cluster" is for the host where it runs',
      cause: error,
    });
  });
  if (status === 200) return text;
  throw new UserError(`"qmemacct serve" at ${socket} answers with status ${status}`, { hint: 'look at its log' });
}

/** The present figures for a metric sink. Rejects with UserError. */
export async function collectFigures(
  sink: SinkSettings,
  settings: Settings,
  version: string,
): Promise<readonly Point[]> {
  const at = Date.now();
  const { labels } = sink;
  if (sink.what === 'cluster') return pointsOfText(await clusterText(settings), SERVER_METRICS, { labels, at });
  const figures = await nodeFigures(settings, at, version);
  return pointsOf(nodeMetrics(metricFacts()), figures, { labels: { ...labels, host: hostname() }, at });
}
