import type { Command } from 'commander';
import type { CommandContext, GlobalOptions } from '../command-context';

/** `qmemacct settle` */
export function registerSettle(program: Command, context: CommandContext): void {
  program
    .command('settle')
    .description('move what nodes have delivered from the inbox of a PostgreSQL accounting DB into its table')
    .action((_options: unknown, command: Command) =>
      context.finish(
        import('./settle-action.js').then(({ settle }) =>
          settle(command.optsWithGlobals<GlobalOptions>(), context.terminal),
        ),
      ),
    );
}
