import type { Command } from 'commander';
import type { CommandContext, GlobalOptions } from '../command-context';

/** `qmemacct rollup` */
export function registerRollup(program: Command, context: CommandContext): void {
  program
    .command('rollup')
    .description('sum the days whose records have changed, so that reports need not read these records')
    .action((_options: unknown, command: Command) =>
      context.finish(
        import('./rollup-action.js').then(({ rollup }) =>
          rollup(command.optsWithGlobals<GlobalOptions>(), context.terminal),
        ),
      ),
    );
}
