import type { Command } from 'commander';
import type { CommandContext, GlobalOptions } from '../command-context';

export interface FlushOptions extends GlobalOptions {
  readonly patience: string;
  readonly quiet?: boolean;
}

/** `qmemacct flush` */
export function registerFlush(program: Command, context: CommandContext): void {
  program
    .command('flush')
    .description("finish what samplers left on this host, and deliver what the accounting DB hasn't got")
    .option('--patience <seconds>', 'how long to try an accounting DB that is away', '30')
    .option('--quiet', 'tell problems only')
    .action((_options: unknown, command: Command) =>
      context.finish(
        import('./flush-action.js').then(({ flush }) =>
          flush(command.optsWithGlobals<FlushOptions>(), context.terminal),
        ),
      ),
    );
}
