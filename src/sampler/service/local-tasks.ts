import { basename, dirname } from 'node:path';
import { reasonOf } from '../../base/user-error';
import { warn } from '../../base/log';
import type { JobFollower } from '../job/job-follower';
import type { Surroundings } from '../job/surroundings';
import { newShareMeter } from '../job/pace';
import { writeResumeState } from '../job/resume-state';
import { runDirectoryName, type RunDescription } from '../job/run-description';
import { RunDirectory } from '../job/run-directory';
import { ownUpkeep } from '../job/own-upkeep';
import { takeUpRun } from '../job/take-up-run';
import { adoptable } from './adoptable';
import { CpuBudget } from './cpu-budget';
import { watchSpools, type SpoolEntry } from './spool-watch';

const RESCAN_EVERY_MS = 5000;

/**
 * The `qrsh -inherit` tasks that a parallel job starts on the host of its own script. Grid Engine runs no hooks for
 * them: where no service follows all jobs of the host, the sampler of the job follows them, too.
 */
export class LocalTasks {
  /** By the spool directory; null: being begun, or over. */
  private readonly followed = new Map<string, JobFollower | null>();
  private readonly ends: Promise<void>[] = [];
  private readonly budget: CpuBudget;
  private readonly close: () => void;

  constructor(
    private readonly job: RunDescription,
    private readonly surroundings: Surroundings,
  ) {
    const { interval, cpu_budget_percent: percent } = surroundings.settings;
    this.budget = new CpuBudget(interval * 1000, percent);
    const consider = (entry: SpoolEntry): void => {
      if (entry.peTask !== null) this.consider(entry);
    };
    const watch = watchSpools(dirname(job.spool), consider, basename(job.spool));
    const timer = setInterval(() => watch.rescan(), RESCAN_EVERY_MS).unref();
    this.close = () => {
      clearInterval(timer);
      watch.close();
    };
  }

  saveProgress(): void {
    for (const follower of this.living()) follower.saveProgress();
  }

  /** For the process that takes over from this one. */
  handOver(): void {
    this.close();
    for (const follower of this.living()) writeResumeState(this.surroundings.settings, follower.run, follower.save());
  }

  /** Resolves when all tasks have their records: some outlive the job's script. */
  async ended(): Promise<void> {
    this.close();
    await Promise.all(this.ends);
  }

  private living(): readonly JobFollower[] {
    return [...this.followed.values()].filter((follower) => follower !== null);
  }

  private consider(entry: SpoolEntry): void {
    if (this.followed.has(entry.path)) return;
    const adoption = adoptable(entry);
    if (typeof adoption === 'string') return;
    this.followed.set(entry.path, null);
    const end = this.follow({ ...adoption.run, memory: this.job.memory }).catch((error: unknown) => {
      warn(`${entry.path}: ${reasonOf(error)}`);
    });
    this.ends.push(end.finally(() => this.followed.set(entry.path, null)));
  }

  private async follow(run: RunDescription): Promise<void> {
    const { settings, destination } = this.surroundings;
    const parent = settings.state_dir;
    const name = runDirectoryName(run);
    const directory = RunDirectory.make(parent, run) ?? RunDirectory.named(parent, name);
    // The host's service may follow it by now.
    if (directory?.lock() !== true) return;
    directory.announce();
    const follower = takeUpRun(run, directory, {
      ...this.surroundings,
      upkeep: ownUpkeep(settings, destination, true),
      meter: newShareMeter(),
      throttle: this.budget.job(name),
      spendable: Infinity,
      jobs: () => 1 + this.living().length,
    });
    this.followed.set(run.spool, follower);
    const end = await follower.follow();
    this.budget.end(name);
    if (end !== 'handed-over') await follower.finish(end);
    directory.unlock();
  }
}
