import { dirname } from 'node:path';
import { monotonicMs } from '../../base/monotonic';
import { sharesAddressSpace } from '../../native/libc';
import { monotonicUs } from '../../sources/proc/clock';
import { readText } from '../../sources/files';
import { jobCgroup, ownGroup } from '../../sources/job/job-cgroup';
import { RequestRules } from '../../record/request-rules';
import { jobFigures, type JobFigures } from '../figures/job-figures';
import { writeLiveFile, removeLiveFile } from '../node-store/live-records';
import { chooseStorage, type Storage } from '../node-store/storage';
import { thisMachine } from '../peaks/slack';
import type { JobRecord } from '../../record/record';
import type { Settings } from '../../record/settings';
import { openSampleStream } from '../series/sample-stream';
import { EndOfJob, type JobEnd } from './end-of-job';
import { FirstProcess } from './first-process';
import { KernelHearing } from './hear-kernel';
import { removeJobCgroup, readCgroupNote } from './job-cgroups';
import {
  describeJob,
  readJobPid,
  spooledScript,
  trustedSpoolFile,
  undescribed,
  type JobDescription,
} from './job-description';
import { JobAccount } from './job-account';
import { JobClock } from './job-clock';
import { JobSampler } from './job-sampler';
import { Pace } from './pace';
import { removeResumeState, runDirectoryName, type RunDescription } from './run-description';
import { RunDirectory } from './run-directory';
import { Sleeper } from './sleeper';
import type { Predecessor, SavedFollower, Surroundings } from './surroundings';
import { OWNERS_FILES, watchDirectory, type DirectoryWatch } from './watch-directory';

/** How often the job's first process is looked for: at first, and once SHORT_WAITS_MS have passed. */
const WAIT_FOR_START_MS = 20;
const WAIT_LONGER_MS = 250;
const SHORT_WAITS_MS = 2000;
/** node.db is opened after this, so that the epilog need not wait for it; the shortest jobs end before. */
const PREPARE_AFTER_MS = 300;
/** Longest waits for the last events and for the node's figures; the epilog waits meanwhile. */
const EVENTS_WITHIN_MS = 1000;
const NODE_WITHIN_MS = 200;
/**
 * Processes of a killed job may still be dying when the epilog runs (Open Cluster Scheduler waits for the first process
 * alone), and their exit records tell what they held. Also, the kernel sends an exit event after it has notified the
 * parent: on a busy node the epilog can come first. The wait is limited because freeing many GiB takes long.
 */
const DYING_WITHIN_MS = 500;
const DYING_LOOK_MS = 100;
/** How often the files that mark the job's end are looked for where their directories can't be watched. */
const UNWATCHED_MS = 1000;

/** Why a job is no longer followed here. */
type FollowEnd = JobEnd | 'handed-over';

function describe(run: RunDescription, settings: Settings): JobDescription {
  const config = trustedSpoolFile(run.spool, 'config');
  return config === null
    ? undescribed(run.task, "Grid Engine's config file could not be read.")
    : describeJob(config, run, new RequestRules(settings), {
        peHostfile: trustedSpoolFile(run.spool, 'pe_hostfile'),
        configOfJob: run.peTask == null ? null : trustedSpoolFile(dirname(run.spool), 'config'),
        script: run.peTask == null ? spooledScript(run.spool) : null,
      });
}

/** Time up to which that record includes the kernel's events (µs of the monotonic clock); 0: it includes none. */
const heardUntil = (earlier: JobRecord | null): number =>
  earlier?.metrics.taskstats_processes === undefined
    ? 0
    : monotonicUs() - 1000 * Math.max(0, Date.now() - earlier.revision);

/** Follows one job from its prolog, or from what a predecessor left, to its record. */
export class JobFollower {
  private readonly settings: Settings;
  private readonly description: JobDescription;
  private readonly sampler: JobSampler;
  private readonly figures: JobFigures;
  private readonly storage: Storage;
  /** null: switched off, or not for this user. */
  private readonly hearing: KernelHearing | null;
  private readonly streamSample: ReturnType<typeof openSampleStream>;
  private readonly pace: Pace;
  private readonly first: FirstProcess;
  private readonly ending: EndOfJob;
  private readonly account: JobAccount;
  private readonly sleeper = new Sleeper();
  private readonly watches: DirectoryWatch[] = [];
  private readonly begunMs = monotonicMs();
  private readonly clock: JobClock;
  /** The job's first process has been seen. */
  private started: boolean;
  /** The job's own control group is still to be looked for. */
  private seeksGroup = true;
  /** When the next step is due, on the monotonic clock: a time of day that is set back must not delay it. */
  private dueMs = monotonicMs();
  private lastSaveMs: number;
  private prepared = false;
  private committed = false;

  /** `directory`: null if none could be made. */
  constructor(
    readonly run: RunDescription,
    private readonly directory: RunDirectory | null,
    private readonly surroundings: Surroundings,
    private readonly predecessor: Predecessor,
  ) {
    const { settings } = surroundings;
    const isShared = surroundings.scope === 'node';
    const { resumed, missed } = predecessor;
    this.settings = settings;
    this.clock = new JobClock(resumed?.clock);
    this.description = describe(run, settings);
    this.sampler = new JobSampler(
      {
        procRoot: '/proc',
        shepherdPid: run.shepherdPid,
        group: this.description.group,
        uid: () => this.first.uid,
        notBefore: run.attached ? 0 : run.shepherdStart,
        precision: thisMachine(),
        sharesAddressSpace,
        machine: surroundings.machine,
      },
      surroundings.descriptors,
      settings.processes_per_sample,
      resumed?.sampler,
      heardUntil(predecessor.earlier),
    );
    if (missed !== null) this.sampler.open('sampler-lost');
    this.started = this.sampler.startMs() !== null;
    this.figures = jobFigures(run, settings, predecessor);
    this.storage = chooseStorage({
      ...surroundings,
      run,
      directory: directory?.path ?? null,
      startedMs: () => this.sampler.startMs() ?? this.clock.now(),
      deliver: surroundings.settingsProblem === null,
    });
    this.hearing = this.hear();
    void (this.hearing?.ready ?? Promise.resolve(null)).then((silence) => this.ready(silence));
    this.streamSample = openSampleStream(directory?.path ?? null);
    this.pace = new Pace(settings, surroundings.throttle, surroundings.phaseMs, resumed?.intervalMs ?? null);
    this.first = new FirstProcess(run);
    const isContinued = resumed !== null || predecessor.earlier !== null;
    this.ending = new EndOfJob(run, directory, isContinued, this.clock);
    const { description, sampler, figures, pace, clock, first, ending } = this;
    const cgroupProblem = this.cgroupNote()?.problem ?? null;
    const job = { run, surroundings, predecessor, description, cgroupProblem };
    this.account = new JobAccount({ ...job, sampler, figures, pace, clock, first, ending });
    // The saves of many jobs must not all come at once.
    this.lastSaveMs = monotonicMs() - (isShared ? Math.random() * surroundings.saveEveryMs : 0);
  }

  /** Whether Grid Engine says that the job may start tasks. */
  get isParallel(): boolean {
    return this.description.fields.pe !== null;
  }

  /** Follows the job until its end, or until `spendable` is spent. */
  async follow(): Promise<FollowEnd> {
    const longestSleepMs = this.watchDirectories() ? Infinity : UNWATCHED_MS;
    try {
      const startMs = this.sampler.startMs();
      if (startMs !== null) {
        this.first.resume(startMs + this.clock.setByMs());
        if (this.first.pid !== null) this.figures.started(this.first.pid);
        this.lookForGroup();
      }
      for (;;) {
        const end = await this.step();
        if (end !== null) return end;
        await this.sleeper.sleep(Math.min(this.dueMs - monotonicMs(), longestSleepMs));
      }
    } finally {
      this.ending.close();
      for (const watch of this.watches) watch.close();
    }
  }

  /** Takes the last reading, commits the summary, answers the epilog and clears up. */
  async finish(end: JobEnd): Promise<void> {
    const { run, directory, hearing, figures, storage } = this;
    await this.awaitEnds(end.seenMs);
    await figures.finish(hearing?.link() ?? null, NODE_WITHIN_MS);
    const kept = this.surroundings.meter.around(() => {
      const record = this.account.record(end.status, this.ending.endedMs(end));
      const where = storage.finish(record, this.sampler.takeSamples(), figures.takeSeries());
      this.committed = true;
      return where;
    });
    directory?.acknowledge(kept);
    this.close();
    if (run.hooks === 'root') removeJobCgroup(runDirectoryName(run), this.cgroupNote());
    removeLiveFile(this.settings, runDirectoryName(run));
    await storage.afterwards(() => {
      if (storage.keepsDirectory()) return;
      directory?.remove();
      // Where the disk had no room, the epilog put its copies into run_dir.
      if (run.hooks === 'root') RunDirectory.named(this.settings.run_dir, runDirectoryName(run))?.remove();
    });
    removeResumeState(this.settings, runDirectoryName(run));
  }

  /** Writes what is known so far to node.db; does nothing once the summary is there. */
  saveProgress(): void {
    if (this.committed) return;
    const record = this.account.record('running', null);
    this.storage.saveProgress(record, this.sampler.takeSamples(), this.figures.takeSeries());
    writeLiveFile(this.settings, this.run, record, this.first.uid);
  }

  save(): SavedFollower {
    return {
      sampler: this.sampler.save(),
      clock: this.clock.save(),
      cpuSeconds: this.account.cpuSeconds(),
      intervalMs: this.pace.intervalMs,
      notes: [...this.account.notes],
      metrics: this.figures.metrics(),
      earlier: this.predecessor.earlier,
    };
  }

  /** Releases all resources; does not finish the run. */
  close(): void {
    this.sampler.close();
    this.hearing?.close();
    this.figures.close();
  }

  private cgroupNote(): ReturnType<typeof readCgroupNote> {
    return this.directory === null ? null : readCgroupNote(this.directory.path);
  }

  private hear(): KernelHearing | null {
    const { run, settings } = this;
    if (!settings.listener || run.hooks === 'plain') return null;
    return new KernelHearing(run.shepherdPid, this.surroundings.connect, this.sampler, {
      stirred: () => this.stirred(),
      node: (reply) => this.figures.node(reply),
    });
  }

  /** Something happens in the job: if it was at rest, and so read less often, its next reading comes sooner. */
  private stirred(): void {
    if (!this.pace.stir()) return;
    this.dueMs = monotonicMs() + this.untilNextStep();
    this.sleeper.wake();
  }

  /** The kernel's events are heard, or can't be (`silence`): the prolog need not wait any longer. */
  private ready(silence: string | null): void {
    const { hooks } = this.run;
    if (silence !== null && hooks === 'root') this.account.notes.add(`No proved peaks: ${silence}.`);
    if (this.predecessor.resumed === null) this.directory?.armed(hooks === 'run');
  }

  /** Returns whether the files that mark the job's end will wake `follow`; if not, it has to poll. */
  private watchDirectories(): boolean {
    const { directory, run, watches } = this;
    for (const path of [directory?.path ?? null, run.spool]) {
      const watch = path === null ? null : watchDirectory(path, { heard: this.sleeper.wake, deafTo: OWNERS_FILES });
      if (watch !== null) watches.push(watch);
    }
    return watches.length === (directory === null ? 1 : 2);
  }

  /** Does what is due now and sets when the next step is due. Returns the end, if it has come. */
  private async step(): Promise<FollowEnd | null> {
    const isEndSeen = this.ending.look(this.clock.now());
    if (!this.started) this.lookForStart();
    if (!this.started && isEndSeen) this.started = await this.findEnded();
    const now = this.clock.now();
    // A wake-up for another file in the spool directory is no reason for another sample.
    const isDue = monotonicMs() >= this.dueMs;
    if (this.started && (isEndSeen || isDue)) this.look(now, isEndSeen);
    const end = this.ending.end(now, () => this.sampler.alive());
    if (end !== null) return end;
    if (this.saveIfDue()) return 'handed-over';
    if (!this.prepared && this.started && monotonicMs() - this.begunMs > PREPARE_AFTER_MS) {
      this.prepared = true;
      this.storage.prepare();
    }
    if (!this.started || isDue) this.dueMs = monotonicMs() + this.untilNextStep();
    return null;
  }

  private untilNextStep(): number {
    const nowMs = this.clock.now();
    if (this.started) return this.pace.untilNextLook(nowMs, this.sampler.startMs() ?? nowMs);
    return monotonicMs() - this.begunMs < SHORT_WAITS_MS ? WAIT_FOR_START_MS : WAIT_LONGER_MS;
  }

  /** Waits until the last reading is settled, and reads again while processes of the job are dying. */
  private async awaitEnds(seenMs: number): Promise<void> {
    for (;;) {
      await this.hearing?.finish(EVENTS_WITHIN_MS);
      if (this.clock.now() - seenMs > DYING_WITHIN_MS || !this.sampler.dying()) return;
      await this.sleeper.sleep(DYING_LOOK_MS);
      this.look(this.clock.now(), true);
    }
  }

  private lookForStart(): void {
    const startMs = this.first.find();
    const { pid } = this.first;
    if (startMs === null || pid === null) return;
    this.clock.begin();
    this.sampler.start(pid, startMs);
    this.started = true;
    this.figures.started(pid);
    this.lookForGroup();
  }

  /**
   * systemd moves the first process to its unit after the fork: until then the search is repeated. A group made by our
   * prolog is still there when that process has gone.
   */
  private lookForGroup(): void {
    const { run, description, first } = this;
    if (!this.seeksGroup) return;
    const key = runDirectoryName(run);
    const membership = first.pid === null ? null : readText(`/proc/${first.pid}/cgroup`);
    const isInUnit = description.systemd !== null;
    const scope = description.systemd?.scope ?? null;
    const found =
      membership !== null
        ? jobCgroup(membership, { job: run.job, task: run.task, key, scope })
        : isInUnit
          ? null
          : ownGroup(key);
    this.seeksGroup = found === null && isInUnit;
    if (found === null) return;
    this.figures.inGroup(found);
    // A group made by our prolog also holds the shepherd.
    if (found.origin === 'scope') this.sampler.inGroup(found);
  }

  /** For a first process that ended before it was seen: takes its start from the kernel's events. false: not heard. */
  private async findEnded(): Promise<boolean> {
    this.lookForGroup();
    await this.hearing?.catchUp(EVENTS_WITHIN_MS);
    const pid = readJobPid(this.run.spool);
    const forkedAt = pid === null ? null : this.sampler.forkedAt(pid);
    if (pid === null || forkedAt === null) return false;
    this.sampler.start(pid, Math.round(this.clock.now() - (monotonicUs() - forkedAt) / 1000));
    return true;
  }

  /** Reads the job once. */
  private look(nowMs: number, last: boolean): void {
    const { sampler, hearing, pace } = this;
    const { meter } = this.surroundings;
    const { asleep } = meter.around(() => {
      this.first.readLimit();
      this.lookForGroup();
      const readings = sampler.tick(nowMs, pace.scansAt(nowMs, last), { last });
      hearing?.afterTick(readings);
      this.streamSample(readings, () => sampler.observation());
      this.figures.look(nowMs, readings, sampler.cpuTicks(), hearing?.link() ?? null);
      sampler.chart(nowMs, this.figures.charted());
      return readings;
    });
    if (pace.afterLook(meter.seconds(), asleep && hearing?.hears() === true))
      this.account.notes.add(
        `The sampling interval was stretched to keep the sampler under ${this.settings.cpu_budget_percent} % of a core.`,
      );
  }

  /** Saves, if a save is due. Returns whether this process has used up `spendable`. */
  private saveIfDue(): boolean {
    const nowMs = monotonicMs();
    const { meter, spendable, saveEveryMs, keepState } = this.surroundings;
    const spent = meter.seconds() > spendable;
    if (!spent && nowMs - this.lastSaveMs < saveEveryMs) return false;
    this.lastSaveMs = nowMs;
    meter.around(() => {
      this.saveProgress();
      keepState?.(this.save());
    });
    return spent;
  }
}
