import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pipeline } from 'node:stream/promises';
import { shareLogLimit, warn } from '../base/log';
import { resourceLimit, Rlimit } from '../native/libc';
import { usableSettings } from '../record/settings';
import { destinationNow, type Destination } from './delivery/destination';
import type { JobFollower } from './job/job-follower';
import type { Surroundings } from './job/surroundings';
import { leaveJob } from './job/leave-job';
import { parseRunDescription } from './job/run-description';
import { RunDirectory } from './job/run-directory';
import { settingsOfWords } from './job/sampler-words';
import { newThrottle, WHOLE_PROCESS } from './job/pace';
import { ownUpkeep } from './job/own-upkeep';
import { parseHandedState } from './job/resume-state';
import { takeUpRun } from './job/take-up-run';
import { connectListener } from './listener/client';
import { newMachineScan } from './processes/machine-scan';
import { onTermination, runMain } from './run-main';
import type * as Local from './service/local-tasks';

/**
 * The sampler: one detached process per job, started by the prolog as
 *
 *   node main.js SETTINGS RUN-DIRECTORY KEY=VALUE...      words: sampler-words.ts; RUN-DIRECTORY "-": none
 *
 * It ends when the epilog has said so, or when the shepherd has gone. A process that takes over from another one
 * (CPU limit) gets `--resume` as last argument, the predecessor's state on standard input and its lock as descriptor 3;
 * one that takes a job over from the node's service (service/main.ts) finds the state that the service left.
 */

const SAVE_EVERY_MS = 5000;
/** Kept descriptors leave room for node.db, pipes and the deliverer. */
const SPARE_DESCRIPTORS = 48;
const SPEND_OF_CPU_LIMIT = 0.5;
const LOCK_TRIES = 10;
const LOCK_PAUSE_MS = 20;
/** A successor on a busy node takes seconds to start. */
const HAND_OVER_WITHIN_MS = 30_000;

/** CPU seconds after which this process must not go on; Infinity: never. */
function spendableCpu(): number {
  const limit = resourceLimit(Rlimit.CPU).soft;
  return Math.min(limit * SPEND_OF_CPU_LIMIT, limit - 0.5);
}

/** Starts a process that takes over: a CPU limit holds for each process alone. Rejects if it does not get our state. */
async function handOver(follower: JobFollower, directory: RunDirectory | null): Promise<void> {
  const child = spawn(
    process.execPath,
    [...process.execArgv, __filename, ...process.argv.slice(2).filter((word) => word !== '--resume'), '--resume'],
    {
      cwd: '/',
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore', directory?.heldLock ?? 'ignore'],
    },
  );
  await once(child, 'spawn');
  const signal = AbortSignal.timeout(HAND_OVER_WITHIN_MS);
  // The state may be more than a socket holds: it is written as the successor reads it.
  if (child.stdin !== null) await pipeline([JSON.stringify(follower.save())], child.stdin, { signal });
}

/** Takes the lock, with retries: a process that checks whether the run is attended holds it for a moment. */
async function lockSoon(directory: RunDirectory): Promise<boolean> {
  for (let tries = 0; tries < LOCK_TRIES; tries++) {
    if (directory.lock()) return true;
    await sleep(LOCK_PAUSE_MS);
  }
  return directory.lock();
}

runMain(`sampler ${basename(process.argv[3] ?? '')}`, async () => {
  const [settingsPath = '', path = '-', ...rest] = process.argv.slice(2);
  const resume = rest.at(-1) === '--resume';
  const run = parseRunDescription([...rest, 'end=1'].join('\n'));
  if (run === null) throw new Error('started with an unusable job description');
  const directory = path === '-' ? null : new RunDirectory(path);
  // With defaults, the record says so, and waits until a configuration says where it goes.
  const { settings, problem } = usableSettings(settingsPath, settingsOfWords(rest));
  if (problem !== null) warn(problem);
  shareLogLimit(settings.run_dir);
  const handed = resume ? parseHandedState(readFileSync(0, 'utf8')) : null;
  if (directory !== null && !(resume ? directory.inheritLock() : await lockSoon(directory))) return;
  if (!resume) leaveJob();
  directory?.announce();

  const descriptors = resourceLimit(Rlimit.NOFILE).soft;
  const destination = (): Destination => destinationNow(settingsPath, settings);
  const surroundings: Surroundings = {
    settings,
    scope: 'job',
    settingsProblem: problem === null ? null : `Defaults were used: ${problem}.`,
    destination,
    upkeep: ownUpkeep(settings, destination, problem === null),
    fileSizeLimit: resourceLimit(Rlimit.FSIZE).soft,
    descriptors: { left: Math.max(0, Math.min(descriptors, 4096) - SPARE_DESCRIPTORS) },
    machine: newMachineScan(),
    // With defaults no listener is started, since it would keep them.
    connect: (handlers) => connectListener(problem === null ? settingsPath : null, settings, handlers),
    meter: WHOLE_PROCESS,
    throttle: newThrottle(settings.interval * 1000, settings.cpu_budget_percent),
    saveEveryMs: SAVE_EVERY_MS,
    spendable: spendableCpu(),
    jobs: () => 1,
    keepState: null,
  };
  const follower = takeUpRun(run, directory, surroundings, handed);
  const follows = run.hooks === 'root' && run.peTask === null && problem === null && follower.isParallel;
  // Loaded here, since few jobs need it.
  const { LocalTasks } = follows ? (require('./service/local-tasks') as typeof Local) : { LocalTasks: null };
  const tasks = LocalTasks && new LocalTasks(run, surroundings);
  onTermination(() => {
    follower.saveProgress();
    tasks?.saveProgress();
  });
  const end = await follower.follow();
  if (end === 'handed-over') {
    tasks?.handOver();
    await handOver(follower, directory);
    return;
  }
  await follower.finish(end);
  await tasks?.ended();
});
