import type { Command } from 'commander';
import type { CommandContext, GlobalOptions } from '../command-context';

export interface LiveOptions extends GlobalOptions {
  readonly owner?: string;
  readonly job?: string;
  readonly host?: string;
  readonly queue?: string;
  readonly project?: string;
  readonly sort?: string;
  readonly reverse?: boolean;
  readonly limit?: string;
  readonly pending?: boolean;
  readonly watch?: string | true;
  readonly atRisk?: boolean;
  readonly within: string;
}

/** `qmemacct live --owner bob` */
export function registerLive(program: Command, context: CommandContext): void {
  program
    .command('live')
    .description('the jobs that run now: what they asked for, what they use, and when they will reach their limit')
    .option('-o, --owner <names>', 'of these users: names and globs, "alice,bob*"')
    .option('-j, --job <jobs>', 'these jobs or tasks: 4711, 4711.3, "47*"')
    .option('-H, --host <names>', 'on these hosts')
    .option('-q, --queue <names>', 'in these queues: all.q, "*@node01"')
    .option('-P, --project <names>', 'of these projects')
    .option('--sort <key>', 'share, risk, peak, used, request, slots, time, owner, name, host or job (default: share)')
    .option('-r, --reverse', 'the other way round')
    .option('--limit <n>', 'at most so many jobs (default: all)')
    .option('--pending', 'also the jobs that wait')
    .option('--watch [seconds]', 'go on showing them, with keys to sort and filter (? tells them)')
    .option(
      '--at-risk',
      'only jobs that are at their limit or will be soon, a line each; exit status 1 if there are none',
    )
    .option('--within <time>', 'how soon, for --at-risk: 30m, 2h, 1d', '1d')
    .action((_options: unknown, command: Command) =>
      context.finish(
        import('./live-action.js').then(({ showLive }) =>
          showLive(command.optsWithGlobals<LiveOptions>(), context.terminal, context.live),
        ),
      ),
    );
}
