import { closeSync, existsSync, fstatSync, mkdirSync, openSync, readdirSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { basename, join } from 'node:path';
import { makeFifo, raiseSoftLimit, resourceLimit, Rlimit, tryLock } from '../../native/libc';
import { bootId } from '../../sources/proc/clock';
import { newShareMeter } from '../job/cpu-meter';
import { followJob, type JobFollower } from '../job/job-follower';
import { destinationNow } from '../delivery/destination';
import { newHeartbeat } from '../delivery/heartbeat';
import { reasonOf, warn } from '../../base/log';
import { newMachineScan } from '../processes/machine-scan';
import type { NodeStore } from '../node-store/node-store';
import { deliverOutbox } from '../delivery/outbox-feeder';
import { recordOfJson, type JobRecord } from '../../record/record';
import { readResumeState, removeResumeState, writeResumeState } from '../job/resume-state';
import {
  formatRunDescription,
  readRunDescription,
  removeRunDirectory,
  runDirectoryName,
  runId,
  shepherdLives,
  writePidFile,
  type RunDescription,
} from '../job/run-directory';
import { loadSettings, type Settings } from '../../record/settings';
import { tidyNode } from '../node-store/storage';
import { watchDirectory, type DirectoryWatch } from '../job/watch-directory';
import { activeJobsDirectory } from './active-jobs-directory';
import { adoptable } from './adoptable';
import { commonStretch } from './common-stretch';
import { reviveRuns } from './revive';
import { serviceDirectory } from './service-directory';
import { shareListener } from './shared-listener';
import { shareStore } from './shared-store';
import { watchSpools, type SpoolEntry, type SpoolWatch } from './spool-watch';

/**
 * The sampler as a service, for the node scope: one process per host that follows every job on it.
 *
 *   node main.js SETTINGS
 *
 * Jobs come from the prologs (a new directory in STATE/run) and from execd's active_jobs: tasks of parallel jobs whose
 * master is elsewhere, jobs whose hooks could do nothing, and those that were running before. It goes on after execd, and
 * what it knows of its jobs is kept for the next service (resume-state.ts).
 */

/** Or as often as heartbeats tell of it. */
const SAVE_EVERY_MS = 20_000;
const RESCAN_EVERY_MS = 5000;
const TIDY_EVERY_MS = 60_000;
const FIRST_TIDY_MS = 3000;
/** A deliverer costs as much as many records: at a pinch they wait for each other. */
const DELIVER_AFTER_MS = 2000;
const DELIVER_EVERY_MS = 15_000;
const DELIVERY_PATIENCE_S = 30;
/** What one job finds out about the machine's processes serves the others so long. */
const SCAN_FRESH_MS = 1000;
const PHASES = 4;
const PHASE_MS = 250;
const SPARE_DESCRIPTORS = 256;
const MOST_DESCRIPTORS = 65_536;
/** The prolog may still be writing. */
const LOOK_AGAIN_MS = [2, 5, 10, 30, 100, 500] as const;
/** After a failure of ours a run is tried again after so long, and then after twice as long, and so on. */
const FAILED_PAUSE_MS = 2000;
const LONGEST_FAILED_PAUSE_MS = 300_000;
const MOST_DONE = 20_000;
const DISABLED_FILE = '/etc/qmemacct/disabled';

interface Followed {
  readonly follower: JobFollower;
  readonly lock: number | null;
}

interface Failure {
  readonly pauseMs: number;
  readonly againMs: number;
}

function usableNow(path: string): Settings | null {
  try {
    return loadSettings(path);
  } catch {
    return null;
  }
}

/** Root's own process, wherever it was started from: the first to be spared, and with room for all jobs' files. */
function makeRoom(): void {
  const steps = [
    (): void => setPriority(0, 0),
    (): void => writeFileSync('/proc/self/oom_score_adj', '-500'),
    (): void => raiseSoftLimit(Rlimit.NOFILE),
  ];
  for (const step of steps) {
    try {
      step();
    } catch {
      // Not allowed here.
    }
  }
}

function parseEarlier(text: string | undefined): JobRecord | null {
  const record = text === undefined ? null : recordOfJson(text);
  return record?.ok === true ? record.value : null;
}

function main(): void {
  const settingsPath = process.argv[2] ?? '';
  const settings = loadSettings(settingsPath);
  process.umask(0o077);
  process.chdir('/');
  process.on('SIGXFSZ', () => undefined);
  const own = serviceDirectory(settings);
  const place = holdPlace(own);
  // Another one serves this host.
  if (place === null) return;
  makeRoom();
  serve(settings, settingsPath, place);
}

/** The service's own directory; null: another process has it. */
function holdPlace(own: string): { readonly announce: () => boolean } | null {
  let lock: number | null = null;
  let announced = false;

  function hold(): boolean {
    if (lock !== null && fstatSync(lock).nlink > 0) return true;
    mkdirSync(own, { recursive: true, mode: 0o700 });
    const mine = lockFile(own);
    if (mine === null) return false;
    if (lock !== null) closeSync(lock);
    lock = mine;
    return true;
  }
  if (!hold()) return null;
  return {
    /** Tells hooks of us, again where somebody has cleared the directory away. false: another one has it by now. */
    announce: () => {
      if (!hold()) return false;
      if (!announced || !existsSync(join(own, 'pid'))) writePidFile(own, bootId());
      announced = true;
      return true;
    },
  };
}

/** The descriptor that holds the lock; null: somebody else does. Throws when there can be none. */
function lockFile(directory: string): number | null {
  const lock = openSync(join(directory, 'lock'), 'a', 0o600);
  if (tryLock(lock)) return lock;
  closeSync(lock);
  return null;
}

/** The FIFO for our word to the epilog, so that it need not make one; if that fails, it does. */
function prepareAnswer(directory: string): void {
  try {
    makeFifo(join(directory, 'ack'), 0o600);
  } catch {
    // An epilog that came before us has made it.
  }
}

const RUN_NAME = /^\d+\.\d+\.[0-9a-f]{8}\.\d+\.\d+$/;

/** As runId() of its description. */
const runIdOf = (name: string): string => name.split('.').slice(2).join('.');

function runNames(parent: string): readonly string[] {
  try {
    return readdirSync(parent).filter((name) => RUN_NAME.test(name));
  } catch {
    return [];
  }
}

/** Looks at many jobs at once share what they ask for; in four parts, so that no epilog waits for all of them. */
function phaseOf(name: string): number {
  let sum = 0;
  for (const character of name) sum += character.charCodeAt(0);
  return (sum % PHASES) * PHASE_MS;
}

function serve(settings: Settings, settingsPath: string, place: { readonly announce: () => boolean }): void {
  /** By run id: one shepherd is one run, whatever a forged `config` says of its task. */
  const followed = new Map<string, Followed>();
  const failures = new Map<string, Failure>();
  /** By the spool directory. */
  const runOfSpool = new Map<string, RunDescription>();
  /** Run ids that are finished here: execd keeps their directories for a while. */
  const done = new Set<string>();
  const runParents = [join(settings.state_dir, 'run'), join(settings.run_dir, 'run')];
  const watches = new Map<string, DirectoryWatch>();
  const machine = newMachineScan('/proc', SCAN_FRESH_MS);
  const descriptors = {
    left: Math.max(0, Math.min(resourceLimit(Rlimit.NOFILE).soft, MOST_DESCRIPTORS) - SPARE_DESCRIPTORS),
  };
  const stretch = commonStretch(settings.interval * 1000, settings.cpu_budget_percent);
  const listener = shareListener(settingsPath, settings);
  let saidOfSpools: string | null = null;
  let spools: { readonly directory: string; readonly watch: SpoolWatch } | null = null;
  let delivering = false;
  let deliveredMs = -Infinity;
  let deliveryTimer: NodeJS.Timeout | null = null;
  const destination = () => destinationNow(settingsPath, settings);
  const heartbeat = newHeartbeat(settings, destination);
  const saveEveryMs = settings.heartbeat > 0 ? Math.min(SAVE_EVERY_MS, settings.heartbeat * 1000) : SAVE_EVERY_MS;

  const shared = shareStore(settings.state_dir, {
    saved: (store) => void heartbeat.beat(store),
    committed: deliverSoon,
  });

  function deliverSoon(): void {
    if (delivering || deliveryTimer !== null) return;
    const wait = Math.max(DELIVER_AFTER_MS, deliveredMs + DELIVER_EVERY_MS - performance.now());
    deliveryTimer = setTimeout(() => void deliver(), wait);
  }

  async function withStore<T>(use: (store: NodeStore) => Promise<T>): Promise<T> {
    const store = shared.open();
    try {
      return await use(store);
    } catch (error) {
      shared.failed(store);
      throw error;
    }
  }

  async function deliver(): Promise<void> {
    deliveryTimer = null;
    delivering = true;
    deliveredMs = performance.now();
    try {
      const { left } = await withStore((store) => deliverOutbox(store, settings, DELIVERY_PATIENCE_S, destination));
      delivering = false;
      if (left > 0) deliverSoon();
    } catch (error) {
      warn(`delivery: ${reasonOf(error)}`);
    } finally {
      delivering = false;
    }
  }

  async function tidy(): Promise<void> {
    try {
      await withStore((store) => tidyNode(store, settings, DELIVERY_PATIENCE_S, destination));
    } catch (error) {
      warn(`${join(settings.state_dir, 'node.db')}: ${reasonOf(error)}`);
    }
    setTimeout(() => void tidy(), TIDY_EVERY_MS);
  }

  function begin(run: RunDescription, directory: string | null, lock: number | null): void {
    const name = runDirectoryName(run);
    const id = runId(run);
    const left = readResumeState(settings, run);
    const earlier = left === null ? earlierRecord(name) : null;
    const follower = followJob(
      run,
      directory,
      {
        settingsPath,
        settings,
        settingsProblem: null,
        shared,
        descriptors,
        machine,
        connect: listener.connect,
        phaseMs: phaseOf(name),
        meter: newShareMeter(),
        stretch: stretch.job(name),
        saveEveryMs,
        spendable: Infinity,
        jobs: () => Math.max(1, followed.size),
        keepState: (state) => writeResumeState(settings, run, state),
      },
      { resumed: left?.state ?? null, earlier, ...(left?.missed === undefined ? {} : { missed: left.missed }) },
    );
    followed.set(id, { follower, lock });
    runOfSpool.set(run.spool, run);
    void attend(id, follower, lock);
  }

  function earlierRecord(name: string): JobRecord | null {
    try {
      const stored = shared.open().job(name);
      return stored === null || stored.finished ? null : parseEarlier(stored.record);
    } catch {
      return null;
    }
  }

  /** By a service before this one. */
  function isFinished(run: RunDescription): boolean {
    try {
      const finished = shared.open().job(runDirectoryName(run))?.finished === true;
      if (finished) done.add(runId(run));
      return finished;
    } catch {
      return false;
    }
  }

  function failedAt(id: string): void {
    const pauseMs = Math.min(2 * (failures.get(id)?.pauseMs ?? FAILED_PAUSE_MS / 2), LONGEST_FAILED_PAUSE_MS);
    failures.set(id, { pauseMs, againMs: performance.now() + pauseMs });
    for (const [old, { againMs }] of failures)
      if (againMs < performance.now() - LONGEST_FAILED_PAUSE_MS) failures.delete(old);
  }

  const mustWait = (id: string): boolean => (failures.get(id)?.againMs ?? 0) > performance.now();

  async function attend(id: string, follower: JobFollower, lock: number | null): Promise<void> {
    const { run } = follower;
    try {
      const end = await follower.follow();
      if (end === 'stopped' || end === 'handed-over') return;
      await follower.finish(end);
      removeResumeState(settings, run);
      failures.delete(id);
      done.add(id);
      for (const old of done) {
        if (done.size <= MOST_DONE) break;
        done.delete(old);
      }
    } catch (error) {
      // One job's misfortune is no other's: it is tried again from its last saved state.
      warn(`job ${run.job}: ${reasonOf(error)}`);
      failedAt(id);
      follower.close();
    }
    stretch.end(runDirectoryName(run));
    followed.delete(id);
    if (runOfSpool.get(run.spool) === run) runOfSpool.delete(run.spool);
    if (lock !== null) closeSync(lock);
  }

  /** Follows a run that has a directory, unless somebody does. `again`: how often it has been looked at in vain. */
  function takeUp(directory: string, again = 0): void {
    const id = runIdOf(basename(directory));
    if (followed.has(id) || done.has(id) || mustWait(id) || existsSync(DISABLED_FILE)) return;
    const run = readRunDescription(directory);
    if (run === null) {
      const wait = LOOK_AGAIN_MS[again];
      if (wait !== undefined && existsSync(directory)) setTimeout(() => takeUp(directory, again + 1), wait);
      return;
    }
    let lock: number | null = null;
    try {
      // What has ended is finished by recover.ts, with the copies that the epilog left.
      if (run.hooks !== 'root' || existsSync(join(directory, 'copied')) || !shepherdLives(run)) return;
      lock = lockFile(directory);
      if (lock === null) return;
      writePidFile(directory, bootId());
      prepareAnswer(directory);
      begin(run, directory, lock);
    } catch (error) {
      warn(`${directory}: ${reasonOf(error)}`);
      failedAt(id);
      if (lock !== null && !followed.has(id)) closeSync(lock);
    }
  }

  function consider(entry: SpoolEntry): void {
    try {
      adopt(entry);
    } catch (error) {
      warn(`${entry.path}: ${reasonOf(error)}`);
    }
  }

  function adopt(entry: SpoolEntry): void {
    const known = runOfSpool.get(entry.path);
    if ((known !== undefined && shepherdLives(known)) || existsSync(DISABLED_FILE)) return;
    const adoption = adoptable(entry);
    if (typeof adoption === 'string') return;
    const { run } = adoption;
    const id = runId(run);
    if (followed.has(id) || done.has(id) || mustWait(id) || isFinished(run)) return;
    const there = runParents.flatMap((parent) =>
      runNames(parent)
        .filter((name) => runIdOf(name) === id)
        .map((name) => join(parent, name)),
    )[0];
    if (there === undefined) takeOver(run);
    else takeUp(there);
  }

  /** A job that no prolog of ours told of. */
  function takeOver(run: RunDescription): void {
    for (const parent of runParents) {
      const directory = join(parent, runDirectoryName(run));
      try {
        mkdirSync(parent, { recursive: true, mode: 0o700 });
        mkdirSync(directory, { mode: 0o700 });
        writeFileSync(join(directory, 'job'), formatRunDescription(run), { mode: 0o600 });
        takeUp(directory);
        return;
      } catch (error) {
        // Its prolog was a moment before us.
        if ((error as NodeJS.ErrnoException).code === 'EEXIST') return;
        // The other place, then.
        removeRunDirectory(directory);
      }
    }
    try {
      begin(run, null, null);
    } catch (error) {
      warn(`job ${run.job}: ${reasonOf(error)}`);
      failedAt(runId(run));
    }
  }

  function watchRuns(): void {
    for (const parent of runParents) {
      if (watches.has(parent)) continue;
      const gone = (): void => {
        watches.delete(parent);
      };
      // Without a watch rescans find what there is.
      const watch = watchDirectory(parent, { heard: (name) => takeUpNamed(parent, name), gone });
      if (watch !== null) watches.set(parent, watch);
    }
  }

  function takeUpNamed(parent: string, name: string | null): void {
    const names = name === null ? runNames(parent) : RUN_NAME.test(name) ? [name] : [];
    for (const one of names) takeUp(join(parent, one));
  }

  function rescan(): void {
    watchRuns();
    for (const parent of runParents) takeUpNamed(parent, null);
    const found = activeJobsDirectory(settings);
    // Without an execd at present: what it left is followed on.
    if ('unknown' in found || found.directory === spools?.directory) {
      spools?.watch.rescan();
      if ('unknown' in found) sayOfSpools(found);
      return;
    }
    const { directory } = found;
    spools?.watch.close();
    spools = { directory, watch: watchSpools(directory, consider) };
  }

  /** Once, until it changes: the next look comes in 5 s. */
  function sayOfSpools({ unknown, fix }: { readonly unknown: string; readonly fix: string }): void {
    if (saidOfSpools !== unknown) warn(`active_jobs: ${unknown}; ${fix}`);
    saidOfSpools = unknown;
  }

  function keepAll(): void {
    for (const { follower } of followed.values()) {
      try {
        follower.saveProgress();
        writeResumeState(settings, follower.run, follower.save());
      } catch (error) {
        warn(`job ${follower.run.job}: ${reasonOf(error)}`);
      }
    }
  }

  function stop(): void {
    keepAll();
    for (const { lock } of followed.values()) if (lock !== null) closeSync(lock);
    // The scope has changed: from now on each job has a sampler of its own.
    if (usableNow(settingsPath)?.scope !== 'node') reviveRuns(settings, settingsPath);
    process.exit(0);
  }

  function lookAround(): void {
    try {
      rescan();
      if (!place.announce()) stop();
    } catch (error) {
      warn(`service: ${reasonOf(error)}`);
    }
  }

  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  process.on('unhandledRejection', (error) => {
    warn(`service: ${reasonOf(error)}`);
  });
  process.on('uncaughtException', (error) => {
    warn(`service: ${reasonOf(error)}`);
    keepAll();
    process.exit(1);
  });
  lookAround();
  setInterval(lookAround, RESCAN_EVERY_MS);
  setTimeout(() => void tidy(), FIRST_TIDY_MS);
}

try {
  main();
} catch (error) {
  warn(`service: ${reasonOf(error)}`);
  process.exit(1);
}
