import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { reasonOf } from '../../base/user-error';
import { warn } from '../../base/log';
import { monotonicMs } from '../../base/monotonic';
import { DISABLED_FILE } from '../delivery/node-status';
import { loadSettings, type Settings } from '../../record/settings';
import { runId, shepherdLives, type RunDescription } from '../job/run-description';
import { RunDirectory } from '../job/run-directory';
import { watchDirectory, type DirectoryWatch } from '../job/watch-directory';
import { onTermination } from '../run-main';
import { activeJobsDirectory } from './active-jobs-directory';
import { adoptable } from './adoptable';
import { FollowedJobs } from './followed-jobs';
import { NodeUpkeep } from './node-upkeep';
import { restartSamplers } from './restart-samplers';
import type { ServiceLock } from './service-lock';
import { watchSpools, type SpoolEntry, type SpoolWatch } from './spool-watch';

const RESCAN_EVERY_MS = 5000;
/** Looking for execd means looking at every process of the host. */
const EXECD_EVERY_MS = 60_000;
/** Pauses before a run directory is read again: its prolog may still be writing. */
const LOOK_AGAIN_MS = [2, 5, 10, 30, 100, 500] as const;

/** The sampler of all jobs of a host: finds them, follows each until its end, and looks after the node's store. */
export class Service {
  private readonly jobs: FollowedJobs;
  private readonly upkeep: NodeUpkeep;
  /** Where run directories are: on the disk, and where they go if that can't be written. */
  private readonly parents: readonly string[];
  private readonly runWatches = new Map<string, DirectoryWatch>();
  private spools: { readonly directory: string; readonly watch: SpoolWatch } | null = null;
  private spoolsFoundMs = 0;
  private spoolProblem: string | null = null;

  constructor(
    private readonly settings: Settings,
    private readonly settingsPath: string,
    private readonly place: ServiceLock,
  ) {
    this.upkeep = new NodeUpkeep(settings, settingsPath);
    this.jobs = new FollowedJobs(settings, settingsPath, this.upkeep);
    this.parents = [settings.state_dir, settings.run_dir];
  }

  /** Serves until a signal ends the process; resolves if another process has taken its place. */
  run(): Promise<void> {
    onTermination(() => this.stop());
    process.on('unhandledRejection', (error) => {
      warn(`service: ${reasonOf(error)}`);
    });
    process.on('uncaughtException', (error) => {
      warn(`service: ${reasonOf(error)}`);
      this.jobs.saveAll();
      process.exit(1);
    });
    this.upkeep.begin();
    return new Promise((resolve) => {
      const look = (): void => {
        try {
          this.rescan();
          if (this.place.announce()) return;
          this.stop();
          resolve();
        } catch (error) {
          warn(`service: ${reasonOf(error)}`);
        }
      };
      look();
      setInterval(look, RESCAN_EVERY_MS);
    });
  }

  private stop(): void {
    this.jobs.saveAll();
    this.jobs.unlockAll();
    // The scope has changed: from now on each job has a sampler of its own.
    if (!this.isStillWanted()) restartSamplers(this.settings, this.settingsPath);
  }

  private isStillWanted(): boolean {
    try {
      return loadSettings(this.settingsPath).scope === 'node';
    } catch {
      return false;
    }
  }

  private rescan(): void {
    for (const parent of this.parents) {
      this.watchRuns(parent);
      for (const directory of RunDirectory.list(parent)) this.takeUp(directory);
    }
    this.rescanSpools();
  }

  /** If there can be no watch, rescans find the runs. */
  private watchRuns(parent: string): void {
    if (this.runWatches.has(parent)) return;
    const watch = watchDirectory(join(parent, 'run'), {
      heard: (name) => {
        const named = name === null ? null : RunDirectory.named(parent, name);
        const found = name === null ? RunDirectory.list(parent) : named === null ? [] : [named];
        for (const directory of found) this.takeUp(directory);
      },
      gone: () => void this.runWatches.delete(parent),
    });
    if (watch !== null) this.runWatches.set(parent, watch);
  }

  private rescanSpools(): void {
    if (this.spools !== null && monotonicMs() - this.spoolsFoundMs < EXECD_EVERY_MS) {
      this.spools.watch.rescan();
      return;
    }
    const found = activeJobsDirectory(this.settings);
    if ('directory' in found) this.spoolsFoundMs = monotonicMs();
    // No execd at present: the jobs that it left are still followed.
    if ('unknown' in found || found.directory === this.spools?.directory) {
      this.spools?.watch.rescan();
      if (!('unknown' in found)) return;
      // A warning only when the problem changes: the next look comes in 5 s.
      if (this.spoolProblem !== found.unknown) warn(`active_jobs: ${found.unknown}; ${found.fix}`);
      this.spoolProblem = found.unknown;
      return;
    }
    this.spools?.watch.close();
    this.spools = { directory: found.directory, watch: watchSpools(found.directory, (entry) => this.consider(entry)) };
  }

  /** Follows a run that has a directory, unless some process does. `tries`: how often it could not be read so far. */
  private takeUp(directory: RunDirectory, tries = 0): void {
    if (this.jobs.isSettled(directory.runId) || existsSync(DISABLED_FILE)) return;
    const run = directory.description();
    if (run === null) {
      const wait = LOOK_AGAIN_MS[tries];
      if (wait !== undefined && directory.exists()) setTimeout(() => this.takeUp(directory, tries + 1), wait);
      return;
    }
    try {
      // A run that has ended is finished by recover.ts, with the copies that the epilog left.
      if (run.hooks !== 'root' || directory.hasCopies() || !shepherdLives(run) || !directory.lock()) return;
      directory.announce();
      this.jobs.begin(run, directory);
    } catch (error) {
      this.jobs.failed(directory.runId, directory.path, error);
      directory.unlock();
    }
  }

  private consider(entry: SpoolEntry): void {
    try {
      this.adopt(entry);
    } catch (error) {
      warn(`${entry.path}: ${reasonOf(error)}`);
    }
  }

  private adopt(entry: SpoolEntry): void {
    const known = this.jobs.ofSpool(entry.path);
    if ((known !== undefined && shepherdLives(known)) || existsSync(DISABLED_FILE)) return;
    const adoption = adoptable(entry);
    if (typeof adoption === 'string') return;
    const { run } = adoption;
    const id = runId(run);
    if (this.jobs.isSettled(id) || this.jobs.wasFinished(run)) return;
    const there = this.parents.flatMap((parent) => RunDirectory.list(parent)).find(({ runId: its }) => its === id);
    if (there === undefined) this.takeOver(run);
    else this.takeUp(there);
  }

  /** Follows a job for which no prolog of ours has made a directory. */
  private takeOver(run: RunDescription): void {
    for (const parent of this.parents) {
      try {
        const directory = RunDirectory.make(parent, run);
        // null: its prolog was faster, and the directory that it made brings an event.
        if (directory !== null) this.takeUp(directory);
        return;
      } catch {
        // The next parent is tried.
      }
    }
    try {
      this.jobs.begin(run, null);
    } catch (error) {
      this.jobs.failed(runId(run), `job ${run.job}`, error);
    }
  }
}
