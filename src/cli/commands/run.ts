import { Option, type Command } from 'commander';
import type { CommandContext, GlobalOptions } from '../command-context';

export interface RunOptions extends Omit<GlobalOptions, 'csv'> {
  readonly hVmem?: string;
  readonly slots: string;
  readonly interval?: string;
  readonly pid?: string;
  readonly report?: string;
  readonly jsonl?: string;
  /** A file for rows; true: the report as CSV. */
  readonly csv?: string | boolean;
}

/** Known to the whole program; here once more, since behind "run" this command reads its own options. */
const SHARED = [
  new Option('--config <file>'),
  new Option('--json'),
  new Option('--no-color').default(undefined),
  new Option('--debug'),
];

function optionsOf(program: Command, command: Command): RunOptions {
  for (const option of SHARED) {
    const name = option.attributeName();
    if (command.getOptionValueSource(name) === 'cli')
      program.setOptionValueWithSource(name, command.getOptionValue(name), 'cli');
  }
  const { csv } = command.opts<RunOptions>();
  return { ...command.optsWithGlobals<RunOptions>(), ...(csv === undefined ? {} : { csv }) };
}

/** `qmemacct run -- COMMAND ...` */
export function registerRun(program: Command, context: CommandContext): void {
  const run = program.command('run');
  for (const option of SHARED) run.addOption(option.hideHelp());
  run
    .description('measure a command, or a running process tree, without any Grid Engine')
    .argument('[command...]', 'the command and its arguments, behind "--"')
    .option('--h-vmem <size>', 'compare with this request (4G, 500M ...); it is a yardstick, not enforced')
    .option('--slots <n>', 'slots that CPU and request are counted for', '1')
    .option('--interval <seconds>', 'between two samples after the first moments', undefined)
    .option('--pid <pid>', 'attach to this process and its children instead, until it ends or Ctrl-C')
    .option('--report <file>', 'write the report there instead of to standard error')
    .option('--jsonl <file>', 'a JSON object per sample, while it runs; "-": to standard output')
    .option('--csv [file]', 'a CSV row per sample, while it runs; without a file: the report as CSV')
    .action((words: readonly string[], _options: unknown, command: Command) =>
      context.finish(
        import('./run-action.js').then(({ runAndReport }) =>
          runAndReport(words, optionsOf(program, command), context.terminal),
        ),
      ),
    );
}
