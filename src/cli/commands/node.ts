import type { Command } from 'commander';
import type { CommandContext, GlobalOptions } from '../command-context';

export interface NodeOptions extends GlobalOptions {
  readonly since: string;
  readonly until?: string;
  readonly metric?: string;
  readonly chart?: string;
}

/** `qmemacct node --since 1h` */
export function registerNode(program: Command, context: CommandContext): void {
  program
    .command('node')
    .description('this host over time: load, memory, disks, network, heat, power, and who loads it (root only)')
    .option('--since <time>', 'from then on: 1h, 7d, today, yesterday, 2026-11-01, "2026-11-01 08:00"', '1h')
    .option('--until <time>', 'up to then (default: now)')
    .option('--metric <names>', 'these metrics only: "a,b"; the name of a source stands for all of its metrics')
    .option('--chart <metric>', 'draw this metric')
    .action((_options: unknown, command: Command) =>
      context.finish(
        import('./node-action.js').then(({ showNode }) =>
          showNode(command.optsWithGlobals<NodeOptions>(), context.terminal),
        ),
      ),
    );
}
