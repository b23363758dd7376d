import type { Command } from 'commander';
import type { CommandContext, GlobalOptions } from '../command-context';

export interface HostsOptions extends GlobalOptions {
  readonly jobs?: boolean;
  readonly job?: string;
  readonly owner?: string;
  readonly host?: string;
  readonly sort?: string;
  readonly reverse?: boolean;
  readonly watch?: string | true;
}

/** `qmemacct hosts -u` */
export function registerHosts(program: Command, context: CommandContext): void {
  program
    .command('hosts')
    .description('the hosts of the cluster: memory used, asked for and free, slots, and the jobs on them')
    .option('-u, --jobs', 'with the jobs on each host and their tasks')
    .option('-j, --job <jobs>', 'hosts with these jobs or tasks, and only them (with -u): 4711, 4711.3, "47*"')
    .option('-o, --owner <names>', 'hosts with jobs of these users, and only them (with -u): "alice,bob*"')
    .option('-H, --host <names>', 'these hosts: names and globs, "node0*,big1"')
    .option('--sort <key>', 'host, used, now, requested, percent, total, free, slots, load or stranded (default: host)')
    .option('-r, --reverse', 'the other way round')
    .option('--watch [seconds]', 'go on showing them, with keys to sort and filter (? tells them)')
    .action((_options: unknown, command: Command) =>
      context.finish(
        import('./hosts-action.js').then(({ showHosts }) =>
          showHosts(command.optsWithGlobals<HostsOptions>(), context.terminal, context.live),
        ),
      ),
    );
}
