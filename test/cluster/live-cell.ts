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

/** A Grid Engine cell that is up. Times are milliseconds; what fails rejects with what Grid Engine said. */
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
  /** Where everything of the cell lies on disk: homes, spools, the accounting file, logs. */
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

  /** What runs on a host, or on all: daemons, shepherds, hooks, jobs and what they left behind. */
  processes(host?: string): CellProcess[] {
    return this.access.processes(host);
  }

  /** What the host sees at one of the product's directories (`/var/lib/qmemacct` ...), as a path outside of it. */
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

  /** Changes the configuration that a host has for itself (gid_range and the like), as setGlobal() does. */
  async setHostConfig(host: string, changes: Changes, options: { readonly wait?: boolean } = {}): Promise<void> {
    await this.settings.changeConfig(host, changes);
    if (options.wait !== false) await this.waitForHookConfig();
  }

  /** Changes a cluster queue, for jobs that start from now on. */
  setQueue(changes: Changes, queue = 'all.q'): Promise<void> {
    return this.settings.changeQueue(queue, changes);
  }

  /** Sets how the complex h_vmem is consumed and what a job that does not ask for it gets. */
  setHVmem(consumable: 'YES' | 'NO' | 'JOB', preset: string): Promise<void> {
    return this.settings.changeComplex(['h_vmem', 'h_vmem', 'MEMORY', '<=', 'YES', consumable, preset, '0']);
  }

  /** Makes a complex of memory that jobs may request; every execution host has `capacity` of it, or no value. */
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
   * Waits until qmaster knows the job no more; returns its accounting records (none for one deleted before it ran).
   * Rejects at once when a task of it gets into the error state.
   */
  waitFinished(job: string): Promise<AccountingRecord[]> {
    return this.jobs.waitFinished(job);
  }

  /** Waits until so many tasks of the job run, and returns those. */
  waitRunning(job: string, count = 1): Promise<ListedTask[]> {
    return this.jobs.waitRunning(job, count);
  }

  /** The accounting records of a job, or of all jobs, oldest first. */
  accounting(job?: string): AccountingRecord[] {
    return this.jobs.accounting(job);
  }

  /** Every task that qmaster knows, running or not. */
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

  /** Returns when qmaster has heard from every execd that runs: half a minute after its start. */
  hearExecds(): Promise<void> {
    return this.daemons.hearExecds();
  }

  /** The qmaster, or null where none runs. */
  qmaster(): ReturnType<Daemons['qmaster']> {
    return this.daemons.qmaster();
  }

  /** Ends the execd of a host, whose shepherds and jobs live on; nothing happens where none runs. */
  stopExecd(host: string, signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    return this.daemons.stopExecd(host, signal);
  }

  /** Starts the execd of a host; returns when its queue instances take jobs. */
  startExecd(host: string): Promise<void> {
    return this.daemons.startExecds([host]);
  }
}
