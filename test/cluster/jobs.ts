import { readFileSync } from 'node:fs';
import type { Daemons } from './daemons';
import { parseQueueStates, parseTasks, type AccountingRecord, type ListedTask } from './formats';
import type { Hosts, OnOptions } from './hosts';
import { client, kind } from './kind';
import type { Layout } from './layout';
import { describeFailure } from './run';
import { until } from '../support/until';

/** How often qstat is asked about a job that has an accounting line. */
const qstatEveryMs = 1000;
/** The same for a job without one, which may be in error, or be deleted before it runs. */
const qstatWithoutLineEveryMs = 3000;
/** How long after a job's end its accounting line may come. */
const recordGraceMs = 30_000;

/** Submits and follows the jobs of a cell. */
export class Jobs {
  constructor(
    private readonly layout: Layout,
    private readonly hosts: Hosts,
    private readonly daemons: Daemons,
  ) {}

  /** Submits from the master, in the user's home directory; returns the job's number. The script is a bash script. */
  async submit(user: string, args: readonly string[], script?: string, options: OnOptions = {}): Promise<string> {
    const argv = ['qsub', '-terse', ...args];
    const result = await this.hosts.on(this.hosts.master, argv, {
      ...options,
      user,
      ...(script === undefined ? {} : { stdin: script }),
    });
    const id = /^(\d+)/m.exec(result.stdout)?.[1];
    if (result.status !== 0 || id === undefined) throw new Error(describeFailure(argv, result));
    return id;
  }

  /** Every task that qmaster knows, running or pending. */
  async list(): Promise<ListedTask[]> {
    return parseTasks(await this.check([client('qstat'), '-u', '*', '-g', 'd', '-xml']));
  }

  /** The accounting records of a job, oldest first; of every job where no number is given. */
  accounting(job?: string): AccountingRecord[] {
    let text: string;
    try {
      text = readFileSync(this.layout.accounting, 'utf8');
    } catch {
      return [];
    }
    return kind
      .readAccounting(text.slice(0, text.lastIndexOf('\n') + 1))
      .filter((record) => job === undefined || record.job_number === job);
  }

  /**
   * Waits until qmaster no longer knows the job; returns its accounting records (none if it was deleted before it ran).
   * Rejects when the time is over, and at once when a task of the job gets into the error state.
   */
  async waitFinished(job: string): Promise<AccountingRecord[]> {
    let seen = 0;
    let asked = 0;
    const isOver = async (): Promise<true | null> => {
      // A look at the file is much cheaper than a call of qstat.
      const lines = this.accounting(job).length;
      const everyMs = lines === 0 ? qstatWithoutLineEveryMs : qstatEveryMs;
      if (lines === seen && Date.now() - asked < everyMs) return null;
      seen = lines;
      asked = Date.now();
      const tasks = (await this.list()).filter((task) => task.job === job);
      if (tasks.some(({ state }) => state.includes('E'))) {
        throw new Error(`job ${job} is in the error state:\n${await this.explain(job)}`);
      }
      return tasks.length === 0 ? true : null;
    };
    await until(isOver, async () => `end of job ${job}\n${await this.explain(job)}`, 100);
    const deadline = Date.now() + recordGraceMs;
    const records = (): AccountingRecord[] | null => {
      const found = this.accounting(job);
      return found.length > 0 || Date.now() > deadline ? found : null;
    };
    return until(records, () => `records of job ${job}`, 100);
  }

  /** Waits until at least `count` tasks of the job run, and returns them. */
  waitRunning(job: string, count: number): Promise<ListedTask[]> {
    return until(
      async () => {
        const running = (await this.list()).filter((task) => task.job === job && /^h?r/.test(task.state));
        return running.length >= count ? running : null;
      },
      async () => `${count} running tasks of job ${job}\n${await this.explain(job)}`,
      200,
    );
  }

  /** Queue instance (`all.q@ge1`) to state letters; empty where all is well. */
  async queueStates(): Promise<Map<string, string>> {
    return parseQueueStates(await this.check([client('qstat'), '-f']));
  }

  /** Takes every queue instance and job out of the error state. */
  async clearErrors(): Promise<void> {
    // Both fail if there is nothing to clear.
    await this.hosts.on(this.hosts.master, [client('qmod'), '-cq', '*']);
    await this.hosts.on(this.hosts.master, [client('qmod'), '-cj', '*']);
    const left = [...(await this.queueStates())].filter(([, state]) => state.includes('E'));
    if (left.length > 0) throw new Error(`still in the error state: ${left.map(([queue]) => queue).join(', ')}`);
  }

  private check(argv: readonly string[]): Promise<string> {
    return this.hosts.check(this.hosts.master, argv);
  }

  private async explain(job: string): Promise<string> {
    const queues = await this.hosts.on(this.hosts.master, [client('qstat'), '-f', '-u', '*', '-explain', 'E']);
    const details = await this.hosts.on(this.hosts.master, [client('qstat'), '-j', job]);
    return `${queues.stdout}\n${details.stdout}\n${this.daemons.logs(this.hosts.exec)}`;
  }
}
