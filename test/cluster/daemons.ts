import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseQueueStates } from './formats';
import type { Hosts } from './hosts';
import { client, kind } from './kind';
import type { Layout } from './layout';
import { isAlive, type ProcessId } from './processes';
import { until } from '../support/until';

/** Starts and stops the daemons of a cell. */
export class Daemons {
  constructor(
    private readonly layout: Layout,
    private readonly hosts: Hosts,
  ) {}

  /** Starts qmaster if none runs; returns when it answers. */
  async startMaster(): Promise<void> {
    if (this.qmaster() === null) await this.launch(this.hosts.master, 'sge_qmaster');
    await until(
      async () => (await this.hosts.on(this.hosts.master, [client('qconf'), '-sconf'])).status === 0,
      () => `an answer from qmaster; its log says:\n${tail(this.layout.masterMessages)}`,
    );
  }

  /** Ends qmaster, if one runs; jobs and execds live on. */
  async stopMaster(): Promise<void> {
    const master = this.daemon(this.hosts.master, 'sge_qmaster');
    if (master === null) return;
    await this.hosts.check(this.hosts.master, [client('qconf'), '-km']);
    await until(() => !isAlive(master), 'end of qmaster');
  }

  /** Returns when these hosts' queue instances take jobs. */
  async startExecds(names: readonly string[]): Promise<void> {
    // execd goes to the background after about a second, when it has its configuration from qmaster.
    await Promise.all(names.map((host) => this.launch(host, 'sge_execd')));
    await this.awaitReportsOf(names);
  }

  /** Returns when qmaster has a load report of every execd that runs. */
  async awaitLoadReports(): Promise<void> {
    await this.awaitReportsOf(this.hosts.exec.filter((host) => this.execd(host) !== null));
  }

  /** Ends execd with this signal and waits for its end; its shepherds and jobs live on. */
  async stopExecd(host: string, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const execd = this.execd(host);
    if (execd === null) return;
    process.kill(execd.pid, signal);
    await until(
      () => !isAlive(execd),
      () => `end of execd on ${host}`,
    );
  }

  /**
   * The execd of this host; null: none runs.
   * Found without its pid file, which a restarted execd writes late. A child that is about to become a shepherd has the
   * same command for a moment, but is younger.
   */
  execd(host: string): ProcessId | null {
    return this.daemon(host, 'sge_execd');
  }

  /** The qmaster; null: none runs. */
  qmaster(): ProcessId | null {
    return this.daemon(this.hosts.master, 'sge_qmaster');
  }

  /** The last lines of these hosts' execd logs. */
  logs(names: readonly string[]): string {
    return names.map((host) => `${host}:\n${tail(this.layout.execdMessages(host))}`).join('\n');
  }

  private daemon(host: string, name: 'sge_execd' | 'sge_qmaster'): ProcessId | null {
    const program = join(kind.binaries, name);
    const found = this.hosts.processes(host).filter(({ command }) => command === program);
    return found.sort((a, b) => Number(a.startTime) - Number(b.startTime))[0] ?? null;
  }

  private async awaitReportsOf(names: readonly string[]): Promise<void> {
    await until(
      async () => await this.areReachable(names),
      () => `a load report from ${names.join(', ')}; the logs say:\n${this.logs(names)}`,
    );
  }

  private async launch(host: string, name: 'sge_execd' | 'sge_qmaster'): Promise<void> {
    await this.hosts.check(host, ['sh', '-c', 'exec "$1" </dev/null >/dev/null', 'sh', join(kind.binaries, name)]);
  }

  private async areReachable(names: readonly string[]): Promise<boolean> {
    const states = parseQueueStates(await this.hosts.check(this.hosts.master, [client('qstat'), '-f']));
    return names.every((host) => {
      const instances = [...states].filter(([queue]) => queue.endsWith(`@${host}`));
      return instances.length > 0 && instances.every(([, letters]) => !/[au]/.test(letters));
    });
  }
}

function tail(path: string): string {
  try {
    return readFileSync(path, 'utf8').split('\n').slice(-15).join('\n');
  } catch {
    return `(no ${path})`;
  }
}
