import { Argument, type Command } from 'commander';
import type { CommandContext, GlobalOptions } from '../command-context';

/** `qmemacct digest on|off|status` */
export function registerDigest(program: Command, context: CommandContext): void {
  program
    .command('digest')
    .description('whether you get a mail about your own jobs every morning')
    .addArgument(new Argument('[wish]', 'on, off, or status').choices(['on', 'off', 'status']).default('status'))
    .action((wish: string, _options: unknown, command: Command) =>
      context.finish(
        import('./digest-action.js').then(({ digest }) =>
          digest(wish, command.optsWithGlobals<GlobalOptions>(), context.terminal),
        ),
      ),
    );
}
