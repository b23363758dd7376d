import { Option, type Command } from 'commander';
import {
  renderMetricCsv,
  renderMetricJson,
  renderMetricList,
  renderMetricMarkdown,
} from '../../report/series/metric-list';
import { commandAction, type CommandContext, type GlobalOptions, EXIT } from '../command';
import { metricFacts } from '../metric-facts';
import { outputFormat, screenOf, writeLines } from '../output';
import type { Terminal } from '../terminal';

const FORMATS = ['text', 'json', 'csv', 'markdown'] as const;

interface MetricsOptions extends GlobalOptions {
  readonly format?: (typeof FORMATS)[number];
}

/** `qmemacct metrics` */
export function register(command: Command, context: CommandContext): void {
  command
    .addOption(new Option('--format <format>', 'of the list (default: text)').choices(FORMATS))
    .action(commandAction<MetricsOptions>(context, listMetrics));
}

/** Lists the metrics; resolves to the exit status. Rejects with CommandError. */
function listMetrics(options: MetricsOptions, terminal: Terminal): Promise<number> {
  const format = options.format ?? outputFormat(options);
  const facts = metricFacts();
  if (format === 'text') writeLines(terminal, renderMetricList(facts, screenOf(terminal, options)));
  else if (format === 'json') terminal.write(renderMetricJson(facts));
  else if (format === 'csv') terminal.write(renderMetricCsv(facts));
  else terminal.write(renderMetricMarkdown(facts));
  return Promise.resolve(EXIT.found);
}
