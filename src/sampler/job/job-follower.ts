import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { resourceLimit, Rlimit, sharesAddressSpace } from '../../native/libc';
import { monotonicUs, uptimeSeconds, wallClockOfTicks } from '../../sources/proc/clock';
import { changedMs, readText } from '../../sources/files';
import { openProcess, type DescriptorBudget } from '../../sources/proc/process-files';
import { parseAddressSpaceLimit } from '../../sources/proc/limits';
import { realUid } from '../../sources/proc/status';
import { namesSwapArea } from '../../sources/proc/swap';
import type { SpoolUsage } from '../../gridengine/spool-usage';
import type { CpuMeter } from './cpu-meter';
import { destinationNow } from '../delivery/destination';
import { withEarlier } from './earlier-record';
import {
  describeJob,
  readJobPid,
  readUsage,
  trustedSpoolFile,
  undescribed,
  type JobDescription,
} from './job-description';
import { sampleJob } from './job-sampler';
import { buildRecord } from './job-record';
import { keyOfRun } from '../delivery/finish';
import { jobFigures } from '../figures/job-figures';
import { removeJobCgroup, readCgroupNote } from './job-cgroups';
import { hearKernel, NO_HEARING, type Connect } from './hear-kernel';
import { writeLiveFile, removeLiveFile } from '../node-store/live-records';
import type { MachineScan } from '../processes/machine-scan';
import { ownerOfSpool } from '../../base/user-name';
import type { JobRecord, RecordStatus } from '../../record/record';
import { openSampleStream } from '../series/sample-stream';
import { runDirectoryName, type RunDescription } from './run-description';
import type { RunDirectory } from './run-directory';
import type { Settings } from '../../record/settings';
import type { Stretch } from './stretch';
import { thisMachine } from '../peaks/this-machine';
import { chooseStorage, type SharedStore } from '../node-store/storage';
import { nextTick } from './ticks';
import { OWNERS_FILES, watchDirectory, type DirectoryWatch } from './watch-directory';

/** Before the job's first process is there, the tree is looked at this often. */
const WAIT_FOR_START_MS = 20;
const WAIT_LONGER_MS = 250;
/** After the shepherd has gone, its job's processes may go on for a while; they are followed this long. */
const AFTER_SHEPHERD_MS = 30_000;
/** Opening node.db takes milliseconds that the epilog need not wait for; the shortest jobs never come to it. */
const PREPARE_AFTER_MS = 300;
/** Until then a job's first moments decide when it is looked at. */
const ALIGNED_FROM_MS = 1600;
/** The epilog waits meanwhile. */
const EVENTS_WITHIN_MS = 1000;
const NODE_WITHIN_MS = 200;
/** Where nothing tells of the epilog's file, it is looked for this often. */
const UNTOLD_MS = 1000;

/** What the sampler process gives to each of its jobs: the only difference between the scopes. */
export interface Surroundings {
  readonly settingsPath: string;
  readonly settings: Settings;
  /** Why the defaults stand in for the site's own settings; null: they don't. */
  readonly settingsProblem: string | null;
  /** node.db, where one process holds it open for all its jobs; null: the job opens it itself. */
  readonly shared: SharedStore | null;
  readonly descriptors: DescriptorBudget;
  readonly machine: MachineScan;
  /** Left out: a connection of the job's own. */
  readonly connect?: Connect;
  /** Looks come at whole intervals after this moment (ms), together with other jobs'; left out: after the job's start. */
  readonly phaseMs?: number;
  /** CPU time that this job's looks have taken. */
  readonly meter: CpuMeter;
  readonly stretch: Stretch;
  readonly saveEveryMs: number;
  /** CPU seconds of `meter` after which the job must go on in another process. */
  readonly spendable: number;
  /** Jobs that share the memory of this process. */
  readonly jobs: () => number;
  /** Gets the state for a successor with each save; null: nobody wants it. */
  readonly keepState: ((state: SavedFollower) => void) | null;
}

/** State of a job for a successor process; plain data. */
export interface SavedFollower {
  readonly sampler: unknown;
  readonly cpuSeconds: number;
  readonly intervalMs: number;
  readonly notes: readonly string[];
  readonly metrics: Readonly<Record<string, number>>;
}

/** Why a job is no longer followed here. */
type FollowEnd = { readonly status: 'finished' | 'lost'; readonly toldMs: number } | 'handed-over' | 'stopped';

/** One job under the eyes of this process. */
export interface JobFollower {
  readonly run: RunDescription;
  /** Follows the job until its end, or until `stop`, or until `spendable` is spent. */
  follow(): Promise<FollowEnd>;
  /** Takes the last reading, commits the summary, answers the epilog and clears up. */
  finish(end: { readonly status: RecordStatus; readonly toldMs: number }): Promise<void>;
  /** `follow` ends at once; nothing is finished. */
  stop(): void;
  /** What is known so far goes to node.db; nothing once the summary has gone there. */
  saveProgress(): void;
  save(): SavedFollower;
  /** Lets go of everything without finishing. */
  close(): void;
}

function describe(run: RunDescription, settings: Settings): JobDescription {
  const text = trustedSpoolFile(run.spool, 'config');
  return text === null
    ? undescribed(run.task, "Grid Engine's config file could not be read.")
    : describeJob(text, run, settings.memory_complexes, trustedSpoolFile(run.spool, 'pe_hostfile'));
}

/** End of the job to the millisecond where the word of its end and the whole seconds of `usage` agree. */
function endOfJob(usage: SpoolUsage | null, toldMs: number): number | null {
  const end = usage?.endTimeMs ?? null;
  return end === null ? null : Math.min(Math.max(toldMs, end), end + 999);
}

const swapPossible = (): boolean => namesSwapArea(readText('/proc/swaps') ?? '');

/** Sleeps until `untilMs` or until `wake` is called. */
function sleeper(): { readonly sleep: (ms: number) => Promise<void>; readonly wake: () => void } {
  let pending: (() => void) | null = null;
  return {
    sleep: (ms) =>
      new Promise((resolve) => {
        const timer = setTimeout(done, Math.max(0, ms));
        function done(): void {
          clearTimeout(timer);
          pending = null;
          resolve();
        }
        pending = done;
      }),
    wake: () => pending?.(),
  };
}

/**
 * Begins to follow a job. `resumed` continues what a predecessor has saved, `missed` says why what happened since then
 * may not be known; `earlier` is the record of a predecessor that left nothing else.
 */
export function followJob(
  run: RunDescription,
  directory: RunDirectory | null,
  surroundings: Surroundings,
  predecessor: {
    readonly resumed: SavedFollower | null;
    readonly missed?: string;
    readonly earlier?: JobRecord | null;
  },
): JobFollower {
  const { settings, meter } = surroundings;
  const { resumed, missed, earlier = null } = predecessor;
  const description = describe(run, settings);
  const sampler = sampleJob(
    {
      procRoot: '/proc',
      rootPid: null,
      shepherdPid: run.shepherdPid,
      group: description.group,
      notBefore: run.attached ? 0 : run.shepherdStart,
      precision: thisMachine(),
      sharesAddressSpace: sharesAddressSpace,
      eventsTell: false,
      machine: surroundings.machine,
    },
    surroundings.descriptors,
    settings.processes_per_sample,
    resumed?.sampler ?? null,
  );
  if (missed !== undefined) sampler.open('sampler-lost');
  const figures = jobFigures(run, settings, resumed?.metrics ?? null);
  const groupProblem = directory === null ? null : (readCgroupNote(directory.path)?.problem ?? null);
  const notes = new Set([
    ...(resumed?.notes ?? []),
    ...(missed === undefined ? [] : [missed]),
    ...(surroundings.settingsProblem === null ? [] : [surroundings.settingsProblem]),
    ...(groupProblem === null ? [] : [`No cgroup of the job's own: ${groupProblem}.`]),
  ]);
  const storage = chooseStorage({
    run,
    directory: directory?.path ?? null,
    settings,
    destination: () => destinationNow(surroundings.settingsPath, settings),
    fileSizeLimit: resourceLimit(Rlimit.FSIZE).soft,
    startedMs: () => sampler.startMs() ?? Date.now(),
    deliver: surroundings.settingsProblem === null,
    shared: surroundings.shared,
  });
  const hearing =
    settings.listener && run.hooks !== 'plain'
      ? hearKernel(
          surroundings.settingsPath,
          settings,
          run.shepherdPid,
          sampler,
          (reply) => figures.node(reply),
          surroundings.connect,
        )
      : NO_HEARING;
  const stream = openSampleStream(directory?.path ?? null);
  const priorCpuSeconds = resumed?.cpuSeconds ?? 0;
  const { sleep, wake } = sleeper();
  const watches: DirectoryWatch[] = [];
  let rootUid: number | null = null;
  let rootPid: number | null = null;
  /** Of the job's processes, in bytes; null: not read yet. */
  let addressSpaceLimit: number | null = null;
  let noSwap = !swapPossible();
  let intervalMs = resumed?.intervalMs ?? settings.interval * 1000;
  let usage: SpoolUsage | null = null;
  const usagePath = join(run.spool, 'usage');
  let stopping = false;
  let committed = false;

  void hearing.ready.then((silence) => {
    if (silence !== null && settings.listener && run.hooks === 'root') notes.add(`No proved peaks: ${silence}.`);
    if (resumed === null) directory?.armed(run.hooks === 'run');
  });

  /** Grid Engine removes the file soon after it wrote it. */
  function lookForUsage(): SpoolUsage | null {
    if (usage === null && existsSync(usagePath)) usage = readUsage(run.spool);
    return usage;
  }

  function recordOf(status: RecordStatus, endedMs: number | null, nowMs: number): JobRecord {
    const observation = sampler.settled();
    const sampled = observation.samples > 0;
    const lived = (observation.lineage?.totals.processes ?? 0) > 0;
    const said = [...notes, ...figures.notes()];
    if (run.hooks === 'plain')
      said.push(
        "The hooks ran as the job's owner: these figures are the owner's own word, and other users' processes were not seen.",
      );
    // What its prolog found holds for a sampler of the job's own.
    const small = run.memory === 'small' && surroundings.shared === null;
    if (small) said.push('The address space limit could not be lifted for the sampler: it ran in its small mode.');
    const record = buildRecord({
      key: keyOfRun(run, description, settings),
      description,
      observation,
      usage: status === 'running' ? null : lookForUsage(),
      status,
      trust: run.hooks !== 'root' ? 'self-reported' : sampled || lived ? 'root' : 'usage',
      cost: {
        cpu_seconds: Math.round((priorCpuSeconds + meter.seconds()) * 1000) / 1000,
        max_rss_bytes: Math.round((process.resourceUsage().maxRSS * 1024) / surroundings.jobs()),
        mode: small ? 'small' : 'full',
      },
      intervalSeconds: intervalMs / 1000,
      notes: said,
      nowMs,
      endedMs,
      maxRssBelongsToJob: true,
      precision: thisMachine(),
      addressSpaceLimit: addressSpaceLimit ?? Infinity,
      noSwap,
      footprint: figures.footprint(!sampler.alive()),
      metrics: figures.metrics(),
    });
    const owned = record.owner === null ? { ...record, owner: ownerOfSpool(run.spool) } : record;
    return earlier === null ? owned : withEarlier(owned, earlier);
  }

  function findRoot(nowMs: number): boolean {
    const pid = readJobPid(run.spool);
    if (pid === null) return false;
    const files = openProcess(pid, { left: 0 });
    const stat = files.stat();
    if (stat === null || (!run.attached && stat.startTicks < run.shepherdStart)) return false;
    sampler.start(pid, wallClockOfTicks(stat.startTicks, uptimeSeconds(), nowMs));
    rootUid = files.status(realUid);
    rootPid = pid;
    return true;
  }

  /** The job's first process went before it was looked at: what the kernel told of it until then is remembered. */
  async function findEnded(): Promise<boolean> {
    await hearing.catchUp(EVENTS_WITHIN_MS);
    const pid = readJobPid(run.spool);
    const forkedAt = pid === null ? null : sampler.forkedAt(pid);
    if (pid === null || forkedAt === null) return false;
    sampler.start(pid, Math.round(Date.now() - (monotonicUs() - forkedAt) / 1000));
    return true;
  }

  /**
   * The limit holds for every program of the job as soon as its first process has executed one; root could lift it again.
   */
  function readAddressSpaceLimit(): void {
    if (addressSpaceLimit !== null || rootPid === null) return;
    const stat = openProcess(rootPid, { left: 0 }).stat();
    if (stat === null || stat.forkedNoExec) return;
    if (rootUid === 0) addressSpaceLimit = Infinity;
    else addressSpaceLimit = parseAddressSpaceLimit(readText(`/proc/${rootPid}/limits`) ?? '');
  }

  function save(): SavedFollower {
    return {
      sampler: sampler.save(),
      cpuSeconds: priorCpuSeconds + meter.seconds(),
      intervalMs,
      notes: [...notes],
      metrics: figures.metrics(),
    };
  }

  function saveProgress(): void {
    if (committed) return;
    const record = recordOf('running', null, Date.now());
    storage.saveProgress(record, sampler.takeSamples(), figures.takeSeries());
    writeLiveFile(settings, run, record, rootUid);
  }

  /** Returns whether what tells the job's end will wake us; else the ticks look for themselves. */
  function watchDirectories(): boolean {
    for (const path of [directory?.path ?? null, run.spool]) {
      const watch = path === null ? null : watchDirectory(path, { heard: wake, deafTo: OWNERS_FILES });
      if (watch !== null) watches.push(watch);
    }
    return watches.length === (directory === null ? 1 : 2);
  }

  /** Whether the job's end has been told; when. */
  function toldAt(nowMs: number): number | null {
    if (run.ends === 'usage') return lookForUsage() === null ? null : nowMs;
    const writtenMs = directory === null ? changedMs(usagePath) : directory.finishedMs();
    if (writtenMs === null) return null;
    // Of a job that ended while nobody looked.
    return resumed === null && earlier === null ? nowMs : Math.min(nowMs, writtenMs);
  }

  /** Looks through all of /proc come in the same second for all jobs of a process, and it is done once. */
  function isScanDue(nowMs: number, lastMs: number): boolean {
    const everyMs = settings.scan_interval * 1000;
    if (surroundings.phaseMs === undefined || everyMs < ALIGNED_FROM_MS) return nowMs - lastMs >= everyMs;
    return Math.floor(nowMs / everyMs) > Math.floor(lastMs / everyMs);
  }

  function untilNextLook(nowMs: number, startMs: number): number {
    const age = nowMs - startMs;
    const wait = nextTick(age, intervalMs) - age;
    const { phaseMs } = surroundings;
    if (phaseMs === undefined || age + wait < ALIGNED_FROM_MS) return wait;
    return intervalMs - ((((nowMs - phaseMs) % intervalMs) + intervalMs) % intervalMs);
  }

  async function follow(): Promise<FollowEnd> {
    const longestSleepMs = watchDirectories() ? Infinity : UNTOLD_MS;
    const shepherd = openProcess(run.shepherdPid, { left: 1 });
    const begun = Date.now();
    let started = sampler.startMs() !== null;
    if (started) {
      // A successor of another sampler: the job's first process may have gone.
      rootPid = readJobPid(run.spool);
      if (rootPid !== null) {
        rootUid = openProcess(rootPid, { left: 0 }).status(realUid);
        figures.started(rootPid);
      }
    }
    // The saves of many jobs must not all come at once.
    let lastSave = begun - (surroundings.shared === null ? 0 : Math.random() * surroundings.saveEveryMs);
    let lastScan = begun;
    let shepherdGoneMs: number | null = null;
    let due = begun;
    let prepared = false;

    try {
      for (;;) {
        if (stopping) return 'stopped';
        const now = Date.now();
        const told = toldAt(now);
        const parent = shepherd.stat();
        const shepherdAlive = parent !== null && parent.startTicks === run.shepherdStart && parent.state !== 'Z';
        if (!shepherdAlive) shepherdGoneMs ??= now;
        if (!started && findRoot(now)) {
          started = true;
          if (rootPid !== null) figures.started(rootPid);
        }
        if (surroundings.shared !== null && run.ends === 'epilog') lookForUsage();
        if (!started && told !== null) started = await findEnded();
        // A wake-up for another file in the spool directory is no reason for another sample.
        if (started && (told !== null || now >= due)) {
          meter.around(() => {
            const scan = told !== null || isScanDue(now, lastScan);
            if (scan) lastScan = now;
            readAddressSpaceLimit();
            const readings = sampler.tick(now, scan, told !== null);
            hearing.afterTick(readings);
            stream(readings, () => sampler.observation());
            figures.look(now, readings, sampler.cpuTicks(), hearing.link());
          });
          intervalMs = surroundings.stretch.afterTick(meter.seconds() * 1000);
          if (intervalMs > settings.interval * 1000)
            notes.add(
              `The sampling interval was stretched to keep the sampler under ${settings.cpu_budget_percent} % of a core.`,
            );
        }
        if (told !== null) return { status: 'finished', toldMs: told };
        if (shepherdGoneMs !== null && (!sampler.alive() || now - shepherdGoneMs > AFTER_SHEPHERD_MS))
          return {
            status: surroundings.shared !== null && usage !== null ? 'finished' : 'lost',
            toldMs: shepherdGoneMs,
          };

        const spent = meter.seconds() > surroundings.spendable;
        if (spent || now - lastSave >= surroundings.saveEveryMs) {
          lastSave = now;
          noSwap &&= !swapPossible();
          meter.around(() => {
            saveProgress();
            surroundings.keepState?.(save());
          });
          if (spent) return 'handed-over';
        }
        if (!prepared && started && now - begun > PREPARE_AFTER_MS) {
          prepared = true;
          storage.prepare();
        }
        const startMs = sampler.startMs();
        const after = Date.now();
        const wait = !started
          ? after - begun < 2000
            ? WAIT_FOR_START_MS
            : WAIT_LONGER_MS
          : untilNextLook(after, startMs ?? begun);
        if (!started || now >= due) due = after + wait;
        await sleep(Math.min(due - after, longestSleepMs));
      }
    } finally {
      shepherd.close();
      for (const watch of watches) watch.close();
    }
  }

  function close(): void {
    sampler.close();
    hearing.close();
    figures.close();
  }

  return {
    run,
    follow,
    save,
    saveProgress,
    close,
    stop: () => {
      stopping = true;
      wake();
    },
    finish: async (end) => {
      await Promise.all([hearing.finish(EVENTS_WITHIN_MS), figures.finish(hearing.link(), NODE_WITHIN_MS)]);
      noSwap &&= !swapPossible();
      const kept = meter.around(() => {
        const record = recordOf(
          end.status,
          endOfJob(lookForUsage(), end.toldMs) ?? (end.status === 'lost' ? end.toldMs : null),
          Date.now(),
        );
        const word = storage.finish(record, sampler.takeSamples(), figures.takeSeries());
        committed = true;
        return word;
      });
      directory?.acknowledge(kept);
      close();
      if (run.hooks === 'root')
        removeJobCgroup(runDirectoryName(run), directory === null ? null : readCgroupNote(directory.path));
      removeLiveFile(settings, run);
      await storage.afterwards(() => {
        if (!storage.keepsDirectory()) directory?.remove();
      });
    },
  };
}
