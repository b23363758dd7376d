import type { Command } from 'commander';
import type { CommandContext, GlobalOptions } from '../command-context';

export interface MetricsOptions extends GlobalOptions {
  readonly format?: string;
}

/** `qmemacct metrics` */
export function registerMetrics(program: Command, context: CommandContext): void {
  program
    .command('metrics')
    .description('everything that can be measured, with its unit and where it comes from')
    .option('--format <format>', 'text, json, csv or markdown (default: text)')
    .action((_options: unknown, command: Command) =>
      context.finish(
        import('./metrics-action.js').then(({ listMetrics }) =>
          listMetrics(command.optsWithGlobals<MetricsOptions>(), context.terminal),
        ),
      ),
    );
}
