import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../../base/until';
import { childrenUsage } from '../../native/libc';
import { bootId, uptimeSeconds } from '../../sources/proc/clock';
import { NodeStore } from '../../sampler/node-store/node-store';
import { recordOrNull, type JobRecord } from '../../record/record';
import { replaceFile } from '../../base/replace-file';
import { startTicksOf } from '../../sampler/job/pid-file';
import { tidyNode } from '../../sampler/node-store/storage';
import { RunDirectory } from '../../sampler/job/run-directory';
import { formatRunDescription, runDirectoryName, type RunDescription } from '../../sampler/job/run-description';
import { startSampler } from '../../sampler/job/start-sampler';
import { reasonOf, UserError } from '../../base/user-error';
import { CommandError, EXIT } from '../command';
import { followSamples } from './sample-tail';
import type { RowStream } from './stream-rows';
import { takeJobNumber, writeSpool, writeUsage, type PrivateState } from './private-state';

/** What `qmemacct run` was asked to measure. */
export type Subject = { readonly command: string; readonly args: readonly string[] } | { readonly pid: number };

interface RunOutcome {
  readonly record: JobRecord | null;
  /** Why there is no record. */
  readonly problem: string;
  /** The command's own, or 128 + the signal that ended it; 0 for `--pid`. */
  readonly exitStatus: number;
}

const ARMED_WITHIN_MS = 5000;
const LISTENING_WITHIN_MS = 2000;
const COMMITTED_WITHIN_MS = 15_000;
const DELIVERED_WITHIN_MS = 2000;
const LOOK_EVERY_MS = 5;

/** Describes the run, with this process in the role of the shepherd. */
function describeRun(job: number, spool: string, attached: boolean): RunDescription {
  return {
    job,
    task: 0,
    spool,
    shepherdPid: process.pid,
    shepherdStart: startTicksOf(process.pid) ?? 0,
    boot: bootId(),
    hooks: 'run',
    memory: 'full',
    reason: '',
    addressSpaceKib: null,
    attached,
    peTask: null,
    ends: 'epilog',
  };
}

const MAKE_ROOM = 'make room there, or set XDG_STATE_HOME to a directory that you may write to';

/** Returns what `write` returns; for use before anything is started. Throws CommandError if it fails. */
export function writeOrFail<T>(directory: string, write: () => T): T {
  try {
    return write();
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new CommandError(`${directory}: ${reasonOf(error)}; nothing was run: ${MAKE_ROOM}`, EXIT.unavailable, {
      cause: error,
    });
  }
}

/** For use once the command runs: a failed write costs figures, but must not affect the command. */
function ifWritable(write: () => void): void {
  try {
    write();
  } catch {
    // The sampler notes in the record what is missing.
  }
}

/** Removes all traces of a run whose command was not started. */
async function dropRun(sampler: ChildProcess | null, directory: string): Promise<void> {
  sampler?.ref();
  if (sampler?.kill('SIGKILL') === true) await once(sampler, 'exit');
  rmSync(directory, { recursive: true, force: true });
}

function whyNotStarted(command: string, { code, message }: NodeJS.ErrnoException): string {
  if (code === 'EACCES') return 'not a program, or not allowed to be run by you';
  if (code !== 'ENOENT') return message;
  if (!command.includes('/')) return 'no such command; give its path';
  return existsSync(command) ? 'what its first line (#!) names is missing' : 'no such file';
}

interface Ended {
  readonly exitStatus: number;
  readonly signal: number;
}

/** Runs the command with our terminal; resolves to its end in Grid Engine's terms. Rejects if it can't be started. */
function runCommand(command: string, args: readonly string[], started: (pid: number) => void): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: 'inherit' });
    // The terminal sends SIGINT and SIGQUIT to the command, too; SIGTERM and SIGHUP come only to us, so pass them on.
    const forward = (signal: NodeJS.Signals): void => void child.kill(signal);
    const ignore = (): void => undefined;
    process.on('SIGINT', ignore).on('SIGQUIT', ignore).on('SIGTERM', forward).on('SIGHUP', forward);
    child.on('spawn', () => {
      if (child.pid !== undefined) started(child.pid);
    });
    child.on('error', (error: NodeJS.ErrnoException) => {
      const why = whyNotStarted(command, error);
      reject(new CommandError(`${command} was not started: ${why}`, error.code === 'ENOENT' ? 127 : 126));
    });
    child.on('exit', (code, signal) => {
      process.off('SIGINT', ignore).off('SIGQUIT', ignore).off('SIGTERM', forward).off('SIGHUP', forward);
      const number = signal === null ? 0 : constants.signals[signal];
      resolve({ exitStatus: code ?? 128 + number, signal: number });
    });
  });
}

/** Waits for someone else's process to end, or for Ctrl-C. */
async function watchPid(pid: number, start: number): Promise<void> {
  let stopped = false as boolean;
  const stop = (): void => {
    stopped = true;
  };
  process.once('SIGINT', stop).once('SIGTERM', stop);
  while (!stopped && startTicksOf(pid) === start) await sleep(200);
}

/** Measures one command, or a running process tree, with the sampler and stores that Grid Engine jobs have. */
export async function runJob(
  state: PrivateState,
  subject: Subject,
  hVmem: string | null,
  slots: number,
  rows: RowStream | null = null,
): Promise<RunOutcome> {
  const attachedStart = 'pid' in subject ? startTicksOf(subject.pid) : null;
  if ('pid' in subject && attachedStart === null)
    throw new CommandError(`process ${subject.pid}: there is none; "ps" lists those that run`, EXIT.usage);
  const name = 'pid' in subject ? `pid-${subject.pid}` : basename(subject.command);
  const { job, spool } = writeOrFail(state.directory, () => {
    const taken = takeJobNumber(state);
    writeSpool(taken.spool, { job: taken.job, name, hVmem, slots, pe: null }, Date.now());
    return taken;
  });
  const run = describeRun(job, spool, 'pid' in subject);
  const directory = join(state.directory, 'run', runDirectoryName(run));
  let stopTail: (() => void) | null = null;
  let sampler: ChildProcess | null = null;
  let isStarted = false as boolean;
  try {
    writeOrFail(state.directory, () => {
      mkdirSync(directory, { mode: 0o700 });
      writeFileSync(join(directory, 'job'), formatRunDescription(run));
    });
    if (rows !== null) stopTail = followSamples(directory, rows.take);
    sampler = startSampler(state, directory, run);
    if (!(await until(() => existsSync(join(directory, 'pid')), ARMED_WITHIN_MS, LOOK_EVERY_MS)))
      throw new CommandError(
        `the sampler did not start within ${ARMED_WITHIN_MS / 1000} s; try "qmemacct doctor"`,
        EXIT.unavailable,
      );
    // Peaks are proved only if the listener hears the first fork, but the command must not wait for long.
    await until(() => existsSync(join(directory, 'listening')), LISTENING_WITHIN_MS, LOOK_EVERY_MS);
    const exitStatus = await supervise(subject, attachedStart ?? 0, spool, (pid) => {
      isStarted = true;
      rows?.started(pid, job);
    });
    return { ...(await figuresOf(state, run, spool, new RunDirectory(directory))), exitStatus };
  } catch (error) {
    if (!isStarted) await dropRun(sampler, directory);
    throw error;
  } finally {
    stopTail?.();
    rmSync(spool, { recursive: true, force: true });
  }
}

async function supervise(
  subject: Subject,
  attachedStart: number,
  spool: string,
  started: (pid: number) => void,
): Promise<number> {
  const noteRoot = (pid: number): void => {
    started(pid);
    ifWritable(() => replaceFile(join(spool, 'job_pid'), `${pid}\n`, 0o600));
  };
  if ('pid' in subject) {
    noteRoot(subject.pid);
    await watchPid(subject.pid, attachedStart);
    return 0;
  }
  const startMs = Date.now();
  const ended = await runCommand(subject.command, subject.args, noteRoot);
  const usage = { ...ended, ...childrenUsage(), startMs, endMs: Date.now() };
  ifWritable(() => writeUsage(spool, usage));
  return ended.exitStatus;
}

/** The record of a run that has ended: the sampler's; if that was killed, one made of what it had saved. */
async function figuresOf(
  state: PrivateState,
  run: RunDescription,
  spool: string,
  directory: RunDirectory,
): Promise<Pick<RunOutcome, 'record' | 'problem'>> {
  const finish = `version=1\nuptime=${uptimeSeconds()}\nend=1\n`;
  try {
    writeFileSync(join(directory.path, 'finish'), finish);
    await until(() => !directory.exists() || directory.isUnattended(), COMMITTED_WITHIN_MS, LOOK_EVERY_MS);
    const problem = `the sampler did not answer; ${state.directory}/run may show why, "qmemacct flush" may finish it`;
    return { record: storedRecord(state, run) ?? (await finishedRecord(state, run, spool, directory)), problem };
  } catch (error) {
    return { record: null, problem: `${state.directory}: ${reasonOf(error)}; ${MAKE_ROOM}` };
  }
}

/** What the epilog and a flush do where no sampler answers. null: one still holds the run, or has left none here. */
async function finishedRecord(
  state: PrivateState,
  run: RunDescription,
  spool: string,
  directory: RunDirectory,
): Promise<JobRecord | null> {
  if (!directory.exists()) return null;
  directory.takeCopies(spool);
  const store = new NodeStore(state.directory);
  try {
    await tidyNode(store, state.settings, DELIVERED_WITHIN_MS / 1000);
  } finally {
    store.close();
  }
  return storedRecord(state, run);
}

function storedRecord(state: PrivateState, run: RunDescription): JobRecord | null {
  const store = new NodeStore(state.directory);
  try {
    const stored = store.job(runDirectoryName(run));
    return stored?.finished === true ? recordOrNull(stored.record) : null;
  } finally {
    store.close();
  }
}

/** Waits until the run's record is in the user's own accounting DB, where the next command finds it; 2 s at most. */
export async function untilDelivered(state: PrivateState): Promise<void> {
  const store = new NodeStore(state.directory);
  try {
    await until(() => store.outboxState(0).waiting === 0, DELIVERED_WITHIN_MS, LOOK_EVERY_MS);
  } finally {
    store.close();
  }
}
