import { spawn } from 'node:child_process';
import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { makeFifo, resourceLimit, Rlimit, tryLock } from '../native/libc';
import { bootId } from '../sources/proc/clock';
import { JobFollower } from './job/job-follower';
import { leaveJob } from './job/leave-job';
import { reasonOf, warn } from '../base/log';
import { newMachineScan } from './processes/machine-scan';
import { newThrottle, WHOLE_PROCESS } from './job/pace';
import { parseHandedState, readResumeState, removeResumeState, type ResumeState } from './job/resume-state';
import { parseRunDescription, writePidFile } from './job/run-directory';
import { DEFAULT_SETTINGS, loadSettings, type Settings } from '../record/settings';

/**
 * The sampler: one detached process per job, started by the prolog as
 *
 *   node main.js SETTINGS RUN-DIRECTORY KEY=VALUE...      the keys of run-directory.ts; RUN-DIRECTORY "-": none
 *
 * It ends when the epilog has said so, or when the shepherd has gone. A process that takes over from another one
 * (CPU limit) gets `--resume` as last argument, the predecessor's state on standard input and its lock as descriptor 3;
 * one that takes a job over from the node's service (service/main.ts) finds the state that it left.
 */

const SAVE_EVERY_MS = 5000;
/** Kept descriptors leave room for node.db, pipes and the deliverer. */
const SPARE_DESCRIPTORS = 48;
const SPEND_OF_CPU_LIMIT = 0.5;

/** CPU seconds after which this process must not go on; Infinity: never. */
function spendableCpu(): number {
  const limit = resourceLimit(Rlimit.CPU).soft;
  return Math.min(limit * SPEND_OF_CPU_LIMIT, limit - 0.5);
}

/** A fresh process goes on: CPU limits count for each process alone. */
function handOver(follower: JobFollower, lock: number | null): void {
  const child = spawn(
    process.execPath,
    [...process.execArgv, __filename, ...process.argv.slice(2).filter((word) => word !== '--resume'), '--resume'],
    {
      cwd: '/',
      detached: true,
      stdio: ['pipe', 'ignore', 'ignore', lock ?? 'ignore'],
    },
  );
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(JSON.stringify(follower.save()));
  child.unref();
}

/** A slip in the configuration must not cost a site its records: the defaults do, and the record says so. */
function usableSettings(
  path: string,
  directory: string | null,
): { readonly settings: Settings; readonly problem: string | null } {
  try {
    return { settings: loadSettings(path), problem: null };
  } catch (error) {
    warn(reasonOf(error));
    // STATE/run/KEY and STATE/plain/KEY.
    const state = directory === null ? {} : { state_dir: dirname(dirname(directory)) };
    return { settings: { ...DEFAULT_SETTINGS, ...state }, problem: `Defaults were used: ${reasonOf(error)}.` };
  }
}

/** The FIFO for our word to the epilog, so that it need not make one; if that fails, it does. */
function prepareAnswer(directory: string): void {
  try {
    makeFifo(join(directory, 'ack'), 0o600);
  } catch {
    // An epilog that came before us has made it.
  }
}

function takeLock(directory: string, resumed: boolean): number | null {
  if (resumed) {
    try {
      fstatSync(3);
      return 3;
    } catch {
      return null;
    }
  }
  const lock = openSync(join(directory, 'lock'), 'a', 0o600);
  if (tryLock(lock)) return lock;
  closeSync(lock);
  return null;
}

async function main(): Promise<void> {
  const [settingsPath = '', directoryArgument = '-', ...rest] = process.argv.slice(2);
  const resume = rest.at(-1) === '--resume';
  const run = parseRunDescription([...rest, 'end=1'].join('\n'));
  if (run === null) throw new Error('sampler started with an unusable job description');
  process.umask(0o077);
  process.chdir('/');
  // A file size limit must come back as an error of the write, not as a signal.
  process.on('SIGXFSZ', () => undefined);

  const directory = directoryArgument === '-' ? null : directoryArgument;
  const { settings, problem } = usableSettings(settingsPath, directory);
  let lock: number | null = null;
  let left: ResumeState | null = resume ? parseHandedState(readFileSync(0, 'utf8')) : null;
  if (directory !== null) {
    lock = takeLock(directory, resume);
    if (lock === null) return;
    if (!resume) leaveJob();
    writePidFile(directory, bootId());
    if (!resume) {
      prepareAnswer(directory);
      left = readResumeState(settings, run);
    }
  } else if (!resume) leaveJob();

  const descriptors = resourceLimit(Rlimit.NOFILE).soft;
  const follower = new JobFollower(
    run,
    directory,
    {
      settingsPath,
      settings,
      settingsProblem: problem,
      shared: null,
      descriptors: { left: Math.max(0, Math.min(descriptors, 4096) - SPARE_DESCRIPTORS) },
      machine: newMachineScan(),
      meter: WHOLE_PROCESS,
      throttle: newThrottle(settings.interval * 1000, settings.cpu_budget_percent),
      saveEveryMs: SAVE_EVERY_MS,
      spendable: spendableCpu(),
      jobs: () => 1,
      keepState: null,
    },
    { resumed: left?.state ?? null, missed: left?.missed ?? null, earlier: null },
  );
  process.on('SIGTERM', () => {
    // The machine goes down, or an admin ends us: what is known is kept for whoever finishes this run.
    try {
      follower.saveProgress();
    } finally {
      process.exit(0);
    }
  });

  const end = await follower.follow();
  if (end === 'stopped') return;
  if (end === 'handed-over') handOver(follower, lock);
  else {
    await follower.finish(end);
    removeResumeState(settings, run);
  }
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    warn(`sampler ${basename(process.argv[3] ?? '')}: ${reasonOf(error)}`);
    process.exit(1);
  },
);
