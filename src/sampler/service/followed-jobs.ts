import { monotonicMs } from '../../base/monotonic';
import { reasonOf } from '../../base/user-error';
import { warn } from '../../base/log';
import { resourceLimit, Rlimit } from '../../native/libc';
import type { Settings } from '../../record/settings';
import { newShareMeter } from '../job/pace';
import type { JobFollower } from '../job/job-follower';
import type { Surroundings } from '../job/surroundings';
import { writeResumeState } from '../job/resume-state';
import { runDirectoryName, runId, type RunDescription } from '../job/run-description';
import type { RunDirectory } from '../job/run-directory';
import { takeUpRun } from '../job/take-up-run';
import { newMachineScan } from '../processes/machine-scan';
import { CpuBudget } from './cpu-budget';
import type { NodeUpkeep } from './node-upkeep';
import { SharedListener } from './shared-listener';

/** How often a job is saved; as often as heartbeats, if these are more frequent. */
const SAVE_EVERY_MS = 20_000;
/** How long one job's scan of the machine's processes serves the other jobs. */
const SCAN_FRESH_MS = 1000;
const PHASES = 4;
const PHASE_MS = 250;
const SPARE_DESCRIPTORS = 256;
const MOST_DESCRIPTORS = 65_536;
/** How long a run rests after a failure of ours before it is tried again; doubled after each further failure. */
const FAILED_PAUSE_MS = 2000;
const LONGEST_FAILED_PAUSE_MS = 300_000;
const MOST_FINISHED = 20_000;

interface Followed {
  readonly follower: JobFollower;
  readonly directory: RunDirectory | null;
}

interface Failure {
  readonly pauseMs: number;
  readonly againMs: number;
}

/** Jobs are read together, to share scans and requests, but in four groups, so that no epilog waits for all of them. */
function phaseOf(name: string): number {
  let sum = 0;
  for (const character of name) sum += character.charCodeAt(0);
  return (sum % PHASES) * PHASE_MS;
}

/** The jobs that this process follows, by run id: one shepherd is one run, whatever a forged `config` says of its task. */
export class FollowedJobs {
  private readonly followed = new Map<string, Followed>();
  private readonly failures = new Map<string, Failure>();
  private readonly runOfSpool = new Map<string, RunDescription>();
  /** Run ids that are finished here: execd keeps their directories for a while. */
  private readonly finished = new Set<string>();
  private readonly budget: CpuBudget;
  private readonly shared: Omit<Surroundings, 'phaseMs' | 'meter' | 'throttle' | 'keepState'>;

  constructor(
    private readonly settings: Settings,
    settingsPath: string,
    private readonly upkeep: NodeUpkeep,
  ) {
    const descriptors = Math.min(resourceLimit(Rlimit.NOFILE).soft, MOST_DESCRIPTORS) - SPARE_DESCRIPTORS;
    this.budget = new CpuBudget(settings.interval * 1000, settings.cpu_budget_percent);
    const listener = new SharedListener(settingsPath, settings);
    this.shared = {
      settings,
      scope: 'node',
      settingsProblem: null,
      destination: upkeep.destination,
      upkeep,
      fileSizeLimit: Infinity,
      descriptors: { left: Math.max(0, descriptors) },
      machine: newMachineScan('/proc', SCAN_FRESH_MS),
      connect: (handlers) => listener.connect(handlers),
      saveEveryMs: settings.heartbeat > 0 ? Math.min(SAVE_EVERY_MS, settings.heartbeat * 1000) : SAVE_EVERY_MS,
      spendable: Infinity,
      jobs: () => Math.max(1, this.followed.size),
    };
  }

  /** Whether nothing is to be begun for this run: it is followed, finished, or rests after a failure. */
  isSettled(id: string): boolean {
    const resting = (this.failures.get(id)?.againMs ?? 0) > monotonicMs();
    return resting || this.followed.has(id) || this.finished.has(id);
  }

  /** Whether an earlier service has finished the run; false also if node.db can't be read. */
  wasFinished(run: RunDescription): boolean {
    try {
      const finished = this.upkeep.store.open().job(runDirectoryName(run))?.finished === true;
      if (finished) this.finished.add(runId(run));
      return finished;
    } catch {
      return false;
    }
  }

  /** The run that is followed by its spool directory. */
  ofSpool(path: string): RunDescription | undefined {
    return this.runOfSpool.get(path);
  }

  /** Begins to follow a run. `directory`: we hold its lock, until the end; null: none could be made. May throw. */
  begin(run: RunDescription, directory: RunDirectory | null): void {
    const name = runDirectoryName(run);
    const surroundings: Surroundings = {
      ...this.shared,
      phaseMs: phaseOf(name),
      meter: newShareMeter(),
      throttle: this.budget.job(name),
      keepState: (state) => writeResumeState(this.settings, run, state),
    };
    const follower = takeUpRun(run, directory, surroundings);
    const followed = { follower, directory };
    this.followed.set(runId(run), followed);
    this.runOfSpool.set(run.spool, run);
    void this.attend(followed);
  }

  /** Notes that a run has failed: it is tried again from its last saved state, after a pause; other jobs go on. */
  failed(id: string, what: string, error: unknown): void {
    warn(`${what}: ${reasonOf(error)}`);
    const pauseMs = Math.min(2 * (this.failures.get(id)?.pauseMs ?? FAILED_PAUSE_MS / 2), LONGEST_FAILED_PAUSE_MS);
    const nowMs = monotonicMs();
    this.failures.set(id, { pauseMs, againMs: nowMs + pauseMs });
    for (const [old, { againMs }] of this.failures)
      if (againMs < nowMs - LONGEST_FAILED_PAUSE_MS) this.failures.delete(old);
  }

  /** Saves what is known of all jobs, for the next service. */
  saveAll(): void {
    for (const { follower } of this.followed.values()) {
      try {
        follower.saveProgress();
        writeResumeState(this.settings, follower.run, follower.save());
      } catch (error) {
        warn(`job ${follower.run.job}: ${reasonOf(error)}`);
      }
    }
  }

  unlockAll(): void {
    for (const { directory } of this.followed.values()) directory?.unlock();
  }

  private async attend({ follower, directory }: Followed): Promise<void> {
    const { run } = follower;
    const id = runId(run);
    try {
      const end = await follower.follow();
      if (end === 'handed-over') return;
      await follower.finish(end);
      this.failures.delete(id);
      this.finished.add(id);
      for (const old of this.finished) {
        if (this.finished.size <= MOST_FINISHED) break;
        this.finished.delete(old);
      }
    } catch (error) {
      this.failed(id, `job ${run.job}`, error);
      follower.close();
    }
    this.budget.end(runDirectoryName(run));
    this.followed.delete(id);
    if (this.runOfSpool.get(run.spool) === run) this.runOfSpool.delete(run.spool);
    directory?.unlock();
  }
}
