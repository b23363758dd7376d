import { Daemons } from './daemons';
import type { AccountingRecord, ListedTask } from './formats';
import { Hosts, type OnOptions } from './hosts';
import { Jobs } from './jobs';
import { client } from './kind';
import { Layout } from './layout';
import { withCellLock } from './lock';
import type { CellProcess } from './processes';
import type { CommandResult } from './run';
import { Settings, type Changes } from './settings';
import type { CellHost, CellState, CellUser } from './state';
import { tearDown } from './teardown';
import { PATIENCE_MS } from '../support/until';

/** A Grid Engine cell that is up. Times are milliseconds; methods that fail reject with Grid Engine's message. */
export class Cell {
  readonly stateDir: string;
  readonly hosts: readonly CellHost[];
  readonly users: readonly CellUser[];
  /** Name of the host where qmaster runs. */
  readonly master: string;
  /** Names of the execution hosts. */
  readonly execHosts: readonly string[];
  /** The network namespace outside of the cell, as a file that every host sees. */
  readonly initialNetns: string;
  /** The paths of the cell: homes, spools, the accounting file, logs. */
  readonly layout: Layout;

  private readonly access: Hosts;
  private readonly daemons: Daemons;
  private readonly settings: Settings;
  private readonly jobs: Jobs;

  constructor(stateDir: string, state: Pick<CellState, 'hosts' | 'users'>) {
    this.stateDir = stateDir;
    this.layout = new Layout(stateDir);
    this.hosts = state.hosts;
    this.users = state.users;
    this.access = new Hosts(this.layout, state.hosts);
    this.daemons = new Daemons(this.layout, this.access);
    this.settings = new Settings(this.layout, this.access, this.daemons);
    this.jobs = new Jobs(this.layout, this.access, this.daemons);
    this.master = this.access.master;
    this.execHosts = this.access.exec;
    this.initialNetns = this.layout.initialNetns;
  }

  /** Ends every process of the cell and removes all of it. */
  down(): Promise<void> {
    return withCellLock(this.stateDir, PATIENCE_MS, () => tearDown(this.layout));
  }

  /** Runs a command (argv) or a bash script (string) on a host; any exit status is a result. */
  on(host: string, command: string | readonly string[], options?: OnOptions): Promise<CommandResult> {
    return this.access.on(host, command, options);
  }

  /** As on(), but rejects for a status other than 0 and returns standard output. */
  check(host: string, command: string | readonly string[], options?: OnOptions): Promise<string> {
    return this.access.check(host, command, options);
  }

  /** The argv and environment that on() would start, for a caller that starts it itself. */
  command(host: string, command: string | readonly string[], options?: OnOptions): ReturnType<Hosts['command']> {
    return this.access.command(host, command, options);
  }

  /** Processes on a host, or on all hosts: daemons, shepherds, hooks, jobs and what they left behind. */
  processes(host?: string): CellProcess[] {
    return this.access.processes(host);
  }

  /** The directory that the host sees at one of the product's (`/var/lib/qmemacct` ...), as a path outside of the host. */
  productDir(host: string, dir: string): string {
    return this.layout.productDir(host, dir);
  }

  /** Runs qconf as root on the master, with SGE_SINGLE_LINE=1; any exit status is a result. */
  qconf(args: readonly string[], stdin?: string): Promise<CommandResult> {
    return this.settings.qconf(args, stdin);
  }

  /** Runs `qconf OPTION FILE` for a file of this name and content; for -Mconf and -Aconf the name is the object's. */
  qconfFile(option: string, name: string, content: string): Promise<void> {
    return this.settings.qconfFile(option, name, content);
  }

  /** The global configuration, or a host's own. */
  config(name = 'global'): Promise<Map<string, string>> {
    return this.settings.show('-sconf', name);
  }

  /** Changes the global configuration; returns when every execd works with it, unless `wait` is false. */
  async setGlobal(changes: Changes, options: { readonly wait?: boolean } = {}): Promise<void> {
    await this.settings.changeConfig('global', changes);
    if (options.wait !== false) await this.waitForHookConfig();
  }

  /** Changes a host's own configuration (gid_range and the like), as setGlobal() does. */
  async setHostConfig(host: string, changes: Changes, options: { readonly wait?: boolean } = {}): Promise<void> {
    await this.settings.changeConfig(host, changes);
    if (options.wait !== false) await this.waitForHookConfig();
  }

  /** Changes a cluster queue, for jobs that start from now on. */
  setQueue(changes: Changes, queue = 'all.q'): Promise<void> {
    return this.settings.changeQueue(queue, changes);
  }

  /** Sets how the complex h_vmem is consumed, and its default for jobs that do not request it. */
  setHVmem(consumable: 'YES' | 'NO' | 'JOB', preset: string): Promise<void> {
    return this.settings.changeComplex(['h_vmem', 'h_vmem', 'MEMORY', '<=', 'YES', consumable, preset, '0']);
  }

  /** Adds a memory complex that jobs may request; `capacity`: its value on every execution host, default none. */
  async addMemoryComplex(name: string, consumable: 'YES' | 'JOB', capacity?: string): Promise<void> {
    await this.settings.changeComplex([name, name, 'MEMORY', '<=', 'YES', consumable, '0', '0']);
    if (capacity === undefined) return;
    for (const host of this.execHosts) {
      const result = await this.qconf(['-aattr', 'exechost', 'complex_values', `${name}=${capacity}`, host]);
      if (result.status !== 0) throw new Error(`${name} on ${host}: ${result.stdout}${result.stderr}`);
    }
  }

  /** Returns when every execd works with the global and host configuration as it is now. */
  waitForHookConfig(): Promise<void> {
    return this.settings.waitForConfig();
  }

  /** Submits from the master in the user's home directory, a bash script or (`-b y`) a command; returns the number. */
  submit(user: string, args: readonly string[], script?: string, options?: OnOptions): Promise<string> {
    return this.jobs.submit(user, args, script, options);
  }

  /**
   * Waits until qmaster no longer knows the job; returns its accounting records (none if it was deleted before it ran).
   * Rejects at once when a task of the job gets into the error state.
   */
  waitFinished(job: string): Promise<AccountingRecord[]> {
    return this.jobs.waitFinished(job);
  }

  /** Waits until at least `count` tasks of the job run, and returns them. */
  waitRunning(job: string, count = 1): Promise<ListedTask[]> {
    return this.jobs.waitRunning(job, count);
  }

  /** The accounting records of a job, or of all jobs, oldest first. */
  accounting(job?: string): AccountingRecord[] {
    return this.jobs.accounting(job);
  }

  /** Every task that qmaster knows, running or pending. */
  tasks(): Promise<ListedTask[]> {
    return this.jobs.list();
  }

  /** Standard output of qstat on the master as root. */
  qstat(args: readonly string[] = []): Promise<string> {
    return this.access.check(this.master, [client('qstat'), ...args]);
  }

  /** Deletes jobs as this user (default root, who may delete any); any exit status is a result. */
  qdel(args: readonly string[], user = 'root'): Promise<CommandResult> {
    return this.access.on(this.master, [client('qdel'), ...args], { user });
  }

  /** Queue instance (`all.q@ge1`) to state letters, empty where all is well. */
  queueStates(): Promise<Map<string, string>> {
    return this.jobs.queueStates();
  }

  /** Takes every queue instance and job out of the error state. */
  clearErrors(): Promise<void> {
    return this.jobs.clearErrors();
  }

  /** Ends qmaster as a manager does, `qconf -km`; execds and jobs live on. */
  stopMaster(): Promise<void> {
    return this.daemons.stopMaster();
  }

  /** Starts qmaster; returns when it answers. */
  startMaster(): Promise<void> {
    return this.daemons.startMaster();
  }

  /** Returns when qmaster has a load report of every execd that runs: half a minute after its start. */
  awaitLoadReports(): Promise<void> {
    return this.daemons.awaitLoadReports();
  }

  /** The qmaster; null: none runs. */
  qmaster(): ReturnType<Daemons['qmaster']> {
    return this.daemons.qmaster();
  }

  /** Ends the execd of a host, if one runs; its shepherds and jobs live on. */
  stopExecd(host: string, signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    return this.daemons.stopExecd(host, signal);
  }

  /** Starts the execd of a host; returns when its queue instances take jobs. */
  startExecd(host: string): Promise<void> {
    return this.daemons.startExecds([host]);
  }
}
