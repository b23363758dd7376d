import type { Command } from 'commander';
import type { CommandContext, GlobalOptions } from '../command-context';

export interface PruneOptions extends GlobalOptions {
  readonly dryRun?: boolean;
}

/** `qmemacct prune` */
export function registerPrune(program: Command, context: CommandContext): void {
  program
    .command('prune')
    .description('remove what is older than keep_records_days, keep_charts_days and keep_rollups_days allow')
    .option('--dry-run', 'tell how many records are old enough')
    .action((_options: unknown, command: Command) =>
      context.finish(
        import('./prune-action.js').then(({ prune }) =>
          prune(command.optsWithGlobals<PruneOptions>(), context.terminal),
        ),
      ),
    );
}
