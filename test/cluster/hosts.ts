import { cellEnvironment } from './environment';
import type { Layout } from './layout';
import { enter, namespacesOf } from './namespaces';
import { processesIn, type CellProcess } from './processes';
import { describeFailure, run, type CommandResult } from './run';
import type { CellHost } from './state';
import { findUser } from './users';

export interface OnOptions {
  /** Default root. */
  readonly user?: string;
  /** Added to the environment that a login of this user would have; see cellEnvironment(). */
  readonly env?: Readonly<Record<string, string>>;
  /** Default: the user's home directory; / for root. */
  readonly cwd?: string;
  readonly stdin?: string;
  /** Milliseconds until the command and its process group are killed and the call rejects; default PATIENCE_MS. */
  readonly timeoutMs?: number;
}

/** Runs commands on the hosts of a cell. */
export class Hosts {
  readonly master: string;
  readonly exec: readonly string[];

  constructor(
    private readonly layout: Layout,
    readonly all: readonly CellHost[],
  ) {
    this.master = all.find(({ role }) => role === 'master')?.name ?? '';
    this.exec = all.filter(({ role }) => role === 'exec').map(({ name }) => name);
  }

  /** The argv and environment that on() would start, for a caller that starts them itself. A string is a bash script. */
  command(
    host: string,
    command: string | readonly string[],
    options: OnOptions = {},
  ): { argv: string[]; env: Record<string, string> } {
    if (!this.all.some(({ name }) => name === host)) throw new Error(`no host ${host} in this cell`);
    const user = findUser(this.layout, options.user ?? 'root');
    const identity =
      user.uid === 0
        ? []
        : ['setpriv', `--reuid=${user.uid}`, `--regid=${user.gid}`, '--init-groups', '--inh-caps=-all', '--'];
    const cwd = options.cwd ?? (user.uid === 0 ? '/' : user.home);
    // To enter a mount namespace leads to its root directory.
    const inDirectory = cwd === '/' ? [] : ['sh', '-c', 'cd -- "$1" && shift && exec "$@"', 'sh', cwd];
    // With a socket as standard input bash would take itself for a remote shell and read ~/.bashrc.
    const argv = typeof command === 'string' ? ['bash', '--norc', '-c', command] : command;
    return {
      argv: [...enter(this.layout, host), ...identity, ...inDirectory, ...argv],
      env: { ...cellEnvironment(user), ...options.env },
    };
  }

  /** Runs a command, or a bash script, on a host; any exit status is a result. */
  on(host: string, command: string | readonly string[], options: OnOptions = {}): Promise<CommandResult> {
    const { argv, env } = this.command(host, command, options);
    return run(argv, {
      env,
      ...(options.stdin === undefined ? {} : { stdin: options.stdin }),
      ...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }),
    });
  }

  /** As on(); rejects for a status other than 0, returns standard output. */
  async check(host: string, command: string | readonly string[], options: OnOptions = {}): Promise<string> {
    const result = await this.on(host, command, options);
    if (result.status !== 0) {
      throw new Error(`on ${host}: ${describeFailure(typeof command === 'string' ? [command] : command, result)}`);
    }
    return result.stdout;
  }

  /** Processes on this host, or on all hosts: daemons, shepherds, hooks, jobs and what they left behind. */
  processes(host?: string): CellProcess[] {
    return processesIn(namespacesOf(this.layout, host === undefined ? this.all.map(({ name }) => name) : [host]));
  }
}
