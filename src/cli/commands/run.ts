import type { Command } from 'commander';
import type { CommandContext, GlobalOptions } from '../command-context';

export interface RunOptions extends GlobalOptions {
  readonly hVmem?: string;
  readonly slots: string;
  readonly interval?: string;
  readonly pid?: string;
  readonly report?: string;
}

/** `qmemacct run -- COMMAND ...` */
export function registerRun(program: Command, context: CommandContext): void {
  program
    .command('run')
    .description('measure a command, or a running process tree, without any Grid Engine')
    .argument('[command...]', 'the command and its arguments, behind "--"')
    .option('--h-vmem <size>', 'compare with this request (4G, 500M ...); it is a yardstick, not enforced')
    .option('--slots <n>', 'slots that CPU and request are counted for', '1')
    .option('--interval <seconds>', 'between two samples after the first moments', undefined)
    .option('--pid <pid>', 'attach to this process and its children instead, until it ends or Ctrl-C')
    .option('--report <file>', 'write the report there instead of to standard error')
    .action((words: readonly string[], _options: unknown, command: Command) =>
      context.finish(
        import('./run-action.js').then(({ runAndReport }) =>
          runAndReport(words, command.optsWithGlobals<RunOptions>(), context.terminal),
        ),
      ),
    );
}
