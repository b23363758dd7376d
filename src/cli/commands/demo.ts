import type { Command } from 'commander';
import type { CommandContext, GlobalOptions } from '../command-context';

export interface DemoOptions extends GlobalOptions {
  readonly keep?: boolean;
}

/** `qmemacct demo` */
export function registerDemo(program: Command, context: CommandContext): void {
  program
    .command('demo')
    .description('three small jobs through the real hooks and sampler, without any Grid Engine, and their reports')
    .option('--keep', 'keep the private directory and tell where it is')
    .action((_options: unknown, command: Command) =>
      context.finish(
        import('./demo-action.js').then(({ runDemo }) =>
          runDemo(command.optsWithGlobals<DemoOptions>(), context.terminal),
        ),
      ),
    );
}
