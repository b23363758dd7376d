import type { Command } from 'commander';
import {
  renderMetricCsv,
  renderMetricJson,
  renderMetricList,
  renderMetricMarkdown,
} from '../../report/series/metric-list';
import { acts, type CommandContext, type GlobalOptions, EXIT, usageError } from '../command';
import { metricFacts } from '../metric-facts';
import { outputFormat, screenOf, writeLines } from '../output';
import type { Terminal } from '../terminal';

interface MetricsOptions extends GlobalOptions {
  readonly format?: string;
}

/** `qmemacct metrics` */
export function register(command: Command, context: CommandContext): void {
  command
    .option('--format <format>', 'text, json, csv or markdown (default: text)')
    .action(acts<MetricsOptions>(context, listMetrics));
}

/** Lists the metrics; resolves to the exit status. Rejects with CommandError. */
function listMetrics(options: MetricsOptions, terminal: Terminal): Promise<number> {
  const format = options.format ?? outputFormat(options);
  const facts = metricFacts();
  if (format === 'text') writeLines(terminal, renderMetricList(facts, screenOf(terminal, options)));
  else if (format === 'json') terminal.write(renderMetricJson(facts));
  else if (format === 'csv') terminal.write(renderMetricCsv(facts));
  else if (format === 'markdown') terminal.write(renderMetricMarkdown(facts));
  else throw usageError(`--format "${format}": write text, json, csv or markdown`);
  return Promise.resolve(EXIT.found);
}
