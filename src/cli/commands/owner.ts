import type { Command } from 'commander';
import type { CommandContext, GlobalOptions } from '../command-context';

export interface OwnerOptions extends GlobalOptions {
  readonly since: string;
  readonly until?: string;
  readonly sort: string;
  readonly limit?: string;
  readonly group?: boolean;
  readonly accounting?: string;
}

/** `qmemacct owner NAME --since 7d` */
export function registerOwner(program: Command, context: CommandContext): void {
  program
    .command('owner')
    .description("a user's jobs of a time, one line each, with what they used of what they asked for")
    .argument('<name>', 'user name')
    .option('--since <time>', 'from then on: 7d, 12h, today, yesterday, 2026-11-01, "2026-11-01 08:00"', '7d')
    .option('--until <time>', 'up to, and without, then (default: now)')
    .option('--sort <key>', 'ended, ran, cpu, peak, requested or unused; largest or latest first', 'ended')
    .option('--limit <n>', 'at most so many lines (default: 50; all with --json and --csv)')
    .option('--group', 'one line per array job, not one per task')
    .option('--accounting <path>', "read this accounting DB, not the site's and your own")
    .action((name: string, _options: unknown, command: Command) =>
      context.finish(
        import('./owner-action.js').then(({ showOwner }) =>
          showOwner(name, command.optsWithGlobals<OwnerOptions>(), context.terminal),
        ),
      ),
    );
}
