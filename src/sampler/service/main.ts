import { closeSync, existsSync, mkdirSync, openSync, readdirSync, watch, writeFileSync, type FSWatcher } from 'node:fs';
import { setPriority } from 'node:os';
import { basename, join } from 'node:path';
import { makeFifo, raiseSoftLimit, resourceLimit, Rlimit, tryLock } from '../../native/libc';
import { bootId } from '../../sources/proc/clock';
import { newShareMeter } from '../cpu-meter';
import { followJob, type JobFollower } from '../job-follower';
import { newHeartbeat } from '../heartbeat';
import { reasonOf, warn } from '../log';
import { newMachineScan } from '../machine-scan';
import { openNodeStore, type NodeStore } from '../node-store';
import { deliverOutbox } from '../outbox-feeder';
import type { JobRecord } from '../record';
import { readResumeState, removeResumeState, writeResumeState } from '../resume-state';
import {
  formatRunDescription,
  readRunDescription,
  runDirectoryName,
  shepherdLives,
  writePidFile,
  type RunDescription,
} from '../run-directory';
import { loadSettings, type Settings } from '../settings';
import { tidyNode, type SharedStore } from '../storage';
import { activeJobsDirectory } from './active-jobs-directory';
import { adoptable } from './adoptable';
import { commonStretch } from './common-stretch';
import { reviveRuns } from './revive';
import { serviceDirectory } from './service-directory';
import { shareListener } from './shared-listener';
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
/** After so many failures of ours a run is left to the end of its job. */
const MOST_FAILURES = 3;
const MOST_DONE = 20_000;
const DISABLED_FILE = '/etc/qmemacct/disabled';

interface Followed {
  readonly follower: JobFollower;
  readonly lock: number | null;
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
  if (text === undefined) return null;
  try {
    return JSON.parse(text) as JobRecord;
  } catch {
    return null;
  }
}

function main(): void {
  const settingsPath = process.argv[2] ?? '';
  const settings = loadSettings(settingsPath);
  process.umask(0o077);
  process.chdir('/');
  process.on('SIGXFSZ', () => undefined);
  const own = serviceDirectory(settings);
  mkdirSync(own, { recursive: true, mode: 0o700 });
  const ownLock = lockFile(own);
  // Another one serves this host.
  if (ownLock === null) return;
  makeRoom();
  serve(settings, settingsPath);
  writePidFile(own, bootId());
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

function serve(settings: Settings, settingsPath: string): void {
  const followed = new Map<string, Followed>();
  const failures = new Map<string, number>();
  /** Runs that are finished here: execd keeps their directories for a while. */
  const done = new Set<string>();
  const runParents = [join(settings.state_dir, 'run'), join(settings.run_dir, 'run')];
  const watchers = new Map<string, FSWatcher>();
  const machine = newMachineScan('/proc', SCAN_FRESH_MS);
  const descriptors = {
    left: Math.max(0, Math.min(resourceLimit(Rlimit.NOFILE).soft, MOST_DESCRIPTORS) - SPARE_DESCRIPTORS),
  };
  const stretch = commonStretch(settings.interval * 1000, settings.cpu_budget_percent);
  const listener = shareListener(settingsPath, settings);
  let store: NodeStore | null = null;
  let spools: { readonly directory: string; readonly watch: SpoolWatch } | null = null;
  let delivering = false;
  let deliveredMs = -Infinity;
  let deliveryTimer: NodeJS.Timeout | null = null;
  const heartbeat = newHeartbeat(settings);
  const saveEveryMs = settings.heartbeat > 0 ? Math.min(SAVE_EVERY_MS, settings.heartbeat * 1000) : SAVE_EVERY_MS;

  const shared: SharedStore = {
    open: () => (store ??= openNodeStore(settings.state_dir)),
    failed: () => {
      const broken = store;
      store = null;
      broken?.close();
    },
    saved: () => {
      if (store !== null) void heartbeat.beat(store);
    },
    committed: () => {
      deliverSoon();
    },
  };

  function deliverSoon(): void {
    if (delivering || deliveryTimer !== null) return;
    const wait = Math.max(DELIVER_AFTER_MS, deliveredMs + DELIVER_EVERY_MS - performance.now());
    deliveryTimer = setTimeout(() => void deliver(), wait);
  }

  async function deliver(): Promise<void> {
    deliveryTimer = null;
    delivering = true;
    deliveredMs = performance.now();
    try {
      const { left } = await deliverOutbox(shared.open(), settings, DELIVERY_PATIENCE_S);
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
      await tidyNode(shared.open(), settings, DELIVERY_PATIENCE_S);
    } catch (error) {
      warn(`${join(settings.state_dir, 'node.db')}: ${reasonOf(error)}`);
    }
    setTimeout(() => void tidy(), TIDY_EVERY_MS);
  }

  function begin(run: RunDescription, directory: string | null, lock: number | null): void {
    const name = runDirectoryName(run);
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
    followed.set(name, { follower, lock });
    void attend(name, follower, lock);
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
  function isFinished(name: string): boolean {
    try {
      const finished = shared.open().job(name)?.finished === true;
      if (finished) done.add(name);
      return finished;
    } catch {
      return false;
    }
  }

  async function attend(name: string, follower: JobFollower, lock: number | null): Promise<void> {
    try {
      const end = await follower.follow();
      if (end === 'stopped' || end === 'handed-over') return;
      await follower.finish(end);
      removeResumeState(settings, follower.run);
      failures.delete(name);
      done.add(name);
      for (const old of done) {
        if (done.size <= MOST_DONE) break;
        done.delete(old);
      }
    } catch (error) {
      // One job's misfortune is no other's: it is tried again from its last saved state.
      warn(`job ${follower.run.job}: ${reasonOf(error)}`);
      failures.set(name, (failures.get(name) ?? 0) + 1);
      follower.close();
    }
    stretch.end(name);
    followed.delete(name);
    if (lock !== null) closeSync(lock);
  }

  /** Follows a run that has a directory, unless somebody does. `again`: how often it has been looked at in vain. */
  function takeUp(directory: string, again = 0): void {
    const name = basename(directory);
    if (followed.has(name) || (failures.get(name) ?? 0) >= MOST_FAILURES || existsSync(DISABLED_FILE)) return;
    const run = readRunDescription(directory);
    if (run === null) {
      const wait = LOOK_AGAIN_MS[again];
      if (wait !== undefined && existsSync(directory)) setTimeout(() => takeUp(directory, again + 1), wait);
      return;
    }
    // What has ended is finished by recover.ts, with the copies that the epilog left.
    if (run.hooks !== 'root' || existsSync(join(directory, 'copied')) || !shepherdLives(run)) return;
    let lock: number | null = null;
    try {
      lock = lockFile(directory);
      if (lock === null) return;
      writePidFile(directory, bootId());
      prepareAnswer(directory);
      begin(run, directory, lock);
    } catch (error) {
      warn(`${directory}: ${reasonOf(error)}`);
      failures.set(name, (failures.get(name) ?? 0) + 1);
      if (lock !== null && !followed.has(name)) closeSync(lock);
    }
  }

  function consider(entry: SpoolEntry): void {
    if (existsSync(DISABLED_FILE)) return;
    const adoption = adoptable(entry);
    if (typeof adoption === 'string') return;
    const { run } = adoption;
    const name = runDirectoryName(run);
    if (followed.has(name) || done.has(name) || (failures.get(name) ?? 0) >= MOST_FAILURES) return;
    if (isFinished(name)) return;
    const there = runParents.map((parent) => join(parent, name)).find((directory) => existsSync(directory));
    if (there === undefined) takeOver(run, name);
    else takeUp(there);
  }

  /** A job that no prolog of ours told of. */
  function takeOver(run: RunDescription, name: string): void {
    for (const parent of runParents) {
      const directory = join(parent, name);
      try {
        mkdirSync(parent, { recursive: true, mode: 0o700 });
        mkdirSync(directory, { mode: 0o700 });
        writeFileSync(join(directory, 'job'), formatRunDescription(run), { mode: 0o600 });
        takeUp(directory);
        return;
      } catch {
        // The other place, then.
      }
    }
    begin(run, null, null);
  }

  function watchRuns(): void {
    for (const parent of runParents) {
      if (watchers.has(parent) || !existsSync(parent)) continue;
      try {
        const watcher = watch(parent, { persistent: false }, (_, name) => {
          if (name !== null && RUN_NAME.test(name)) takeUp(join(parent, name));
        });
        watcher.on('error', () => watchers.delete(parent));
        watchers.set(parent, watcher);
      } catch {
        // No more watches: rescans find what there is.
      }
    }
  }

  function rescan(): void {
    watchRuns();
    for (const parent of runParents) for (const name of runNames(parent)) takeUp(join(parent, name));
    const directory = activeJobsDirectory(settings.execd_spool_dir);
    // Without an execd at present: what it left is followed on.
    if (directory === null || directory === spools?.directory) {
      spools?.watch.rescan();
      return;
    }
    spools?.watch.close();
    spools = { directory, watch: watchSpools(directory, consider) };
  }

  function stop(): void {
    for (const { follower } of followed.values()) {
      try {
        follower.saveProgress();
        writeResumeState(settings, follower.run, follower.save());
      } catch (error) {
        warn(`job ${follower.run.job}: ${reasonOf(error)}`);
      }
    }
    for (const { lock } of followed.values()) if (lock !== null) closeSync(lock);
    // The scope has changed: from now on each job has a sampler of its own.
    if (usableNow(settingsPath)?.scope !== 'node') reviveRuns(settings, settingsPath);
    process.exit(0);
  }

  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  rescan();
  setInterval(rescan, RESCAN_EVERY_MS);
  setTimeout(() => void tidy(), FIRST_TIDY_MS);
}

try {
  main();
} catch (error) {
  warn(`service: ${reasonOf(error)}`);
  process.exit(1);
}
